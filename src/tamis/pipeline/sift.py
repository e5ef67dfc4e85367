"""`sift`: a query with one sink, which gets what became of a micro-batch in one piece, as an Arrow table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tamis.pipeline.frames import kept_columns
from tamis.pipeline.queries import require_stream, started
from tamis.pipeline.sieved import sieved
from tamis.pipeline.table.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

# For the query's own session, a copy of the user's: a micro-batch has nothing to adapt, and a generated class is
# compiled for longer than it runs.
_BRISK = {"spark.sql.adaptive.enabled": "false", "spark.sql.codegen.wholeStage": "false"}


def sift(
    events: DataFrame,
    subscriptions: Callable[[str, int], Snapshot],
    *,
    sink: Callable[[pa.Table, int], object],
    checkpoint: str | Path,
    json: str,
    keep: Sequence[str],
    ignore_unknown: bool = False,
    name: str | None = None,
) -> StreamingQuery:
    """Starts a query over a stream of events, resumed from `checkpoint` if there is one: made for short batches.

    Before a batch is run, `subscriptions` is asked for the snapshot to use, by the query's id and the batch's number;
    the schema is that snapshot's, so it may grow while the query runs. `sink` is called on the driver with the rows
    that match or are dead, and the number: the columns of `keep`, `subscriptions` (ids), `bindings` beside them where
    filters may call operators (a JSON object each, null without variables), and `violations`, null for events. It must
    fit into the driver's memory; limit the batch at the source. If the sink fails, or the machine
    does, the batch is run again with the same events.

    `stream` writes from the workers, to any sink, and is what large batches want.
    """
    require_stream(events, "pipeline.match")
    kept = kept_columns(events, keep, [])

    def run(batch: DataFrame, number: int) -> None:
        for setting, value in _BRISK.items():
            batch.sparkSession.conf.set(setting, value)
        query = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        snapshot = subscriptions(str(query), number)
        answer = sieved(
            batch,
            snapshot,
            keep=kept,
            every=False,
            check=True,
            json=json,
            ignore_unknown=ignore_unknown,
            attributes=False,
            bindings=None if snapshot.crew is None else "json",
        )
        sink(answer.toArrow(), number)

    return started(events, run, checkpoint, name=name)
