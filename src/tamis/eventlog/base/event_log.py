"""Protocol of event logs: events in order of acceptance, durable, appended once per idempotency key."""

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

# Columns of every event log. A spool has one partition, 0.
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
    """Receipt of an append: `count` events from `first` of a partition on are durable.

    `repeated`: they were appended before, under this key; then the partition may be unknown, and be 0.
    """

    first: int
    count: int
    repeated: bool = False
    partition: int = 0


class EventLog(Protocol):
    """Log of events in order of acceptance; acknowledged events are durable.

    Records have the columns of `RECORDS`: offset, partition, id, time (received) and body (JSON text). Offsets number
    the events of a partition. Any number read; unless the log is `shared`, one process appends.
    """

    @property
    def shared(self) -> str | None:
        """Name of the log, where several services may append to it, on as many hosts; None for a log of one service.

        The matching progress of a shared log is kept in the store, for whichever service continues it.
        """

    async def append(
        self, ids: pa.Array, bodies: pa.Array, *, key: str | None = None, content: pa.Array | None = None
    ) -> Receipt:
        """Appends events; returns when they are durable.

        A repeat of the key with equal bodies returns the first receipt, `repeated`, and appends nothing; with other
        bodies it raises IdempotencyConflict. Bodies that differ from the published ones, and may be made otherwise at
        the next attempt, are compared by the published ones: their `content`. An append of no events returns the
        receipt under its key; the count is 0 if there is none. NotAppended: nothing was kept (disk full, broker
        unreachable), and a retry is possible. EventTooLarge: nothing was kept, and never will be.
        """

    def recent(self, count: int) -> pa.Table:
        """Newest records, newest last."""

    def size(self) -> tuple[int, int]:
        """Number of events and bytes kept; bytes are 0 where the log cannot tell."""

    def sweep(self, before: datetime, processed: int) -> int:
        """Removes events received before a moment, except those from offset `processed` on; returns how many.

        May keep more than it must. `processed` is where the next micro-batch begins, once the last one is committed.
        """

    async def close(self) -> None:
        """Closes the log, after appends under way have finished."""


class NotAppended(PipelineError):  # noqa: N818 - reads as what happened
    """Failed append: the log kept none of the events, and a retry may succeed."""


class EventTooLarge(PipelineError):  # noqa: N818 - reads as what happened
    """Event that this log can never store. Nothing of its append was kept."""


class IdempotencyConflict(PipelineError):  # noqa: N818 - reads as what happened
    """Idempotency key that was used for other events before."""


def as_strings(values: pa.Array | pa.ChunkedArray, what: str) -> pa.Array:
    """Array of strings without nulls, in one chunk, or ValueError."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if values.null_count:
        raise ValueError(f"{what} must not be null")
    return values if values.type == pa.string() else values.cast(pa.string())


def microseconds() -> int:
    """Current time, in µs since 1970."""
    return time.time_ns() // 1000


# Idempotency keys of the last day: the events appended under each. A log stores hashes, never a key itself.

KEPT_FOR: Final = timedelta(hours=24)
MOST_KEYS: Final = 1_000_000

# key, content, first, count, received
ENTRY: Final = struct.Struct("<16s16sQIq")


@dataclass(frozen=True, slots=True)
class Keyed:
    """Append under a key: hashes of key and bodies, the events it became, and when (µs since 1970)."""

    key: bytes
    content: bytes
    first: int
    count: int
    received: int

    def to_bytes(self) -> bytes:
        """Packed form."""
        return ENTRY.pack(self.key, self.content, self.first, self.count, self.received)

    @classmethod
    def from_bytes(cls, raw: bytes) -> Keyed:
        """Unpacks the form of to_bytes."""
        return cls(*ENTRY.unpack(raw))


class RememberedKeys:
    """Newest appends under keys, in order. Not thread-safe.

    Entries older than a day, or beyond a million, are forgotten, oldest first. They are packed, for there may be many.
    """

    def __init__(self, kept_for: timedelta = KEPT_FOR, most: int = MOST_KEYS) -> None:
        self.kept = int(kept_for.total_seconds() * 1e6)
        self._most = most
        self._entries: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: bytes, now: int) -> Keyed | None:
        """Append under this key, if it is not too long ago."""
        raw = self._entries.get(key)
        if raw is None:
            return None
        found = Keyed.from_bytes(raw)
        return found if found.received >= now - self.kept else None

    def add(self, keyed: Keyed) -> None:
        """Adds an append, and forgets those that are too old."""
        self._entries.pop(keyed.key, None)
        self._entries[keyed.key] = keyed.to_bytes()
        while len(self._entries) > self._most or self._oldest() < keyed.received - self.kept:
            del self._entries[next(iter(self._entries))]

    def _oldest(self) -> int:
        return Keyed.from_bytes(next(iter(self._entries.values()))).received


def key_hash(key: str) -> bytes:
    """Hash of an idempotency key, as frames store it: never the key itself."""
    return blake2b(key.encode(), digest_size=16, person=b"tamis key").digest()


def content_hash(bodies: pa.Array) -> bytes:
    """Hash of bodies in order, independent of their Arrow layout."""
    digest = blake2b(digest_size=16, person=b"tamis content")
    digest.update(pc.binary_length(bodies).to_numpy(zero_copy_only=False).astype("<i8").tobytes())
    _, offsets, data = bodies.buffers()
    if data is not None and len(bodies):
        edges = np.frombuffer(offsets, np.int32, count=len(bodies) + 1, offset=4 * bodies.offset)
        digest.update(memoryview(data)[edges[0] : edges[-1]])
    return digest.digest()
