"""Fault injection: sources and sinks that fail on purpose, and simulated broker networks that lose connections."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Any, Generic, TypeVar

from tamis.broker.broker import Broker, BrokerSettings
from tamis.broker.events import unpack, write_events
from tamis.broker.messages import (
    Ask,
    Attach,
    Attached,
    Delivery,
    Message,
    Offer,
    Received,
    Refused,
    Settled,
    Taken,
    Told,
    decode,
    encode,
)
from tamis.broker.store import BrokerStore
from tamis.schema import Schema

Item = TypeVar("Item")


class Fault(Enum):
    """Fault of a `FaultySource` in place of an item."""

    END = "end"
    ABORT = "abort"


@dataclass(frozen=True)
class Pause:
    """Delay of so many seconds before the next item."""

    seconds: float


class SourceAbortedError(RuntimeError):
    """Failure of a source; iterating again resumes after the break."""


class SinkFailedError(RuntimeError):
    """Failure of a write to a sink."""


class FaultySource(Generic[Item]):
    """Source of items in order, with faults among them.

    `Fault.END` ends the iteration and `Fault.ABORT` raises `SourceAbortedError`. Each fault happens once: a new
    iteration goes on behind it, from the item after the last one that was given. `replay` goes back, as a source does
    whose reader had not yet committed.
    """

    def __init__(self, items: Sequence[Item | Fault | Pause]) -> None:
        self._items = list(items)
        self._position = 0

    def __iter__(self) -> Iterator[Item]:
        while self._position < len(self._items):
            item = self._items[self._position]
            self._position += 1
            if isinstance(item, Pause):
                time.sleep(item.seconds)
            elif item is Fault.END:
                return
            elif item is Fault.ABORT:
                raise SourceAbortedError(f"aborted before item {self._position} of {len(self._items)}")
            else:
                yield item

    @property
    def exhausted(self) -> bool:
        """True if all items and faults have been given."""
        return self._position == len(self._items)

    def replay(self, count: int) -> None:
        """Rewinds by `count` items; the faults among them do not happen again."""
        given = [item for item in self._items[: self._position] if not isinstance(item, Fault | Pause)]
        again = given[len(given) - count :] if count else []
        self._items = [*again, *self._items[self._position :]]
        self._position = 0


@dataclass
class FailingSink:
    """Sink that accepts a number of writes, then fails a number of times, then works again.

    Call it in place of `write`, with whatever arguments that takes. `attempts` counts the calls and `written` what
    came through. A failure happens before the write, or after it where `late`: the write then came through all the
    same, which is how repeats come about.
    """

    write: Callable[..., Any]
    after: int
    failures: int = 1
    late: bool = False
    attempts: int = field(default=0, init=False)
    written: int = field(default=0, init=False)

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.attempts += 1
        fails = self.after < self.attempts <= self.after + self.failures
        if fails and not self.late:
            raise SinkFailedError(f"write {self.attempts} failed, as asked")
        answer = self.write(*args, **options)
        self.written += 1
        if fails:
            raise SinkFailedError(f"write {self.attempts} failed after it was done, as asked")
        return answer


# Simulated broker networks in one process: connections that delay, drop and reconnect by a seed.


@dataclass(slots=True)
class NetworkClient:
    """Client of a broker in the network. `delivered` has each event once, with the subscriptions it matched."""

    name: str
    broker: str
    connection: int | None = None
    delivered: list[tuple[dict[str, Any], list[str]]] = field(default_factory=list)
    position: int = 0
    asked: int = 0
    offered: int = 0
    told: dict[int, Told] = field(default_factory=dict)
    taken: dict[int, Taken] = field(default_factory=dict)
    settled: set[int] = field(default_factory=set)
    unanswered: dict[int, Message] = field(default_factory=dict)  # publishes that no answer came to yet

    def hear(self, message: Message) -> Message | None:
        """Handles a message of the broker; returns the answer, if there is one."""
        match message:
            case Told():
                self.told[message.number] = message
            case Settled():
                self.settled.add(message.number)
            case Taken():
                self.taken[message.number] = message
                self.unanswered.pop(message.number, None)
            case Delivery() if message.position > self.position:
                carried = unpack(message.events)
                assert carried.matched is not None
                matched = carried.matched.to_pylist()
                self.delivered += zip(carried.events.to_pylist(), matched, strict=True)
                self.position = message.position
                return Received(message.position)
            case Attached() | Delivery() | Refused():
                pass
            case _:
                raise AssertionError(f"a client was told {message}")
        return None


@dataclass(slots=True)
class _Wire:
    """Connection: its two ends, each a broker or a client, and the messages under way to each."""

    ends: tuple[str, str]
    under_way: tuple[deque[bytes], deque[bytes]] = field(default_factory=lambda: (deque(), deque()))


class BrokerNetwork:
    """Network of brokers, the links configured between them, and their clients.

    Nothing moves but by `step` (one message of a connection chosen by the seed), `run` (until nothing is under way)
    and what is done by name. Brokers speak in bytes, as they do between processes.
    """

    def __init__(
        self, schema: Schema, names: Iterable[str], settings: BrokerSettings | None = None, seed: int = 0
    ) -> None:
        self.schema = schema
        self.settings = settings or BrokerSettings()
        self.random = Random(seed)
        self.brokers = {name: Broker(schema, BrokerStore.open(None, name), self.settings) for name in names}
        self.links: dict[tuple[str, str], int | None] = {}
        self.clients: dict[str, NetworkClient] = {}
        self.messages = 0
        self._wires: dict[int, _Wire] = {}
        self._next = 0

    # Links.

    def link(self, dialling: str, dialled: str) -> None:
        """Configures a link, and connects it."""
        self.links[dialling, dialled] = None
        self.restore(dialling, dialled)

    def cut(self, dialling: str, dialled: str) -> None:
        """Breaks the connection of a link: messages under way are lost."""
        number = self.links[dialling, dialled]
        if number is not None:
            self._break(number)

    def restore(self, dialling: str, dialled: str) -> None:
        """Reconnects a link, if it is not connected."""
        if self.links[dialling, dialled] is None:
            number = self._wire(dialling, dialled)
            self.links[dialling, dialled] = number
            self.brokers[dialled].connect(number, "link")
            self.brokers[dialling].connect(number, "link", dialled)
            self._commit(dialling)

    def crash(self, name: str) -> None:
        """Crashes and restarts a broker with its committed state; its connections are gone."""
        for number in [number for number, wire in self._wires.items() if name in wire.ends]:
            self._break(number)
        self.brokers[name] = Broker(self.schema, self.brokers[name].store.after_crash(), self.settings)

    # Clients.

    def client(self, name: str, broker: str) -> NetworkClient:
        """New client, attached to a broker."""
        client = self.clients[name] = NetworkClient(name, broker)
        self.attach(name)
        return client

    def attach(self, name: str) -> None:
        """Reconnects a client, if it is not connected; it repeats its unanswered requests."""
        client = self.clients[name]
        if client.connection is None:
            client.connection = self._wire(client.broker, f"client {name}")
            self.brokers[client.broker].connect(client.connection, "client")
            for message in (Attach(name), *client.unanswered.values()):
                self._say(client, message)

    def detach(self, name: str) -> None:
        """Breaks the client's connection."""
        client = self.clients[name]
        if client.connection is not None:
            self._break(client.connection)

    def ask(self, name: str, **wishes: Any) -> int:
        """Sends a client's requests, as in `Ask`; returns their number."""
        client = self.clients[name]
        client.asked += 1
        self._say(client, Ask(client.asked, **wishes))
        return client.asked

    def publish(self, name: str, events: Sequence[Mapping[str, object]]) -> int:
        """Publishes events of a client; returns the publication's number."""
        client = self.clients[name]
        client.offered += 1
        offer = Offer(client.offered, write_events(self.schema.to_arrow(events)))
        client.unanswered[client.offered] = offer
        self._say(client, offer)
        return client.offered

    # Time.

    def step(self) -> bool:
        """Delivers one message; False if none is under way."""
        ready = [(number, end) for number, wire in self._wires.items() for end in (0, 1) if wire.under_way[end]]
        if not ready:
            return False
        number, end = self.random.choice(ready)
        wire = self._wires[number]
        data = wire.under_way[end].popleft()
        self.messages += 1
        name = wire.ends[end]
        if name in self.brokers:
            self.brokers[name].receive(number, data)
            self._commit(name)
        else:
            client = self.clients[name.removeprefix("client ")]
            answer = client.hear(decode(data))
            if answer is not None:
                self._say(client, answer)
        return True

    def run(self, most: int = 1_000_000) -> None:
        """Delivers messages until none is under way."""
        for _ in range(most):
            if not self.step():
                return
        raise AssertionError(f"messages are still under way after {most:,}")

    def settle(self) -> None:
        """Reconnects everything, and delivers messages until none is under way."""
        for link in self.links:
            self.restore(*link)
        for name in self.clients:
            self.attach(name)
        self.run()

    def tick(self, now: float) -> None:
        """Advances the clocks of all brokers."""
        for name, broker in self.brokers.items():
            broker.tick(now)
            self._commit(name)

    def tables(self) -> dict[str, dict[str, Any]]:
        """Filters of each broker from each neighbour, and those forwarded to it."""
        found: dict[str, dict[str, Any]] = {}
        for name, broker in self.brokers.items():
            ads, subs = broker.filters.advertisements, broker.filters.subscriptions
            found[name] = {
                hop: [ads.rows(hop), subs.rows(hop), sorted(ads.forwarded(hop)), sorted(subs.forwarded(hop))]
                for hop in sorted(subs.targets)
            }
        return found

    def _wire(self, one: str, other: str) -> int:
        self._next += 1
        self._wires[self._next] = _Wire((one, other))
        return self._next

    def _say(self, client: NetworkClient, message: Message) -> None:
        if client.connection is not None:
            self._wires[client.connection].under_way[0].append(encode(message))

    def _commit(self, name: str) -> None:
        for number, output in self.brokers[name].commit().items():
            wire = self._wires.get(number)
            if wire is None:
                continue
            wire.under_way[1 - wire.ends.index(name)].extend(output.messages)
            if output.close is not None:
                self._break(number)

    def _break(self, number: int) -> None:
        wire = self._wires.pop(number)
        for link, connection in self.links.items():
            if connection == number:
                self.links[link] = None
        for client in self.clients.values():
            if client.connection == number:
                client.connection = None
        for name in wire.ends:
            if name in self.brokers:
                self.brokers[name].disconnect(number)
                self._commit(name)
