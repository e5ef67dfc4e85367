"""What the service asks of an event log, whichever it is."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from tamis.eventlog.base.records import Receipt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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

    def frame(self, spark: SparkSession, *, stream: bool, start: int | str | None = None) -> DataFrame:
        """The records as a DataFrame: those there now, or a stream of them. From `start` on, or all that are kept.

        `start` may also be where a micro-batch ended, as Spark's checkpoint has it.
        """

    def size(self) -> tuple[int, int]:
        """Events and bytes kept; bytes are 0 where the log cannot tell."""

    def sweep(self, before: datetime, processed: int) -> int:
        """Lets go of events received before then, except those from offset `processed` on; how many went.

        May keep more than it must. `processed` is where the next micro-batch begins, when the last one is committed.
        """

    async def close(self) -> None:
        """Ends what runs for this log. Appends under way are finished first."""
