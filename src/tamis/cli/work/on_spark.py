"""Spark side of `tamis match --spark` and `tamis analyze --spark`, and files of commands as Spark takes them.

Paths are given in full: the JVM keeps the working folder it was started in, whatever ours is now.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tamis import pipeline
from tamis.analysis import Analysis
from tamis.cli.base.options import PARTLY_REFUSED, STREAM, CommandError, Format
from tamis.cli.base.terminal import remark
from tamis.cli.work.events import EventFiles
from tamis.cli.work.indexes import USUAL, Algorithms, index_of, is_index
from tamis.cli.work.spark import require_new, spark_session, tasks_shown, written
from tamis.cli.work.subscriptions import Refusal, read_subscriptions, report
from tamis.engine import Operators
from tamis.matching.base.statistics import Statistics
from tamis.pipeline.indexes import opened_source
from tamis.pipeline.session import require_spark
from tamis.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
