"""The event log: events in the order in which they were accepted, durable. What every log is asked, takes and gives."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

import pyarrow as pa

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
        time, are compared by what was: that is their `content`. NotAppended: nothing was kept (the disk is full, the
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
