"""Link sessions of a broker: handshake with neighbours, agreement on the overlay, forwarding of filters (events:
traffic.py)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from tamis.broker.filters import Changes, alter_message, length, table_messages
from tamis.broker.link import Link, Owed, neighbour
from tamis.broker.messages import (
    PROTOCOL,
    Active,
    Alter,
    Applied,
    Batch,
    Hello,
    Holds,
    Message,
    MessageError,
    Received,
    Refused,
    Settled,
    Supply,
    Table,
    View,
    Want,
)
from tamis.broker.settling import Asked, LinkRecord, Sent, Topology
from tamis.broker.store import NAME
from tamis.broker.traffic import LINK, LinkEvents
from tamis.errors import FilterError

if TYPE_CHECKING:
    from tamis.broker.broker import Broker, Connection

_logger: Final = logging.getLogger("tamis.broker")


class LinkDesk:
    """All links of a broker, by the neighbour's name, and the overlay as it knows it.

    Of the links that stand, those in the overlay's tree are targets of the routing tables; the others wait until they
    are needed.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.topology = Topology(broker.store.records())
        self.links: dict[str, Link] = {}
        self.events = LinkEvents(broker, self.links)
        self._retarget()

    def hello(self) -> Hello:
        broker = self._broker
        records = tuple(self.topology.records.values())
        return Hello(broker.name, broker.store.epoch, broker.schema.fingerprint, records)

    def greet(self, connection: Connection, hello: Hello) -> None:
        """Handles the Hello of a neighbour."""
        broker = self._broker
        if (wrong := self._refusal(connection, hello)) is not None:
            _logger.warning("%s: no link to %s: %s", broker.name, hello.name, wrong)
            broker.close(connection.number, wrong)
            return
        link = self.links.setdefault(hello.name, Link(hello.name))
        if link.connection is not None:
            stale = link.connection
            broker.close(stale, "another connection speaks for this link")
            broker.connections[stale].hop = None
            self._end_session(link)
        connection.hop = link.hop
        link.connection, link.address = connection.number, connection.dialled or link.address
        link.sessions += 1
        if connection.dialled is None:
            broker.send(connection.number, self.hello())
        elif missed := Topology(hello.records).merged(self.topology.records.values())[1]:
            broker.send(connection.number, View(tuple(missed)))  # learned since the connection was greeted
        epoch, position = self.events.received.get(link.hop, (hello.epoch, 0))
        link.epoch, link.received = hello.epoch, position if epoch == hello.epoch else 0
        self._learn(hello.records, link)
        if connection.dialled is not None and (record := self.topology.with_link(broker.name, hello.name)) is not None:
            self._learn([record])
        self._announce(link)

    def _refusal(self, connection: Connection, hello: Hello) -> str | None:
        broker = self._broker
        if hello.protocol != PROTOCOL:
            return f"this broker speaks protocol {PROTOCOL}, not {hello.protocol}"
        if not NAME.fullmatch(hello.name):
            return "a broker's name is 1 to 200 letters, digits and signs, without spaces"
        if hello.name == broker.name:
            return f"both ends are called {hello.name!r}: give each broker a name of its own"
        if hello.schema != broker.schema.fingerprint:
            return "the brokers have different schemas: start both with the same"
        known = self.links.get(hello.name)
        if known is not None and known.connection is not None:
            dialled = broker.connections[known.connection].dialled is not None
            if dialled != (connection.dialled is not None) and dialled == (broker.name < hello.name):
                return "there is a connection for this link already"
        return None

    def receive(self, connection: Connection, message: Message, size: int) -> None:
        """Handles a message of a neighbour that has said Hello."""
        assert connection.hop is not None
        link = self.links[neighbour(connection.hop)]
        match message:
            case View():
                self._learn(message.records, link)
            case Active():
                link.active = message
                self._open(link)
            case Refused():
                _logger.warning("%s: %s ends the link: %s", self._broker.name, link.name, message.reason)
                self._broker.close(connection.number, message.reason)
            # A link that is not open does not count: when it opens, everything is told again that is not known.
            case Table() | Alter() | Applied() | Settled():
                if link.open and self.is_in_use(link):
                    self._receive_filters(link, message)
            case Batch() | Holds() | Want() | Supply() | Received():
                if link.open:
                    self._receive_events(link, message, size)
            case _:
                raise MessageError(f"a neighbour does not say {type(message).__name__}")

    def _receive_filters(self, link: Link, message: Message) -> None:
        broker = self._broker
        match message:
            case Table():
                self._take_table(link, message)
            case Alter():
                self._take_alter(link, message)
            case Applied():
                link.applied = max(link.applied, message.number)
            case Settled():
                broker.tell_settled(broker.settling.settled(link.hop, message.number, message.upto))

    def _receive_events(self, link: Link, message: Message, size: int) -> None:
        broker = self._broker
        match message:
            case Batch():
                self.events.take(link, message, size)
            case Holds():
                broker.payloads.held(link.hop, message.ids)
            case Want():
                assert link.connection is not None
                broker.send(link.connection, broker.payloads.wanted(link.hop, message))
            case Supply():
                self.events.follow(broker.payloads.supplied(link.hop, message))
            case Received():
                broker.payloads.acknowledged(link.hop, message.position)
                broker.traffic.acknowledge(link.hop, message.position)

    # The overlay.

    def _learn(self, records: Iterable[LinkRecord], source: Link | None = None) -> None:
        """Takes in link records; new ones go on to the other neighbours."""
        self.topology, new = self.topology.merged(records)
        if not new:
            return
        self._broker.store.put_records(new)
        self._retarget()
        for link in self.links.values():
            if link.connection is not None:
                if link is not source:
                    self._broker.send(link.connection, View(tuple(new)))
                self._announce(link)

    def forget(self, name: str) -> None:
        """Removes a link for good, with the events queued for it."""
        record = self.topology.link(self._broker.name, name)
        if record is not None and record.standing:
            self._learn([record.ended()])
        link = self.links.get(name)
        if link is not None and link.connection is not None:
            self._broker.close(link.connection, "the link was taken away")

    def _retarget(self) -> None:
        """Makes the links of the tree, and no others, targets of the routing tables.

        What waits for a link that only leaves the tree still goes over it, while it stands. That happens where links
        were made at the same moment, of which only one has a place in the tree.
        """
        broker, mine = self._broker, set()
        for one, other in self.topology.tree:
            if broker.name in (one, other):
                mine.add(other if one == broker.name else one)
        targets = {neighbour(hop) for hop in broker.filters.subscriptions.targets}
        for name in sorted(targets - mine):
            link = self.links[name]
            self.tell(broker.filters.remove_link(link.hop))
            broker.tell_settled(broker.settling.settled(link.hop, link.number, upto=True))
        for hop in broker.traffic.outboxes:
            if hop.startswith(LINK) and not self._stands(neighbour(hop)):
                broker.traffic.drop(hop, "the link was taken away", broker.settings.kept_letters)
        for name in sorted(mine - targets):
            broker.filters.add_link(self.links.setdefault(name, Link(name)).hop)

    def _stands(self, name: str) -> bool:
        record = self.topology.link(self._broker.name, name)
        return record is not None and record.standing

    def is_in_use(self, link: Link) -> bool:
        return self.topology.is_in_use(self._broker.name, link.name)

    def _announce(self, link: Link) -> None:
        """Sends the current view if it was not sent before; the link opens when the other end sends the same."""
        view = self.topology.digest
        if link.connection is None or link.told == view:
            return
        link.told, link.open, link.heard = view, False, None
        link.owed.clear()
        self.events.let_go(link)
        filters = self._broker.filters
        active = Active(
            view, filters.advertisements.digest(link.hop), filters.subscriptions.digest(link.hop), link.received
        )
        self._broker.send(link.connection, active)
        self._open(link)

    def _open(self, link: Link) -> None:
        """Opens a link whose ends agree, and sends the other end what it lacks."""
        active, broker = link.active, self._broker
        if active is None or link.connection is None or not active.view == link.told == self.topology.digest:
            link.open = False
            return
        link.open = True
        broker.payloads.begin(link.hop)
        broker.traffic.acknowledge(link.hop, active.position)
        broker.traffic.begin(link.hop)
        if not self.is_in_use(link):
            return
        link.number += 1
        ads, subs = broker.filters.advertisements, broker.filters.subscriptions
        known = active.advertisements, active.subscriptions
        if known == (ads.forwarded_digest(link.hop), subs.forwarded_digest(link.hop)):
            broker.send(link.connection, Table(link.number, same=True))
        else:
            self._tell_table(link)

    def _tell_table(self, link: Link) -> None:
        """Sends the whole table for the other end, in messages of bounded size."""
        broker = self._broker
        assert link.connection is not None
        for part in table_messages(link.number, broker.filters, link.hop, broker.settings.table_part):
            broker.send(link.connection, part)

    # Filters.

    def _take_table(self, link: Link, table: Table) -> None:
        broker = self._broker
        link.parts.append(table)
        if not table.last:
            return
        told: Mapping[str, Changes] = {}
        if not table.same:
            ads = [text for part in link.parts for text in part.advertisements]
            subs = [text for part in link.parts for text in part.subscriptions]
            try:
                told = broker.filters.replace_link(link.hop, ads, subs)
            except FilterError as error:
                raise MessageError(f"what was forwarded is no filter: {error}") from error
        link.parts.clear()
        link.heard = table.number
        self._answer(link)
        # All that was changed before is in it, so that all that was sent on before has to settle too.
        sent = {*self.tell(told), *broker.settling.outstanding(but=link.hop)}
        broker.settling.forget(link.hop)
        broker.settle(Asked(link.hop, table.number, upto=True), {each for each in sent if each[0] != link.hop})

    def _take_alter(self, link: Link, alter: Alter) -> None:
        if link.heard is None or alter.number != link.heard + 1:
            raise MessageError(f"change {alter.number} came after change {link.heard}")
        ads, subs = alter.advertisements, alter.subscriptions
        try:
            told = self._broker.filters.change_link(link.hop, ads.added, ads.removed, subs.added, subs.removed)
        except FilterError as error:
            raise MessageError(f"what was forwarded is no filter: {error}") from error
        link.heard = alter.number
        self._answer(link)
        self._broker.settle(Asked(link.hop, alter.number), self.tell(told))

    def _answer(self, link: Link) -> None:
        assert link.connection is not None
        assert link.heard is not None
        self._broker.send(link.connection, Applied(link.heard))

    def tell(self, changes: Mapping[str, Changes]) -> list[Sent]:
        """Sends changes to neighbours; those whose link is not open get them when it opens."""
        sent = []
        for hop, change in changes.items():
            link = self.links[neighbour(hop)]
            link.number += 1
            sent.append((hop, link.number))
            if link.open and link.connection is not None:
                told = alter_message(link.number, change)
                if length(told) > self._broker.settings.table_part:
                    self._tell_table(link)
                else:
                    self._broker.send(link.connection, told)
        return sent

    def tell_settled(self, asked: Asked) -> None:
        link = self.links[neighbour(asked.hop)]
        if link.open and link.connection is not None:
            self._broker.send(link.connection, Settled(asked.number, asked.upto))

    def check_answers(self, before: float, now: float) -> None:
        """Reconnects to neighbours that have owed an answer for too long; `before` was the time at the last check.

        What a neighbour owes since then is counted from then on: an answer that came in between begins a new count.
        """
        for link in self.links.values():
            owed: list[Owed] = [("value", number) for number in self._broker.payloads.unanswered(link.hop)]
            if link.open and self.is_in_use(link) and link.applied < link.number:
                owed.append(("change", link.applied))
            link.owed = {each: link.owed.get(each, before) for each in owed}
            late = [
                what for (what, _), since in link.owed.items() if now - since > self._broker.settings.answer_seconds
            ]
            if late and link.connection is not None:
                link.resets += 1
                self._broker.close(link.connection, f"a {late[0]} was not answered in time")

    def disconnected(self, connection: Connection) -> None:
        assert connection.hop is not None
        link = self.links[neighbour(connection.hop)]
        if link.connection == connection.number:
            self._end_session(link)

    def _end_session(self, link: Link) -> None:
        link.disconnect()
        self.events.let_go(link)
        self._broker.settling.forget(link.hop)
