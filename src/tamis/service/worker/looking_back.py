"""One backtest: what a filter would have matched in the event log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tamis import pipeline
from tamis.engine import Operators
from tamis.errors import PipelineError
from tamis.pipeline.workers.looking_back import EVENTS, MATCHES, SAMPLE
from tamis.schema import Schema
from tamis.service.base.event_body import published_event

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ID: Final = "it"
_SAMPLES: Final = 5
_MOST_SAMPLES: Final = 50
_WINDOWS: Final = 120
# Widths that read well on an axis, in seconds.
_WIDTHS: Final = (1, 5, 15, 60, 300, 900, 3_600, 10_800, 43_200, 86_400, 604_800)


@dataclass(frozen=True, slots=True)
class Asked:
    """A backtest as it was asked for. Events received from `since` to before `until` are looked at."""

    filter: str
    since: datetime | None
    until: datetime
    window: timedelta | None
    samples: int

    @classmethod
    def read(cls, request: dict[str, Any]) -> Asked:
        """From `filter`, and if given `since`, `until` (ISO), `window_seconds` and `samples`."""
        try:
            seconds = request.get("window_seconds")
            return cls(
                str(request["filter"]),
                None if request.get("since") is None else _moment(request["since"]),
                datetime.now(UTC) if request.get("until") is None else _moment(request["until"]),
                None if seconds is None else timedelta(seconds=float(seconds)),
                min(int(request.get("samples", _SAMPLES)), _MOST_SAMPLES),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise PipelineError(f"this is no backtest: {error}") from error


def look_back(records: DataFrame, schema: Schema, asked: Asked, operators: Operators | None = None) -> dict[str, Any]:
    """Counts over time and a few events that matched. Records have the columns of the event log.

    `illegible` are the events that are no longer, or not yet, valid under the schema.
    """
    chosen = chosen_records(records, asked)
    count, first, last = chosen.selectExpr("count(1)", "min(time)", "max(time)").collect()[0]
    window = asked.window or width_of(first, last)
    # The log's columns and the attributes come together in one frame, and attributes may have any name.
    time, body = _unused("time", schema), _unused("body", schema)
    named = chosen.selectExpr(f"time AS `{time}`", f"body AS `{body}`", "body")
    valid, _ = pipeline.validate(named, schema, "body", ignore_unknown=True)
    found = pipeline.backtest(
        valid,
        {_ID: asked.filter},
        schema,
        time_column=time,
        window=window,
        samples=asked.samples,
        keep=[time, body],
        operators=operators,
    )
    try:
        # What one filter's pass counted is about as large as the answer: one job fetches it, and Spark plans no more.
        tally = found.tally.toArrow()
    finally:
        found.close()
    volume, counts = _series(tally, EVENTS), _series(tally, MATCHES)
    events = sum(number for _, number in volume)
    sampled = tally.filter(pc.equal(tally["_kind"], SAMPLE)).sort_by("_window")
    return {
        "events": events,
        "illegible": count - events,
        "window_seconds": window.total_seconds(),
        "volume": volume,
        "counts": counts,
        "total": sum(number for _, number in counts),
        "samples": [published_event(text) for text in sampled[body].slice(0, asked.samples).to_pylist()],
        "errors": [str(error) for _, error in found.errors],
    }


def chosen_records(records: DataFrame, asked: Asked) -> DataFrame:
    """Records of the log that were received in the time asked about."""
    # The stream has the cores to itself but for this: one of them stays free of backtests, if there is one.
    records = records.coalesce(max(records.sparkSession.sparkContext.defaultParallelism - 1, 1))
    chosen = records.where(records["time"] < asked.until)
    return chosen if asked.since is None else chosen.where(records["time"] >= asked.since)


def _series(tally: pa.Table, kind: int) -> list[list[Any]]:
    """Start of the window and number, in order."""
    counted = tally.filter(pc.equal(tally["_kind"], kind)).group_by("_window").aggregate([("_count", "sum")])
    ordered = counted.sort_by("_window")
    starts = ordered["_window"].cast(pa.timestamp("us", "UTC")).to_pylist()
    numbers = ordered["_count_sum"].to_pylist()
    return [[start.isoformat(), number] for start, number in zip(starts, numbers, strict=True)]


def width_of(first: datetime | None, last: datetime | None) -> timedelta:
    """The narrowest of the usual widths that does not cut the time between into too many windows."""
    seconds = 0.0 if first is None or last is None else (last - first).total_seconds()
    return timedelta(seconds=next((width for width in _WIDTHS if seconds <= width * _WINDOWS), _WIDTHS[-1]))


def _unused(name: str, schema: Schema) -> str:
    """The name after as many underscores as no attribute has."""
    unused = f"_{name}"
    while any(taken == unused or taken.startswith(f"{unused}.") for taken in schema.attributes):
        unused = f"_{unused}"
    return unused


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
