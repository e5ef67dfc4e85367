"""Outbox: the durable queue of batches to one hop; and the deduplication of batches that arrive twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from tamis.broker.store import BrokerStore

Overflow = Literal["block", "drop"]

_WINDOW: Final = 32
_WINDOW_BYTES: Final = 8 << 20
_KEPT_LETTERS: Final = 1_000


@dataclass(frozen=True, slots=True)
class QueueBound:
    """Bound of a hop's queue, and the policy at the bound: publishers wait, or the oldest becomes a dead letter."""

    events: int = 1_000_000
    bytes: int = 256 << 20
    overflow: Overflow = "block"


class Outbox:
    """Durable queue to one hop: positions grow by one, and are sent in order.

    Up to `acknowledged` the other side has it all; up to `sent` it was sent in this session. What is put counts from
    the store's next commit on.
    """

    def __init__(self, hop: str, store: BrokerStore, bound: QueueBound, state: tuple[int, int, int, int, int]) -> None:
        self.hop = hop
        self.bound = bound
        self.last, self.acknowledged, self.messages, self.events, self.bytes = state
        self.sent = self.acknowledged
        self.dropped = 0
        self._store = store
        self._fresh: dict[
            int, tuple[int, bytes]
        ] = {}  # the newest that were not sent yet, so that they are not read back

    @property
    def is_full(self) -> bool:
        return self.events >= self.bound.events or self.bytes >= self.bound.bytes

    @property
    def blocks(self) -> bool:
        """True if publishers for this hop must wait."""
        return self.bound.overflow == "block" and self.is_full

    def put(self, events: int, message: Callable[[int], bytes]) -> None:
        """Appends a message of `events` events, made for its position."""
        self.last += 1
        body = message(self.last)
        self._store.enqueue(self.hop, self.last, events, body)
        self.messages, self.events, self.bytes = self.messages + 1, self.events + events, self.bytes + len(body)
        if len(self._fresh) < _WINDOW:
            self._fresh[self.last] = (events, body)
        if self.bound.overflow == "drop":
            self._drop()

    def _drop(self) -> None:
        while self.messages > 1 and (self.events > self.bound.events or self.bytes > self.bound.bytes):
            # It may be under way, and arrive all the same.
            gone = self._store.drop_oldest(self.hop, "the queue was full", _KEPT_LETTERS)
            assert gone is not None
            position, events, size = gone
            self._fresh.pop(position, None)
            self.messages, self.events, self.bytes = self.messages - 1, self.events - events, self.bytes - size
            self.dropped += events

    def drop_all(self, reason: str, keep: int) -> None:
        """Turns all waiting messages into dead letters, of which the newest `keep` keep their content."""
        self.dropped += self._store.drop_queue(self.hop, reason, keep)
        self.sent = self.acknowledged = self.last
        self.messages = self.events = self.bytes = 0
        self._fresh = {}

    def acknowledge(self, position: int) -> bool:
        """Removes everything up to a position that the other side has; returns True if that was new."""
        position = min(position, self.last)
        if position <= self.acknowledged:
            return False
        messages, events, size = self._store.acknowledge(self.hop, position)
        self.acknowledged = position
        self.sent = max(self.sent, position)
        self.messages, self.events, self.bytes = self.messages - messages, self.events - events, self.bytes - size
        self._fresh = {place: each for place, each in self._fresh.items() if place > position}
        return True

    def rewind(self) -> None:
        """Begins a new session: messages sent and not acknowledged are sent again."""
        self.sent = self.acknowledged

    def next(self) -> tuple[int, list[bytes]]:
        """Next batches to send, and their number of events: no more than a window is unacknowledged."""
        events, found, size = 0, list[bytes](), 0
        while self.sent < self.last and self.sent - self.acknowledged < _WINDOW and size < _WINDOW_BYTES:
            fresh = self._fresh.pop(self.sent + 1, None)
            if fresh is not None:
                self.sent += 1
            elif stored := self._store.waiting(self.hop, self.sent):
                self.sent, fresh = stored[0], stored[1:]
            else:
                break
            count, body = fresh
            found.append(body)
            events, size = events + count, size + len(body)
        return events, found


# Deduplication: batches seen already, in bounded memory.

WINDOW: Final = 1_024


class Seen:
    """For each origin the highest batch number seen, and which of the `WINDOW` numbers below it were seen.

    Along one path numbers only grow, so that the highest would do; the window is for batches that come late because
    the path was changed meanwhile. What is below the window is taken for seen. An origin that began anew, by its
    epoch, is another origin, and the old one is forgotten.
    """

    def __init__(self, store: BrokerStore) -> None:
        self._store = store
        self._origins = {origin: (epoch, highest, int(below, 16)) for origin, epoch, highest, below in store.seen()}

    def take(self, origin: str, epoch: str, number: int) -> bool:
        """Records a batch; False if it was seen before."""
        known, highest, below = self._origins.get(origin, (epoch, 0, 0))
        if known != epoch:
            highest, below = 0, 0
        if number > highest:
            # Bit d - 1 is the number that is d below the highest.
            distance = number - highest
            below = ((below << 1 | (highest > 0)) << (distance - 1)) & ((1 << WINDOW) - 1) if distance <= WINDOW else 0
            highest = number
        else:
            distance = highest - number
            if distance == 0 or distance > WINDOW or below >> (distance - 1) & 1:
                return False
            below |= 1 << (distance - 1)
        self._origins[origin] = (epoch, highest, below)
        self._store.put_seen(origin, epoch, highest, f"{below:x}")
        return True

    def __len__(self) -> int:
        return len(self._origins)
