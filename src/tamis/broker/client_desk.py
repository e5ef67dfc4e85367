"""Client sessions of a broker: advertisements, subscriptions, publications and deliveries of its clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from tamis.broker.events import Sieve, published, read_events
from tamis.broker.filters import ADVERTISEMENT, SUBSCRIPTION, Kind
from tamis.broker.messages import (
    Ask,
    Attach,
    Attached,
    Leave,
    Message,
    MessageError,
    Offer,
    Received,
    Refused,
    Settled,
    Taken,
    Told,
)
from tamis.broker.settling import Asked, Sent
from tamis.broker.store import NAME
from tamis.broker.traffic import CLIENT, Travelling
from tamis.errors import FilterError, TamisError
from tamis.routing.tables import RoutedFilter, read_filter

if TYPE_CHECKING:
    from tamis.broker.broker import Broker, Connection

_EVERYTHING: Final = "TRUE"
_SHOWN: Final = 1_000
_MOST_WAITING: Final = 64


@dataclass(slots=True)
class Client:
    """Client until it leaves: `connection` while it is attached; `published`, the number of its last publication."""

    hop: str
    connection: int | None = None
    published: int = 0
    echo: bool = True


class ClientDesk:
    """All clients of a broker, by name. Their filters are in the broker's filters, undelivered events in its queues."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.clients = {
            name: Client(CLIENT + name, published=number) for name, number in broker.store.clients().items()
        }
        self._promised = Sieve(broker.schema)
        for client in self.clients.values():
            held = broker.filters.of_client(client.hop, ADVERTISEMENT)
            self._promised.add(client.hop, {id: filter.text for id, filter in held.items()})

    def attach(self, connection: Connection, attach: Attach) -> None:
        """Opens a client's session; another connection under its name ends."""
        if not NAME.fullmatch(attach.client):
            raise MessageError("a client's name is 1 to 200 letters, digits and signs, without spaces")
        broker = self._broker
        client = self.clients.get(attach.client)
        if client is None:
            client = self.clients[attach.client] = Client(CLIENT + attach.client)
            broker.store.put_client(attach.client, 0)
        if client.connection is not None:
            broker.connections[client.connection].hop = None
            broker.close(client.connection, "another connection speaks for this client")
            self._end_session(client)
        connection.hop, client.connection, client.echo = client.hop, connection.number, attach.echo
        broker.traffic.begin(client.hop)
        advertised, subscribed = (
            {id: filter.text for id, filter in broker.filters.of_client(client.hop, kind).items()}
            for kind in (ADVERTISEMENT, SUBSCRIPTION)
        )
        broker.send(
            connection.number,
            Attached(
                broker.name, client.published, advertised, subscribed, broker.schema.fingerprint, broker.store.epoch
            ),
        )

    def receive(self, connection: Connection, message: Message, size: int) -> None:
        """Handles a message of an attached client."""
        assert connection.hop is not None
        client = self.clients[connection.hop.removeprefix(CLIENT)]
        match message:
            case Ask():
                self._take_ask(client, message)
            case Offer():
                self._take_offer(client, message, size)
            case Received():
                self._broker.traffic.acknowledge(client.hop, message.position)
            case Leave():
                self._leave(client)
                self._broker.close(connection.number, "the client has left")
            case Refused():
                self._broker.close(connection.number, message.reason)
            case _:
                raise MessageError(f"a client does not say {type(message).__name__}")

    # Filters.

    def _take_ask(self, client: Client, ask: Ask) -> None:
        refused: dict[str, str] = {}
        sent: list[Sent] = []
        for kind, wanted, unwanted in (
            (ADVERTISEMENT, ask.advertise, ask.unadvertise),
            (SUBSCRIPTION, ask.subscribe, ask.unsubscribe),
        ):
            held = self._broker.filters.of_client(client.hop, kind)
            gone = [id for id in dict.fromkeys(unwanted) if id in held]
            refused |= {id: f"there is no {kind} {id!r}" for id in unwanted if id not in held}
            new: dict[str, RoutedFilter] = {}
            for id, text in wanted.items():
                try:
                    filter = self._read(id, text)
                except FilterError as error:
                    refused[id] = str(error)
                    continue
                if id not in held or id in gone:
                    new[id] = filter
                elif held[id] != filter:
                    refused[id] = f"there is another {kind} {id!r}; withdraw it first"
            sent += self._change(client, kind, new, gone)
        assert client.connection is not None
        self._broker.send(client.connection, Told(ask.number, refused))
        self._broker.settle(Asked(client.hop, ask.number), sent)

    def _read(self, id: str, text: str) -> RoutedFilter:
        if not NAME.fullmatch(id):
            raise FilterError("an id is 1 to 200 letters, digits and signs, without spaces")
        return read_filter(text, self._broker.schema)

    def _change(self, client: Client, kind: Kind, new: dict[str, RoutedFilter], gone: list[str]) -> list[Sent]:
        if not new and not gone:
            return []
        if kind == ADVERTISEMENT:
            self._promised.remove(client.hop, gone)
            self._promised.add(client.hop, {id: filter.text for id, filter in new.items()})
        return self._broker.links.tell(self._broker.filters.change_client(client.hop, kind, new, gone))

    def tell_settled(self, asked: Asked) -> None:
        client = self.clients.get(asked.hop.removeprefix(CLIENT))
        if client is not None and client.connection is not None:
            self._broker.send(client.connection, Settled(asked.number))

    # Publications.

    def _take_offer(self, client: Client, offer: Offer, size: int) -> None:
        broker = self._broker
        if offer.number <= client.published:
            self._tell_taken(client, Taken(offer.number, 0, {}, repeated=True))
            return
        if len(broker.traffic.parked.get(client.hop, ())) >= _MOST_WAITING:
            raise MessageError("too many publishes are under way: wait for answers")
        try:
            checked = broker.schema.check(read_events(offer.events))
        except (TamisError, pa.ArrowException) as error:
            raise MessageError(f"these are no events: {error}") from error
        refused = {
            str(row): message
            for row, message in zip(
                checked.violations["event"].to_pylist()[:_SHOWN],
                checked.violations["message"].to_pylist()[:_SHOWN],
                strict=True,
            )
        }
        events, rows = checked.valid, np.asarray(checked.valid_rows)
        promised = self._kept_promises(client, events)
        for row in rows[~promised][:_SHOWN].tolist():
            refused[str(row)] = "no advertisement of this client has such events; advertise them first"
        accepted = events.filter(pa.array(promised))
        carriage = broker.traffic.carried_by(client.hop)
        carriage.events_in, carriage.bytes_in = carriage.events_in + accepted.num_rows, carriage.bytes_in + size
        taken = Taken(offer.number, accepted.num_rows, refused)

        def done() -> None:
            client.published = offer.number
            broker.store.put_client(client.hop.removeprefix(CLIENT), offer.number)
            self._tell_taken(client, taken)

        if accepted.num_rows:
            broker.traffic.take(
                Travelling(client.hop, broker.name, broker.store.epoch, None, published(accepted), done, client.echo)
            )
        else:
            done()

    def _kept_promises(self, client: Client, events: pa.RecordBatch) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Mask of the events that match some advertisement of the client."""
        if any(each.text == _EVERYTHING for each in self._broker.filters.of_client(client.hop, ADVERTISEMENT).values()):
            return np.ones(events.num_rows, np.bool_)
        kept = np.zeros(events.num_rows, np.bool_)
        for catch in self._promised.sift(events) if events.num_rows else ():
            if catch.hop == client.hop:
                kept[catch.places] = True
        return kept

    def _tell_taken(self, client: Client, taken: Taken) -> None:
        if client.connection is not None:
            self._broker.send(client.connection, taken)

    def pump(self, hop: str) -> None:
        """Sends a client its undelivered events, if it is attached."""
        client = self.clients.get(hop.removeprefix(CLIENT))
        if client is not None and client.connection is not None:
            self._broker.traffic.send_from(hop, client.connection, self._broker.send_encoded)

    # Sessions.

    def disconnected(self, connection: Connection) -> None:
        assert connection.hop is not None
        client = self.clients.get(connection.hop.removeprefix(CLIENT))
        if client is not None and client.connection == connection.number:
            self._end_session(client)

    def _end_session(self, client: Client) -> None:
        client.connection = None
        self._broker.traffic.forget(client.hop)
        self._broker.settling.forget(client.hop)

    def _leave(self, client: Client) -> None:
        for kind in (ADVERTISEMENT, SUBSCRIPTION):
            self._change(client, kind, {}, list(self._broker.filters.of_client(client.hop, kind)))
        name = client.hop.removeprefix(CLIENT)
        self._end_session(client)
        self._broker.traffic.discard(client.hop)
        self._broker.store.drop_client(name)
        del self.clients[name]
