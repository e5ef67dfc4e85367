"""Index, schema and statistics of a command: opened from a folder of `tamis compile`, or compiled on the spot.

An index is opened from a folder that `tamis compile` wrote, or compiled on the spot.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import tamis
from tamis import pipeline
from tamis.analysis import Analysis
from tamis.cli.base.options import PARTLY_REFUSED, SAMPLE, STREAM, CommandError, Format
from tamis.cli.base.terminal import err, remark
from tamis.cli.work.events import EventFiles
from tamis.cli.work.spark import require_new, spark_session, tasks_shown, written
from tamis.cli.work.subscriptions import Refusal, read_subscriptions, report
from tamis.engine import Index, Operators
from tamis.matching.base.statistics import Statistics
from tamis.pipeline.indexes import opened_source
from tamis.pipeline.session import require_spark
from tamis.pipeline.table.subscription_table import SubscriptionTable
from tamis.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Algorithms:
    """Matcher, its options and the schedule of operators of a command; None: not given."""

    matcher: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    schedule: str | None = None

    def require_none(self, compiled: Path) -> None:
        """Refuses them for subscriptions that are compiled already."""
        given = {"--matcher": self.matcher, "--option": self.options, "--schedule": self.schedule}
        if named := [name for name, value in given.items() if value]:
            raise CommandError(
                f"{compiled} is compiled already, for the matcher and schedule in it: leave {' and '.join(named)} out, "
                "or compile its subscriptions again"
            )


USUAL = Algorithms()


@dataclass(frozen=True, slots=True)
class Compiled:
    """Index, and the subscriptions that were refused."""

    index: Index
    refused: list[Refusal]


def is_index(path: Path) -> bool:
    """True for a saved index: a folder, unless it holds a Parquet table of subscriptions."""
    return path.is_dir() and next(path.glob("*.parquet"), None) is None


def open_index(path: Path, operators: Operators | None = None) -> Index:
    """Opens a saved index, or the newest version of a table of subscriptions."""
    return (
        SubscriptionTable(path).index() if SubscriptionTable.is_table(path) else Index.open(path, operators=operators)
    )


def index_of(
    subscriptions: Path, schema: Schema | None, operators: Operators | None = None, how: Algorithms = USUAL
) -> Compiled:
    if is_index(subscriptions):
        how.require_none(subscriptions)
        index = open_index(subscriptions, operators)
        if schema is not None and schema != index.schema:
            raise CommandError(f"{subscriptions}: compiled for another schema; leave --schema out, or compile again")
        return Compiled(index, [])
    if schema is None:
        raise CommandError("there is no schema: give one with --schema, or a folder that tamis compile wrote")
    return compiled(subscriptions, schema, None, operators, how)


def compiled(
    subscriptions: Path,
    schema: Schema,
    statistics: Statistics | None,
    operators: Operators | None = None,
    how: Algorithms = USUAL,
) -> Compiled:
    with err.status(f"reading {subscriptions}"):
        read = read_subscriptions(subscriptions)
    with err.status(f"compiling {len(read.table):,} subscriptions"):
        index = tamis.compile(
            read.table,
            schema,
            how.matcher or "columnar",
            statistics,
            options=how.options,
            operators=operators,
            schedule=how.schedule or "adaptive",
        )
    refused = read.refused + [Refusal.of(id, error) for id, error in index.errors]
    if not len(index):
        remark(
            f"{subscriptions}: " + ("no subscription could be taken" if refused else "there is no subscription in it")
        )
    return Compiled(index, refused)


def statistics_of(events: list[Path] | None, schema: Schema) -> Statistics | None:
    """Statistics of the first valid events; None without files."""
    if not events:
        return None
    with err.status("looking at past events"):
        return Statistics.from_events(EventFiles(events, ignore_unknown=True).sample(schema, SAMPLE))


def schema_for(path: Path | None, subscriptions: Path, files: EventFiles) -> Schema | None:
    """Named schema; else None where the compiled subscriptions bring theirs; else inferred from Parquet events."""
    if path is not None:
        return Schema.load(path)
    inferred = None if is_index(subscriptions) else files.inferred_schema()
    if inferred is not None:
        remark("no --schema: inferred from the events' columns")
    return inferred


# Spark side of `tamis match --spark` and `tamis analyze --spark`.
#
# Paths are given in full: the JVM keeps the working folder it was started in, whatever ours is now.


@dataclass(frozen=True, slots=True)
class Subscribers:
    """Subscriptions in a form that pipelines take, and the refused ones."""

    source: pipeline.Subscribed
    schema: Schema
    refused: list[Refusal]


def subscribers_of(
    path: Path, schema: Schema | None, operators: Operators | None = None, how: Algorithms = USUAL
) -> Subscribers:
    """Subscriptions of a file, or of any compiled form in a folder, shards included."""
    if not is_index(path) or operators is not None:
        compiled = index_of(path, schema, operators, how)
        return Subscribers(compiled.index, compiled.index.schema, compiled.refused)
    how.require_none(path)
    source = opened_source(path)
    if schema is not None and schema != source.schema:
        raise CommandError(f"{path}: compiled for another schema; leave --schema out, or compile again")
    return Subscribers(source, source.schema, [])


def require_files(files: EventFiles) -> None:
    """Checks the event files, before Spark is started."""
    if any(path == STREAM for path, _ in files.files):
        raise CommandError("Spark cannot read standard input: write the events to a file first")


def checked_events(
    session: SparkSession, files: EventFiles, schema: Schema, ignore_unknown: bool
) -> pipeline.Validated:
    """Valid events, a column per attribute; and dead ones: `event` as text, `violations` and `reason`."""
    from pyspark.sql import functions

    checked = []
    for path, form in files.files:
        if form is Format.PARQUET:
            rows = pipeline.read_parquet(session, path.absolute())
            valid, dead = pipeline.validate(rows, schema)
            text = functions.to_json(functions.struct(*(functions.col(f"`{name}`") for name in rows.columns)))
            checked.append(pipeline.Validated(valid, dead.select(text.alias("event"), "violations", "reason")))
        else:
            rows = pipeline.read_json_lines(session, path.absolute())
            valid, dead = pipeline.validate(rows, schema, json="value", ignore_unknown=ignore_unknown)
            checked.append(pipeline.Validated(valid, dead.withColumnRenamed("value", "event")))
    return pipeline.Validated(_all_of([part.valid for part in checked]), _all_of([part.dead for part in checked]))


def _all_of(frames: list[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def match_on_spark(
    subscriptions: Path,
    files: EventFiles,
    schema: Schema | None,
    output: Path,
    dead_letters_to: Path | None,
    refused_to: Path | None,
    operators: Operators | None,
    how: Algorithms,
    *,
    arrays: bool,
    ignore_unknown: bool,
) -> None:
    """Matches on Spark and writes folders, as Spark does: JSON lines where the name ends so, Parquet otherwise."""
    require_spark()
    require_files(files)
    dead_to = require_new(output, dead_letters_to)
    found = subscribers_of(subscriptions, schema, operators, how)
    report(found.refused, refused_to)
    start = time.perf_counter()
    with spark_session() as session:
        valid, dead = checked_events(session, files, found.schema, ignore_unknown)
        matched = pipeline.match(valid, found.source, "arrays" if arrays else "pairs")
        if arrays:
            matched = matched.where("size(subscriptions) > 0")
        with tasks_shown(session, "matching"):
            rows = written(matched, output)
        with tasks_shown(session, "dead letters"):
            refused = 0 if dead.isEmpty() else written(dead, dead_to)
    seconds = time.perf_counter() - start
    what = "events that match" if arrays else "matches"
    told = f", see {dead_to}" if refused else ""
    remark(f"{rows:,} {what} in {output}, {refused:,} dead letters{told}; {seconds:.1f} s")
    if refused or found.refused:
        raise typer.Exit(PARTLY_REFUSED)


def analyze_on_spark(
    subscriptions: Path,
    files: EventFiles,
    schema: Schema | None,
    statistics: Statistics | None,
    *,
    ignore_unknown: bool,
) -> tuple[Analysis, list[Refusal], int]:
    """Analysis on Spark, with the refused subscriptions and the number of dead events."""
    require_spark()
    require_files(files)
    if is_index(subscriptions):
        found = subscribers_of(subscriptions, schema)
        source, under, refused = found.source, found.schema, found.refused
    elif schema is None:
        raise CommandError("there is no schema: give one with --schema, or a folder that tamis compile wrote")
    else:
        read = read_subscriptions(subscriptions)
        source, under, refused = read.table, schema, read.refused
    with spark_session() as session:
        given = source if is_index(subscriptions) else session.createDataFrame(source)
        history, dead = None, 0
        if files.files:
            history, bad = checked_events(session, files, under, ignore_unknown)
            with tasks_shown(session, "dead letters"):
                dead = bad.count()
        with tasks_shown(session, "looking at subscriptions"):
            answer = pipeline.analyze(given, under, history=history, statistics=statistics)
    remark(f"{answer.events:,} events, {dead:,} dead letters")
    return answer, refused + [Refusal.of(id, error) for id, error in answer.refused], dead
