"""`join_stream`: a query that keeps tables, and tells how the contents of joins change, micro-batch by micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.errors import PipelineError
from tamis.pipeline.frames import REASON, SUBSCRIPTION, VIOLATIONS
from tamis.pipeline.indexes import Subscribed
from tamis.pipeline.joining.join import CHANGED, PARTS, cells_of, join
from tamis.pipeline.joining.packing import ORDER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    Sink = Callable[[DataFrame, int], object]

_PARTITIONS = "spark.sql.shuffle.partitions"


def join_stream(
    events: DataFrame,
    subscriptions: Subscribed,
    *,
    changes: Sink,
    dead_letters: Sink,
    checkpoint: str | Path,
    order: str | None = None,
    json: str | None = None,
    ignore_unknown: bool = False,
    lateness: str | None = None,
    time: str | None = None,
    parts: int = PARTS,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
    folder: str | Path | None = None,
) -> StreamingQuery:
    """Starts a query over a stream of changes of tables, resumed from `checkpoint` if there is one.

    `changes` and `dead_letters` are called with what `join` gives for the batch, and its number; dead letters only if
    there are any. If either fails, or the machine does, the batch is run again from the tables as they were before it,
    with the same events and the same version of the subscriptions, and gives the same `notification`s. The other
    arguments are those of `join`, and `trigger` and `name` Spark's own.
    """
    if not events.isStreaming:
        raise PipelineError("these events are no stream: use pipeline.join, or read them with stream=True")
    joined = join(
        events, subscriptions, order=order, json=json, ignore_unknown=ignore_unknown, dead_letters=True,
        lateness=lateness, time=time, parts=parts, folder=folder,
    )  # fmt: skip

    def run(batch: DataFrame, number: int) -> None:
        answer = batch.persist()
        try:
            # All of it at once: what a sink does not look at must be in the state all the same, and once only.
            counted = answer.selectExpr(f"count({SUBSCRIPTION})", "count(1)").first()
            assert counted is not None
            changes(answer.where(f"{SUBSCRIPTION} IS NOT NULL").select(*CHANGED), number)
            if counted[1] > counted[0]:
                refused = answer.where(f"{SUBSCRIPTION} IS NULL")
                dead_letters(refused.select("event", VIOLATIONS, REASON, ORDER), number)
        finally:
            answer.unpersist()

    writer = joined.writeStream.foreachBatch(run).option("checkpointLocation", str(checkpoint))
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    with _partitions(events.sparkSession, len(cells_of(subscriptions, events, parts, folder))):
        return writer.start()


@contextmanager
def _partitions(session: SparkSession, count: int) -> Iterator[None]:
    """A task for each cell. A query takes the setting over when it is started, and keeps it with its checkpoint."""
    before = str(session.conf.get(_PARTITIONS))
    session.conf.set(_PARTITIONS, count)
    try:
        yield
    finally:
        session.conf.set(_PARTITIONS, before)
