"""`join_stream`: a query that keeps tables, and tells how the contents of joins change, micro-batch by micro-batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.pipeline.frames import REASON, VIOLATIONS
from tamis.pipeline.indexes import Subscribed
from tamis.pipeline.join import PARTS, answers, cells_of, rows_of
from tamis.pipeline.joining.packing import ORDER
from tamis.pipeline.stream import require_stream, started

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from tamis.pipeline.stream import Sink

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
    require_stream(events, "pipeline.join")
    told = answers(
        events, subscriptions, order=order, json=json, ignore_unknown=ignore_unknown, lateness=lateness, time=time,
        parts=parts, folder=folder,
    )  # fmt: skip

    def run(batch: DataFrame, number: int) -> None:
        # Cells are asked once, and all of them: what a sink does not look at must be in the state all the same. Their
        # answers are kept packed; a sink unpacks what it looks at.
        packed = batch.persist()
        try:
            dead = [row[0] for row in packed.selectExpr("dead IS NOT NULL").collect()]
            changes(rows_of(packed, dead_letters=False), number)
            if any(dead):
                refused = rows_of(packed.where("dead IS NOT NULL"), dead_letters=True)
                dead_letters(refused.select("event", VIOLATIONS, REASON, ORDER), number)
        finally:
            packed.unpersist()

    with _partitions(events.sparkSession, len(cells_of(subscriptions, events, parts, folder))):
        return started(told, run, checkpoint, trigger=trigger, name=name)


@contextmanager
def _partitions(session: SparkSession, count: int) -> Iterator[None]:
    """A task for each cell. A query takes the setting over when it is started, and keeps it with its checkpoint."""
    before = str(session.conf.get(_PARTITIONS))
    session.conf.set(_PARTITIONS, count)
    try:
        yield
    finally:
        session.conf.set(_PARTITIONS, before)
