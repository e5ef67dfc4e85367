"""Broker as a state machine: messages from connections in, messages to connections out; and its status report.

Nothing here waits, reads a clock or opens a socket. `commit` makes what was taken in durable and hands out what follows
from it, so that nothing is said that a crash would take back.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from tamis.broker.client_desk import ClientDesk
from tamis.broker.filters import Filters
from tamis.broker.link import Link, LinkPayloads
from tamis.broker.link_desk import LinkDesk
from tamis.broker.messages import Attach, Hello, Message, MessageError, Refused, decode, encode
from tamis.broker.outbox import QueueBound, Seen
from tamis.broker.settling import Asked, Sent, Settling
from tamis.broker.store import BrokerStore
from tamis.broker.traffic import CLIENT, LINK, Traffic
from tamis.routing.merging import MergePolicy, Rules
from tamis.routing.tables import policy
from tamis.schema import Schema

Role = Literal["link", "client"]

_logger: Final = logging.getLogger("tamis.broker")


def merging_of(imt: float = 0.0, every: int = 100) -> MergePolicy:
    """Merging policy of a threshold: all rules that leave the predicate in."""
    return MergePolicy(imt=imt, every=every, rules=Rules.LISTS | Rules.TABLE_1 | Rules.HULLS)


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Settings of a broker: routing policy, queue bounds, and time limits of answers."""

    policy: str = "covering"
    merging: MergePolicy = field(default_factory=merging_of)
    """When filters are merged, and how far; where they are."""
    link_bound: QueueBound = field(default_factory=QueueBound)
    client_bound: QueueBound = field(default_factory=lambda: QueueBound(overflow="drop"))
    answer_seconds: float = 10.0
    """A neighbour that has not answered by then is connected to anew: it owes that it has applied a change, or a value
    that it sent the name of."""
    table_part: int = 1 << 20
    """Characters of filters in one message."""
    kept_letters: int = 1_000
    payload_bytes: int = 1 << 10
    """A value of an event that has so many bytes goes over a link once, and by its name from then on."""
    payload_most: int = 1 << 18
    """Unless it has more bytes than this: so much is not remembered."""
    repository: int = 400
    """Values that a broker remembers."""


@dataclass(slots=True)
class Output:
    """Messages for a connection, in order; a reason closes it after them."""

    messages: list[bytes] = field(default_factory=list)
    close: str | None = None


@dataclass(slots=True)
class Connection:
    """Stream to a neighbour or client, which may only be of the kind its `role` says.

    `dialled` is the address that was called, None if they called; `hop` is who they are, once they have said so.
    """

    number: int
    dialled: str | None
    role: Role
    hop: str | None = None
    output: Output = field(default_factory=Output)


