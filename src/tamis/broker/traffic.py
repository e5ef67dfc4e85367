"""Event routing in a broker: queues of all hops, batches that wait for room in them, and events sent and received over
links.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tamis.broker.events import Carried, Catch, Observed, Sieve, pack, take_out, unpack
from tamis.broker.link import Answers, Link, Whole, neighbour, with_contents
from tamis.broker.messages import Batch, Delivery, Received, encode
from tamis.broker.outbox import Outbox, QueueBound, Seen
from tamis.broker.store import BrokerStore

if TYPE_CHECKING:
    from tamis.broker.broker import Broker


LINK = "link:"
CLIENT = "client:"


@dataclass(frozen=True, slots=True)
class Travelling:
    """Events of one batch from a hop; `done` is called when they are in the queues of all their hops.

    What was published here is numbered when it goes on, so that numbers grow along every path.
    """

    source: str
    origin: str
    epoch: str
    number: int | None
    carried: Carried
    done: Callable[[], None]
    echo: bool = False
    """Whether the source gets what it asked for of its own."""


@dataclass(slots=True)
class Carriage:
    """Counters of a hop since the start. `unwanted`: events that nobody here or beyond wanted."""

    events_in: int = 0
    bytes_in: int = 0
    events_out: int = 0
    bytes_out: int = 0
    unwanted: int = 0


@dataclass(slots=True)
class Traffic:
    """Queues of all hops, and the batches that wait because one of them is full.

    A batch goes into all the queues that it is for or into none: while one that blocks is full, it waits in `parked`,
    and whatever its source sends after it waits behind it.
    """

    store: BrokerStore
    sieve: Sieve
    bounds: Mapping[str, QueueBound]
    seen: Seen
    bulky: tuple[int, int] = (1 << 10, 1 << 18)
    """Values of so many bytes, at least and at most, go over a link once, and by their names from then on."""
    observed: Observed = field(default_factory=Observed)
    outboxes: dict[str, Outbox] = field(default_factory=dict)
    parked: dict[str, deque[Travelling]] = field(default_factory=dict)
    carriage: dict[str, Carriage] = field(default_factory=dict)
    stirred: set[str] = field(default_factory=set)
    """Hops to which something may go now that could not before."""
    eased: bool = False
    """Whether there may be room where there was none."""

    def __post_init__(self) -> None:
        for hop, state in self.store.queued().items():
            self.outboxes[hop] = Outbox(hop, self.store, self._bound(hop), state)

    def outbox(self, hop: str) -> Outbox:
        if hop not in self.outboxes:
            self.outboxes[hop] = Outbox(hop, self.store, self._bound(hop), (0, 0, 0, 0, 0))
        return self.outboxes[hop]

    def carried_by(self, hop: str) -> Carriage:
        return self.carriage.setdefault(hop, Carriage())

    def take(self, travelling: Travelling) -> None:
        """Routes events, now or when there is room for them."""
        behind = self.parked.get(travelling.source)
        if behind:
            behind.append(travelling)
        elif not self._route(travelling):
            self.parked[travelling.source] = deque([travelling])

    def go_on(self) -> None:
        """Retries parked batches, if there may be room for them."""
        if not self.eased:
            return
        self.eased = False
        for source in list(self.parked):
            queue = self.parked[source]
            while queue and self._route(queue[0]):
                queue.popleft()
            if not queue:
                del self.parked[source]

    def acknowledge(self, hop: str, position: int) -> None:
        """Records that a hop has everything up to this position."""
        self.outbox(hop).acknowledge(position)
        self.stirred.add(hop)
        self.eased = True

    def begin(self, hop: str) -> None:
        """Begins a session with a hop: unacknowledged messages are sent again."""
        self.outbox(hop).rewind()
        self.stirred.add(hop)

    def forget(self, source: str) -> None:
        """Forgets parked batches of a hop: the hop will send them again."""
        self.parked.pop(source, None)

    def drop(self, hop: str, reason: str, keep: int) -> None:
        """Removes a hop, for now: its queue becomes dead letters."""
        self.outbox(hop).drop_all(reason, keep)
        self.forget(hop)
        self.eased = True

    def discard(self, hop: str) -> None:
        """Removes a hop for good: its queue is deleted."""
        self.store.discard_queue(hop)
        self.outboxes.pop(hop, None)
        self.forget(hop)
        self.eased = True

    def send_from(
        self,
        hop: str,
        connection: int,
        send: Callable[[int, list[bytes]], None],
        as_it_goes: Callable[[bytes], bytes] = lambda body: body,
    ) -> None:
        """Sends queued messages of a hop over its connection, up to the window."""
        events, stored = self.outbox(hop).next()
        bodies = [as_it_goes(body) for body in stored]
        if bodies:
            send(connection, bodies)
            carriage = self.carried_by(hop)
            carriage.events_out, carriage.bytes_out = (
                carriage.events_out + events,
                carriage.bytes_out + sum(map(len, bodies)),
            )

    def _route(self, travelling: Travelling) -> bool:
        events = travelling.carried.events
        catches = self.sieve.sift(events, None if travelling.echo else travelling.source)
        if any(self.outbox(catch.hop).blocks for catch in catches):
            return False
        if travelling.number is None or self.seen.take(travelling.origin, travelling.epoch, travelling.number):
            number = self.store.next_number() if travelling.number is None else travelling.number
            for catch in catches:
                self._put(travelling, number, catch)
            self.observed.take(events)
            if travelling.source.startswith(LINK):
                wanted = np.unique(np.concatenate([catch.places for catch in catches])) if catches else ()
                self.carried_by(travelling.source).unwanted += events.num_rows - len(wanted)
        travelling.done()
        return True

    def _put(self, travelling: Travelling, number: int, catch: Catch) -> None:
        for_client = catch.hop.startswith(CLIENT)
        kind = Delivery if for_client else Batch
        some = travelling.carried.taken(catch.places, catch.matched() if for_client else None)
        count = len(catch.places)
        if for_client:
            body, contents = pack(some), dict[bytes, bytes]()
        else:
            taken = take_out(some.events, *self.bulky)
            body, contents = pack(Carried(taken.events, some.rows)), taken.contents

        def message(position: int) -> bytes:
            made = kind(position, travelling.origin, travelling.epoch, number, count, body)
            return encode(
                with_contents(made, body, contents, contents) if isinstance(made, Batch) and contents else made
            )

        self.outbox(catch.hop).put(count, message)
        self.stirred.add(catch.hop)

    def _bound(self, hop: str) -> QueueBound:
        return self.bounds[CLIENT if hop.startswith(CLIENT) else LINK]


# Events over links: received ones are routed on, queued ones are sent.


class LinkEvents:
    """Events of all links. `received`: by hop, the neighbour's epoch and the position up to which they are safe here.

    A message counts as received when all of its values are there and its events wait for wherever they go.
    """

    def __init__(self, broker: Broker, links: Mapping[str, Link]) -> None:
        self._broker = broker
        self._links = links
        self.received = broker.store.received()

    def take(self, link: Link, batch: Batch, size: int) -> None:
        """Takes in a message of events from a link; `size` is its number of bytes."""
        broker = self._broker
        waiting = broker.traffic.parked.get(link.hop)
        if batch.position <= link.received and not waiting:
            self._receipt(link, link.received)
            return
        carriage = broker.traffic.carried_by(link.hop)
        carriage.events_in, carriage.bytes_in = carriage.events_in + batch.count, carriage.bytes_in + size
        self.follow(broker.payloads.arrived(link.hop, batch, size))

    def follow(self, answers: Answers) -> None:
        """Carries out the consequences of values that came, or are lacking."""
        for hop, message in answers.messages:
            connection = self._links[neighbour(hop)].connection
            if connection is not None:
                self._broker.send(connection, message)
        for whole in answers.whole:
            self._send_on(self._links[neighbour(whole.link)], whole)

    def _send_on(self, link: Link, whole: Whole) -> None:
        broker, batch = self._broker, whole.batch

        def done() -> None:
            link.received = batch.position
            self.received[link.hop] = (link.epoch, batch.position)
            broker.store.put_received(link.hop, link.epoch, batch.position)
            self._receipt(link, batch.position)

        carried = unpack(batch.events[: batch.slim] if batch.payloads else batch.events, whole.contents)
        broker.traffic.take(Travelling(link.hop, batch.origin, batch.epoch, batch.number, carried, done))

    def _receipt(self, link: Link, position: int) -> None:
        if link.connection is not None:
            self._broker.send(link.connection, Received(position))

    def pump(self, hop: str) -> None:
        """Sends a neighbour its queue, if the link is open."""
        link = self._links[neighbour(hop)]
        if link.open and link.connection is not None:
            as_it_goes = partial(self._broker.payloads.outgoing, hop)
            self._broker.traffic.send_from(hop, link.connection, self._broker.send_encoded, as_it_goes)

    def let_go(self, link: Link) -> None:
        """Retries batches that could not go on yet."""
        self._broker.payloads.end(link.hop)
        self._broker.traffic.forget(link.hop)
