"""Backtests on Spark: the matches of subscriptions in a history, counted by time window, with samples and a plot."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tamis.engine import Operators
from tamis.engine import compile as compile_index
from tamis.errors import PipelineError, TamisError
from tamis.pipeline.compile import bind_frame, build, calling_part
from tamis.pipeline.frames import attribute_columns, chosen, kept_columns, mapped
from tamis.pipeline.indexes import Subscribed, opened_source, snapshot_of
from tamis.pipeline.table.calling import Report
from tamis.pipeline.table.subscriptions import listed
from tamis.pipeline.workers.jobs import EVENTS, ILLEGIBLE, MATCHES, SAMPLE, LookingBack
from tamis.schema import Schema

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pyspark.sql import DataFrame


# Internal column names, different from those that users see: an event may have a column `kind`.
_TALLY = ("_kind", "_subscription", "_window", "_count")
_MOST_SAMPLES = 255
_UNITS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}


@dataclass(frozen=True)
class Backtest:
    """Matches of subscriptions in a history, from one pass over it.

    The frames are made of what the pass counted, which Spark keeps until `close`. A window is named by its start;
    events without a time are in the window null. `errors` are the subscriptions that were refused, by id.
    """

    tally: DataFrame
    window: timedelta
    examples: int
    errors: list[tuple[str, TamisError]]

    @cached_property
    def events(self) -> int:
        """Number of events that were matched."""
        return self._total(EVENTS)

    @cached_property
    def illegible(self) -> int:
        """Number of events left out, because they have values of no domain; `validate` tells which."""
        return self._total(ILLEGIBLE)

    @property
    def volume(self) -> DataFrame:
        """Number of events: columns window, events."""
        return self._of(EVENTS).groupBy("_window").agg({"_count": "sum"}).toDF("window", "events")

    @property
    def counts(self) -> DataFrame:
        """Number of matches, where there are any: columns subscription, window, matches."""
        counted = self._of(MATCHES).groupBy("_subscription", "_window").agg({"_count": "sum"})
        return counted.toDF("subscription", "window", "matches")

    @property
    def totals(self) -> DataFrame:
        """Total matches: columns subscription, matches, and the first and last window with any; the most frequent
        first.
        """
        from pyspark.sql import functions

        found = self._of(MATCHES).groupBy(functions.col("_subscription").alias("subscription"))
        every = found.agg(
            functions.sum("_count").alias("matches"),
            functions.min("_window").alias("first"),
            functions.max("_window").alias("last"),
        )
        return every.orderBy(functions.desc("matches"), "subscription")

    @property
    def samples(self) -> DataFrame:
        """Sample events: subscription, and the columns of an event it matched; a few of each, earliest first."""
        from pyspark.sql import Window, functions

        of_each = Window.partitionBy("_subscription").orderBy("_window")
        ranked = self._of(SAMPLE).withColumn("_rank", functions.row_number().over(of_each))
        columns = [name for name in self.tally.columns if name not in _TALLY]
        few = chosen(ranked.where(f"_rank <= {self.examples}"), ["_subscription", *columns])
        return few.toDF("subscription", *columns)

    def plot(self, path: str | Path | None = None, top: int = 8) -> Figure:
        """Plots matches over time, in all and of the most frequent subscriptions; writes a .png, .svg or .pdf file."""

        return plot(self, path, top)

    def close(self) -> None:
        """Releases the counts that Spark keeps."""
        self.tally.unpersist()

    def _of(self, kind: int) -> DataFrame:
        return self.tally.where(f"_kind = {kind}")

    def _total(self, kind: int) -> int:
        return int(self._of(kind).agg({"_count": "sum"}).collect()[0][0] or 0)


def backtest(
    history: DataFrame,
    subscriptions: Subscribed | Mapping[str, str] | pa.Table | DataFrame,
    schema: Schema | None = None,
    *,
    time_column: str | None = None,
    window: str | timedelta = "1 day",
    samples: int = 3,
    keep: Sequence[str] | None = None,
    folder: str | Path | None = None,
    operators: Operators | None = None,
) -> Backtest:
    """Runs a backtest: matches a history with subscriptions that need not be in use: `{id: filter}` or a table of them
    with a `schema`, or an index in any form that `match` takes.

    Counts by subscription and by window of `time_column` (a timestamp or a date), `window` wide (`"15 minutes"`, or a
    timedelta), and keeps up to `samples` events of each subscription, with the columns of `keep` (all unless said
    otherwise). One pass over the history, which is made before this returns. Filters may call the `operators`; an index
    in memory has its own.
    """
    from pyspark.sql.types import IntegerType, LongType, StringType, StructField, TimestampType

    wide = window_width(window)
    if not 0 <= samples <= _MOST_SAMPLES:
        raise PipelineError(f"{samples} samples cannot be kept of each subscription; 0 to {_MOST_SAMPLES} can")
    if time_column is not None:
        _require_time(history, time_column)
    compiled, errors = _compiled(subscriptions, schema, operators)
    snapshot = snapshot_of(compiled, history.sparkSession, folder)
    attributes = attribute_columns(history, snapshot.schema)
    kept = kept_columns(history, keep, ["subscription", *_TALLY]) if samples else []
    columns = [name for name in history.columns if name in kept or name in attributes or name == time_column]
    worker = LookingBack(
        snapshot,
        tuple(columns),
        tuple(map(columns.index, attributes)),
        tuple(map(columns.index, kept)),
        None if time_column is None else columns.index(time_column),
        wide // timedelta(microseconds=1),
        samples,
        None if snapshot.crew is None else Report.of(history.sparkSession.sparkContext),
    )
    types = (IntegerType(), StringType(), TimestampType(), LongType())
    fields = [StructField(name, kind) for name, kind in zip(_TALLY, types, strict=True)]
    tally = mapped(history, columns, worker.run, [*fields, *(history.schema[name] for name in kept)]).persist()
    tally.count()
    return Backtest(tally, wide, samples, errors)


def _require_time(history: DataFrame, column: str) -> None:
    from pyspark.sql.types import DateType, TimestampNTZType, TimestampType

    if column not in history.columns:
        raise PipelineError(f"there is no column {column!r} to tell the time; there are {', '.join(history.columns)}")
    kind = history.schema[column].dataType
    if not isinstance(kind, DateType | TimestampNTZType | TimestampType):
        raise PipelineError(
            f"the column {column!r} holds {kind.simpleString()}, which tells no time; cast it to a timestamp"
        )


def window_width(window: str | timedelta) -> timedelta:
    """Width of a window: a timedelta, or a text such as `1 hour` or `15 minutes`."""
    if isinstance(window, timedelta):
        wide = window
    else:
        told = re.fullmatch(r"\s*(\d+)?\s*([a-z]+?)s?\s*", window.lower())
        if told is None or told[2] not in _UNITS:
            raise PipelineError(f"{window!r} is no width of a window; '15 minutes' is, in {', '.join(_UNITS)}s")
        wide = timedelta(seconds=int(told[1] or 1) * _UNITS[told[2]])
    if wide <= timedelta(0):
        raise PipelineError("a window must be wider than nothing")
    return wide


def _compiled(
    subscriptions: Subscribed | Mapping[str, str] | pa.Table | DataFrame,
    schema: Schema | None,
    operators: Operators | None,
) -> tuple[Subscribed, list[tuple[str, TamisError]]]:
    if isinstance(subscriptions, Subscribed):
        return opened_source(subscriptions, operators), []
    if schema is None:
        raise PipelineError("subscriptions in the form of texts need the schema they are written for: schema=…")
    if isinstance(subscriptions, Mapping | pa.Table | pa.RecordBatch):
        given = listed(subscriptions)
        index = compile_index(given.rows, schema, operators=operators)
        return index, [*given.refused, *index.errors]
    calling = calling_part(operators, schema)
    rows, bound, refused = bind_frame(subscriptions, schema, calling)
    index = build(rows, bound, schema, None, calling)
    return index, [*refused, *index.errors]


# Plot of a backtest: matches over time, in all and by subscription.

FORMS = (".png", ".svg", ".pdf")

# Windows without matches are drawn as such, unless there are too many to show.
_DRAWN = 5_000
_SHOWN_NAME = 28

Series = Mapping[datetime, int]


def plot(backtest: Backtest, path: str | Path | None, top: int) -> Figure:
    """Plots two panels over one time axis: all matches, and the most frequent subscriptions one by one."""
    if path is not None and Path(path).suffix.lower() not in FORMS:
        raise PipelineError(f"a plot is written to a file that ends in {' or '.join(FORMS)}, and {path} does not")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PipelineError("plots need matplotlib: pip install 'tamis[spark]'") from error

    figure = Figure(figsize=(10, 6.5), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    every, each = _series(backtest, top)
    times = _times(every, backtest.window)
    _draw_all(above, times, every, backtest)
    _draw_each(figure, below, times, each, backtest.window)
    matched = sum(every.values())
    figure.suptitle(f"{matched:,} matches in {backtest.events:,} events, by {_worded(backtest.window)}")
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _series(backtest: Backtest, top: int) -> tuple[Series, dict[str, Series]]:
    """Matches by window: of all subscriptions, and of the most frequent ones."""
    counts = backtest.counts.where("window IS NOT NULL").persist()
    try:
        every = {row[0]: row[1] for row in counts.groupBy("window").agg({"matches": "sum"}).collect()}
        frequent = [row["subscription"] for row in backtest.totals.limit(top).collect()]
        each: dict[str, dict[datetime, int]] = {name: defaultdict(int) for name in frequent}
        for name, window, matches in counts.where(counts.subscription.isin(frequent)).collect():
            each[name][window] = matches
    finally:
        counts.unpersist()
    return every, dict(each)


def _times(every: Series, window: timedelta) -> list[datetime]:
    if not every:
        return []
    first, last = min(every), max(every)
    steps = (last - first) // window
    return [first + step * window for step in range(steps + 1)] if steps < _DRAWN else sorted(every)


def _draw_all(axes: Axes, times: list[datetime], every: Series, backtest: Backtest) -> None:
    from matplotlib.ticker import MaxNLocator

    heights = [every.get(time, 0) for time in times]
    axes.bar(times, heights, width=backtest.window * 0.9, align="edge", color="#3b6ea5")  # type: ignore[arg-type]
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("matches")
    axes.set_title("all subscriptions", loc="left", fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_each(
    figure: Figure, axes: Axes, times: list[datetime], each: Mapping[str, Series], window: timedelta
) -> None:
    """Draws a row per subscription, darker where it matched more: lines would hide one another."""
    from matplotlib.colors import PowerNorm

    axes.set_title("the most frequent", loc="left", fontsize="medium")
    axes.tick_params(axis="x", rotation=30)
    if not times or not each:
        return
    cells = [[series.get(time, 0) for time in times] for series in each.values()]
    edges = [*times, times[-1] + window]
    # By the square root: one busy window would else leave all others pale.
    shades = PowerNorm(0.5, vmin=0, vmax=max(map(max, cells)))
    drawn = axes.pcolormesh(edges, range(len(each) + 1), cells, cmap="Blues", norm=shades)  # type: ignore[arg-type]
    axes.set_yticks([row + 0.5 for row in range(len(each))], [_shortened(name) for name in each])
    axes.invert_yaxis()
    figure.colorbar(drawn, ax=axes, label="matches")


def _shortened(name: str) -> str:
    return name if len(name) <= _SHOWN_NAME else name[: _SHOWN_NAME - 1] + "…"


def _worded(window: timedelta) -> str:
    """Duration in words: `2:00:00` as `2 hours`."""
    seconds = window.total_seconds()
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        if seconds >= size and seconds % size == 0:
            number = int(seconds // size)
            return unit if number == 1 else f"{number} {unit}s"
    return f"{seconds} seconds"