class Broker:
    """State machine of one broker over its store. Not for several threads at once."""

    def __init__(self, schema: Schema, store: BrokerStore, settings: BrokerSettings | None = None) -> None:
        settings = settings or BrokerSettings()
        self.schema = schema
        self.store = store
        self.settings = settings
        self.name = store.name
        self._ticked: float | None = None
        self.filters = Filters(schema, policy(settings.policy, settings.merging), store)
        bounds = {LINK: settings.link_bound, CLIENT: settings.client_bound}
        bulky = (settings.payload_bytes, settings.payload_most)
        self.traffic = Traffic(store, self.filters.sieve, bounds, Seen(store), bulky)
        self.payloads = LinkPayloads(self.name, settings.repository)
        self.settling = Settling()
        self.connections: dict[int, Connection] = {}
        self._spoken_to: set[int] = set()
        self.links = LinkDesk(self)
        self.clients = ClientDesk(self)

    # Events of the state machine.

    def connect(self, number: int, role: Role, dialled: str | None = None) -> None:
        """Handles a new connection; one that was dialled is to a neighbour, and is greeted."""
        self.connections[number] = connection = Connection(number, dialled, role)
        if dialled is not None:
            self.send(number, self.links.hello())
        _logger.debug("%s: connection %s, %s", self.name, number, connection.dialled)

    def receive(self, number: int, data: bytes) -> None:
        """Handles the bytes of one message. Bytes that are no message, or one out of place, end the connection."""
        connection = self.connections.get(number)
        if connection is None or connection.output.close is not None:
            return
        try:
            self._dispatch(connection, decode(data), len(data))
        except MessageError as error:
            self.close(number, str(error))

    def disconnect(self, number: int) -> None:
        """Handles a connection that is gone."""
        connection = self.connections.pop(number, None)
        if connection is None or connection.hop is None:
            return
        desk = self.links if connection.hop.startswith(LINK) else self.clients
        desk.disconnected(connection)

    def tick(self, now: float) -> None:
        """Advances the clock: neighbours that owe an answer for too long are reconnected."""
        self.traffic.eased = True  # somebody may have stopped wanting what does not fit
        self.links.check_answers(now if self._ticked is None else self._ticked, now)
        self._ticked = now

    def commit(self) -> dict[int, Output]:
        """Makes everything up to now durable; returns the messages that connections are sent after that."""
        self.traffic.go_on()
        if self.settings.policy == "merging" and (statistics := self.traffic.observed.due()) is not None:
            self.filters.subscriptions.learn(statistics)
        stirred, self.traffic.stirred = self.traffic.stirred, set()
        for hop in sorted(stirred):
            (self.links.events if hop.startswith(LINK) else self.clients).pump(hop)
        self.store.commit()
        told = {}
        for number in sorted(self._spoken_to):
            connection = self.connections.get(number)
            if connection is None:
                continue
            told[number], connection.output = connection.output, Output()
            if told[number].close is not None:
                self.disconnect(number)
        self._spoken_to.clear()
        return told

    # Services to the desks.

    def send(self, number: int, *messages: Message) -> None:
        self.send_encoded(number, map(encode, messages))

    def send_encoded(self, number: int, bodies: Iterable[bytes]) -> None:
        if number in self.connections:
            self.connections[number].output.messages.extend(bodies)
            self._spoken_to.add(number)

    def close(self, number: int, reason: str) -> None:
        """Ends a connection, with the reason as its last message."""
        if number in self.connections:
            self.send(number, Refused(reason))
            self.connections[number].output.close = reason

    def settle(self, asked: Asked, sent: Iterable[Sent]) -> None:
        """Notifies requesters whose changes have reached every broker concerned by now."""
        if self.settling.begin(asked, sent):
            self.tell_settled([asked])

    def tell_settled(self, asked: Iterable[Asked]) -> None:
        for each in asked:
            desk: Any = self.links if each.hop.startswith(LINK) else self.clients
            desk.tell_settled(each)

    def _dispatch(self, connection: Connection, message: Message, size: int) -> None:
        if connection.hop is not None:
            desk = self.links if connection.hop.startswith(LINK) else self.clients
            desk.receive(connection, message, size)
        elif isinstance(message, Hello) and connection.role == "link":
            self.links.greet(connection, message)
        elif isinstance(message, Attach) and connection.role == "client":
            self.clients.attach(connection, message)
        elif isinstance(message, Refused):
            _logger.warning("%s: %s refuses: %s", self.name, connection.dialled or "the other end", message.reason)
            self.close(connection.number, message.reason)
        else:
            raise MessageError(f"a connection does not begin with {type(message).__name__}")

    def link(self, name: str) -> Link | None:
        return self.links.links.get(name)


# Status report, for console and metrics.


def status_of(broker: Broker) -> dict[str, Any]:
    """Status of the broker, its links and its clients. Contains names of clients, but no filters and no events."""
    filters, traffic, topology = broker.filters, broker.traffic, broker.links.topology
    links = []
    for name, link in sorted(broker.links.links.items()):
        in_use = topology.is_in_use(broker.name, name)
        links.append(
            {
                "name": name,
                "address": link.address,
                "state": "open" if link.open else "connected" if link.connection is not None else "down",
                "in_use": in_use,
                "advertisements_in": len(filters.advertisements.rows(link.hop)),
                "subscriptions_in": len(filters.subscriptions.rows(link.hop)),
                "advertisements_out": len(filters.advertisements.forwarded(link.hop)) if in_use else 0,
                "subscriptions_out": len(filters.subscriptions.forwarded(link.hop)) if in_use else 0,
                "unsettled": broker.settling.over(link.hop),
                "sessions": link.sessions,
                "resets": link.resets,
                **asdict(traffic.carried_by(link.hop)),
                **_queue(broker, link.hop),
            }
        )
    clients = [
        {
            "name": name,
            "attached": client.connection is not None,
            "advertisements": len(filters.of_client(client.hop, "advertisement")),
            "subscriptions": len(filters.of_client(client.hop, "subscription")),
            **asdict(traffic.carried_by(client.hop)),
            **_queue(broker, client.hop),
        }
        for name, client in sorted(broker.clients.clients.items())
    ]
    return {
        "name": broker.name,
        "policy": broker.settings.policy,
        "brokers": len({end for record in topology.records.values() if record.standing for end in record.ends} or {""}),
        "links": links,
        "clients": clients,
        "blocked": sorted(hop.removeprefix(CLIENT) for hop in traffic.parked if hop.startswith(CLIENT)),
        "dead_letters": broker.store.dropped(),
    }


def _queue(broker: Broker, hop: str) -> dict[str, Any]:
    outbox = broker.traffic.outbox(hop)
    return {"queue_events": outbox.events, "queue_bytes": outbox.bytes, "queue_full": outbox.is_full}
