"""`stream`: a query that validates, matches and delivers micro-batch by micro-batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tamis.engine import Index, Operators
from tamis.errors import PipelineError
from tamis.pipeline.frames import BINDINGS, SUBSCRIPTIONS, VIOLATIONS, chosen
from tamis.pipeline.indexes import Subscribed, opened_source, snapshot_of
from tamis.pipeline.match import exploded
from tamis.pipeline.notifications import EVENT_KEY, with_event_key, with_notification
from tamis.pipeline.queries import require_stream, started
from tamis.pipeline.sieved import sieved
from tamis.pipeline.table.snapshot import Snapshot
from tamis.pipeline.table.subscription_table import SubscriptionTable
from tamis.pipeline.validate import with_reason
from tamis.pipeline.workers.dead_count import DeadCount
from tamis.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from tamis.pipeline.queries import Sink

# For the query's own session, a copy of the user's: a micro-batch has nothing to adapt, and is gone before compression
# pays. Together these are a fifth of a small batch's time.
_BRISK = {"spark.sql.adaptive.enabled": "false", "spark.sql.inMemoryColumnarStorage.compressed": "false"}


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

    def run(batch: DataFrame, number: int) -> None:
        for setting, value in _BRISK.items():
            batch.sparkSession.conf.set(setting, value)
        dead = DeadCount(batch.sparkSession.sparkContext)
        answer = sieved(
            with_event_key(batch, key),
            fixed or _noted(source, batch, number),
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

    return started(events, run, checkpoint, trigger=trigger, name=name)


def _kept(columns: Sequence[str], schema: Schema, json: str | None, keep: Sequence[str] | None) -> list[str]:
    """The event's columns in a match."""
    there = list(columns) if json is None else [name for name in columns if name != json] + list(schema.attributes)
    unknown = [name for name in keep or () if name not in there]
    if unknown:
        raise PipelineError(f"there is no column {unknown[0]!r} to keep; there are {', '.join(there)}")
    return there if keep is None else list(keep)


def _noted(table: object, batch: DataFrame, number: int) -> Snapshot:
    """The version for this batch, on disk before anything is run with it."""
    query = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    if not isinstance(table, SubscriptionTable) or query is None:
        raise PipelineError("only micro-batches of a query follow a table of subscriptions")
    return table.snapshot(table.note(query, number))
