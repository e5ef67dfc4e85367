"""The event log: events in the order in which they were accepted, durable. What every log is asked, takes and gives."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import PipelineError

# The columns of every event log. A spool has one partition, 0.
RECORDS: Final = pa.schema(
    [
        pa.field("offset", pa.int64()),
        pa.field("partition", pa.int32()),
        pa.field("id", pa.string()),
        pa.field("time", pa.timestamp("us", "UTC")),
        pa.field("body", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Events that are durable: `count` of them from `first` of a partition on.

    `repeated`: they were there before, under this key; then the partition may not be known any more, and be 0.
    """

    first: int
    count: int
    repeated: bool = False
    partition: int = 0


class EventLog(Protocol):
    """Events in the order in which they were accepted; what was acknowledged is durable.

    Records have the columns of `RECORDS`: offset, partition, id, time (received) and body (JSON text). Offsets number
    the events of a partition. Any number read; unless the log is `shared`, one process appends.
    """

    @property
    def shared(self) -> str | None:
        """The log's name, where several services may append to it, on as many hosts; None where it is one's own.

        How far a shared log has been matched is kept in the store, for whichever service goes on with it.
        """

    async def append(
        self, ids: pa.Array, bodies: pa.Array, *, key: str | None = None, content: pa.Array | None = None
    ) -> Receipt:
        """Returns when the events are durable.

        The same key again with the same bodies gives the first receipt, `repeated`, and appends nothing; with others
        it is an IdempotencyConflict. Bodies that are not what was published, and may be made of it otherwise the next
        time, are compared by what was: that is their `content`. No events under a key ask for the receipt that is under
        it; its count is 0 where there is none. NotAppended: nothing was kept (the disk is full, the
        broker away), and it may be tried again. EventTooLarge: nothing was kept, and never will be.
        """

    def recent(self, count: int) -> pa.Table:
        """The newest records, newest last."""

    def size(self) -> tuple[int, int]:
        """Events and bytes kept; bytes are 0 where the log cannot tell."""

    def sweep(self, before: datetime, processed: int) -> int:
        """Lets go of events received before then, except those from offset `processed` on; how many went.

        May keep more than it must. `processed` is where the next micro-batch begins, when the last one is committed.
        """

    async def close(self) -> None:
        """Ends what runs for this log. Appends under way are finished first."""


class NotAppended(PipelineError):  # noqa: N818 - reads as what happened
    """The log could not make these events durable, and kept none of them: they may be sent again later."""


class EventTooLarge(PipelineError):  # noqa: N818 - reads as what happened
    """An event that this log can never take. Nothing of its append was kept."""


class IdempotencyConflict(PipelineError):  # noqa: N818 - reads as what happened
    """The idempotency key was used for other events before."""


def as_strings(values: pa.Array | pa.ChunkedArray, what: str) -> pa.Array:
    """One array of strings without nulls, or ValueError."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if values.null_count:
        raise ValueError(f"{what} must not be null")
    return values if values.type == pa.string() else values.cast(pa.string())


def microseconds() -> int:
    """Now, in µs since 1970."""
    return time.time_ns() // 1000


# Idempotency keys of the last day: which events were appended under them. A log keeps hashes, never a key itself.

KEPT_FOR: Final = timedelta(hours=24)
MOST_KEYS: Final = 1_000_000

# key, content, first, count, received
ENTRY: Final = struct.Struct("<16s16sQIq")


@dataclass(frozen=True, slots=True)
class Keyed:
    """One append under a key: hashes of key and bodies, the events it became, and when (µs since 1970)."""

    key: bytes
    content: bytes
    first: int
    count: int
    received: int

    def to_bytes(self) -> bytes:
        """All of it, packed."""
        return ENTRY.pack(self.key, self.content, self.first, self.count, self.received)

    @classmethod
    def from_bytes(cls, raw: bytes) -> Keyed:
        """Value that to_bytes packed."""
        return cls(*ENTRY.unpack(raw))


class RememberedKeys:
    """The newest appends under keys, in the order in which they came. Not for several threads.

    Older than a day, or more than a million: the oldest are forgotten. Entries are packed, for there may be many.
    """

    def __init__(self, kept_for: timedelta = KEPT_FOR, most: int = MOST_KEYS) -> None:
        self.kept = int(kept_for.total_seconds() * 1e6)
        self._most = most
        self._entries: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: bytes, now: int) -> Keyed | None:
        """The append under this key, if it is not too long ago."""
        raw = self._entries.get(key)
        if raw is None:
            return None
        found = Keyed.from_bytes(raw)
        return found if found.received >= now - self.kept else None

    def add(self, keyed: Keyed) -> None:
        """Remembers an append, and forgets those that are too old by now."""
        self._entries.pop(keyed.key, None)
        self._entries[keyed.key] = keyed.to_bytes()
        while len(self._entries) > self._most or self._oldest() < keyed.received - self.kept:
            del self._entries[next(iter(self._entries))]

    def _oldest(self) -> int:
        return Keyed.from_bytes(next(iter(self._entries.values()))).received


def key_hash(key: str) -> bytes:
    """An idempotency key as frames hold it: never the key itself."""
    return blake2b(key.encode(), digest_size=16, person=b"tamis key").digest()


def content_hash(bodies: pa.Array) -> bytes:
    """A hash of bodies in their order, however Arrow lays them out."""
    digest = blake2b(digest_size=16, person=b"tamis content")
    digest.update(pc.binary_length(bodies).to_numpy(zero_copy_only=False).astype("<i8").tobytes())
    _, offsets, data = bodies.buffers()
    if data is not None and len(bodies):
        edges = np.frombuffer(offsets, np.int32, count=len(bodies) + 1, offset=4 * bodies.offset)
        digest.update(memoryview(data)[edges[0] : edges[-1]])
    return digest.digest()
