"""Streaming queries that match micro-batch by micro-batch: `stream`, for any sinks, and `sift`, for short batches.

A query is a function that is run on every micro-batch, from a checkpoint on: it takes the version of the subscriptions
for the batch, matches the events, and passes the answer to a sink.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa

from tamis.engine import Index, Operators
from tamis.errors import PipelineError
from tamis.pipeline.events import with_reason
from tamis.pipeline.frames import BINDINGS, SUBSCRIPTIONS, VIOLATIONS, chosen, kept_columns, sieved
from tamis.pipeline.indexes import Subscribed, opened_source, snapshot_of
from tamis.pipeline.match import EVENT_KEY, exploded, with_event_key, with_notification
from tamis.pipeline.table.subscription_table import SubscriptionTable
from tamis.pipeline.table.subscriptions import Snapshot
from tamis.pipeline.workers.inputs import DeadCount
from tamis.pipeline.workers.packing import Packing
from tamis.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    Sink = Callable[[DataFrame, int], object]

# Settings of the query's own session, a copy of the user's: a micro-batch has nothing to adapt to.
_BRISK: Final = {"spark.sql.adaptive.enabled": "false"}
# No compression: an answer that is cached for two sinks is gone before it pays. Together a fifth of a small batch's
# time.
_BRISK_KEPT: Final = {**_BRISK, "spark.sql.inMemoryColumnarStorage.compressed": "false"}
# No code generation: for an answer that is collected at once, compiling takes longer than running.
_BRISK_COLLECTED: Final = {**_BRISK, "spark.sql.codegen.wholeStage": "false"}


def stream(
    events: DataFrame,
    subscriptions: Subscribed,
    *,
    matches: Sink,
    dead_letters: Sink,
    checkpoint: str | Path,
    json: str | None = None,
    key: Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    output: Literal["pairs", "arrays"] = "pairs",
    ignore_unknown: bool = False,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
    folder: str | Path | None = None,
    operators: Operators | None = None,
    bindings: bool | None = None,
) -> StreamingQuery:
    """Starts a query over a stream of events, resumed from `checkpoint` if there is one.

    Each micro-batch is checked and matched in one pass. `matches` and `dead_letters` are called with the batch's answer
    and its number, dead letters only if there are any (`to_files` and `to_kafka` make such sinks). If either fails, or
    the machine does, the batch is run again, with the same events and the same version of the subscriptions: what a
    sink sees the second time has the same `notification`s (event key and subscription id) as the first.

    A match has the columns of `keep` (all of the event's unless said otherwise; with `json`, the attributes instead of
    the text), `event_key`, and `subscription` and `notification`, or with `output="arrays"` the `subscriptions` of the
    event, empty ones too. `json`, `ignore_unknown`: see `validate`. `key`: the columns that tell events apart, see
    `with_event_key`. A `SubscriptionTable` is followed: a change is seen from the next micro-batch on. `trigger` is
    what Spark's own takes, such as `{"processingTime": "1 second"}` or `{"availableNow": True}`. `operators` and
    `bindings`: see `match`.
    """
    require_stream(events, "pipeline.match")
    source = opened_source(subscriptions, operators)
    fixed = None if isinstance(source, SubscriptionTable) else snapshot_of(source, events.sparkSession, folder)
    kept = _kept(events.columns, source.schema, json, keep)
    calls = (source.calling if isinstance(source, Index) else source.crew) is not None
    bound = [BINDINGS] if (calls if bindings is None else bindings) else []

    def deliver(batch: DataFrame, snapshot: Snapshot, number: int) -> None:
        dead = DeadCount(batch.sparkSession.sparkContext)
        answer = sieved(
            with_event_key(batch, key),
            snapshot,
            keep=None,
            every=output == "arrays",
            check=True,
            json=json,
            ignore_unknown=ignore_unknown,
            dead=dead,
            bindings="map" if bound else None,
        ).persist()
        try:
            found = chosen(answer.where(f"{VIOLATIONS} IS NULL"), [*kept, EVENT_KEY, SUBSCRIPTIONS, *bound])
            matches(with_notification(exploded(found)) if output == "pairs" else found, number)
            there_are = dead.any(answer)
            if there_are is not False:
                refused = answer.where(f"{VIOLATIONS} IS NOT NULL")
                letters = chosen(refused, [*events.columns, EVENT_KEY, VIOLATIONS])
                # A sink that did not look at every row leaves it open whether there are any.
                if there_are or not letters.isEmpty():
                    dead_letters(with_reason(letters), number)
        finally:
            answer.unpersist()

    def version(query: str | None, number: int) -> Snapshot:
        return fixed or _noted(source, query, number)

    return _sieving(events, version, deliver, _BRISK_KEPT, checkpoint, trigger=trigger, name=name)


def sift(
    events: DataFrame,
    subscriptions: Callable[[str, int], Snapshot],
    *,
    sink: Callable[[pa.Table, int], object],
    checkpoint: str | Path,
    json: str,
    keep: Sequence[str],
    ignore_unknown: bool = False,
    judged: bool = False,
    name: str | None = None,
    packing: Callable[[Snapshot, int], Packing | None] = lambda snapshot, number: None,
) -> StreamingQuery:
    """Starts a query over a stream of events, resumed from `checkpoint` if there is one: made for short batches.

    Before a batch is run, `subscriptions` is asked for the snapshot to use, by the query's id and the batch's number;
    the schema is that snapshot's, so it may grow while the query runs. `sink` is called on the driver with the rows
    that match or are dead, and the number: the columns of `keep`, `subscriptions` (ids), `bindings` beside them where
    filters may call operators (a JSON object each, null without variables), and `violations`, null for events. It must
    fit into the driver's memory; limit the batch at the source. If the sink fails, or the machine
    does, the batch is run again with the same events.

    Where `packing` says how, matches come as segments of the match log in place of lists, in `segment` or
    `segment_file`, in rows of their own: for ids that are texts of numbers, and the records of an event log.

    `stream` writes from the workers, to any sink, and is what large batches want.
    """
    require_stream(events, "pipeline.match")
    kept = kept_columns(events, keep, [])

    def deliver(batch: DataFrame, snapshot: Snapshot, number: int) -> None:
        answer = sieved(
            batch,
            snapshot,
            keep=kept,
            every=False,
            check=True,
            json=json,
            ignore_unknown=ignore_unknown,
            judged=judged,
            attributes=False,
            bindings=None if snapshot.crew is None else "json",
            packing=None if snapshot.crew is not None else packing(snapshot, number),
        )
        sink(answer.toArrow(), number)

    def version(query: str | None, number: int) -> Snapshot:
        return subscriptions(str(query), number)

    return _sieving(events, version, deliver, _BRISK_COLLECTED, checkpoint, name=name)


def _sieving(
    events: DataFrame,
    version: Callable[[str | None, int], Snapshot],
    deliver: Callable[[DataFrame, Snapshot, int], None],
    settings: Mapping[str, str],
    checkpoint: str | Path,
    *,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> StreamingQuery:
    """Starts a query that asks for the `version` of each micro-batch, by the query's id and the batch's number, and
    matches the batch with it.
    """

    def run(batch: DataFrame, number: int) -> None:
        for setting, value in settings.items():
            batch.sparkSession.conf.set(setting, value)
        query = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        deliver(batch, version(query, number), number)

    return started(events, run, checkpoint, trigger=trigger, name=name)


def require_stream(events: DataFrame, otherwise: str) -> None:
    """Refuses batch DataFrames; `otherwise` names the function for those."""
    if not events.isStreaming:
        raise PipelineError(f"these events are no stream: use {otherwise}, or read them with stream=True")


def started(
    frame: DataFrame,
    run: Callable[[DataFrame, int], None],
    checkpoint: str | Path,
    *,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> StreamingQuery:
    """Starts a query that calls a function on every micro-batch and its number, resumed from `checkpoint`."""
    writer = frame.writeStream.foreachBatch(run).option("checkpointLocation", str(checkpoint))
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    return writer.start()


def to_files(path: str | Path, form: str = "parquet", **options: Any) -> Callable[[DataFrame, int], None]:
    """Sink that writes each batch to a folder of its own, `<path>/batch=<number>`, as parquet, json or the like.

    A batch that is run again overwrites what it wrote before, so nothing is there twice. Read under `path`, the rows
    have the number in the column `batch`.
    """

    def write(rows: DataFrame, batch: int) -> None:
        rows.write.mode("overwrite").options(**options).format(form).save(f"{path}/batch={batch}")

    return write


def _kept(columns: Sequence[str], schema: Schema, json: str | None, keep: Sequence[str] | None) -> list[str]:
    """Event columns of a match."""
    there = list(columns) if json is None else [name for name in columns if name != json] + list(schema.attributes)
    unknown = [name for name in keep or () if name not in there]
    if unknown:
        raise PipelineError(f"there is no column {unknown[0]!r} to keep; there are {', '.join(there)}")
    return there if keep is None else list(keep)


def _noted(table: object, query: str | None, number: int) -> Snapshot:
    """Version for this batch, recorded on disk before anything is run with it."""
    if not isinstance(table, SubscriptionTable) or query is None:
        raise PipelineError("only micro-batches of a query follow a table of subscriptions")
    return table.snapshot(table.note(query, number))
