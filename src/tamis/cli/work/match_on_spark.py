"""`tamis match --spark`: the same question, answered by a cluster or by all cores of this machine."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from tamis import pipeline
from tamis.cli.base.failures import PARTLY_REFUSED
from tamis.cli.base.terminal import remark
from tamis.cli.work.events import EventFiles
from tamis.cli.work.refusals import report
from tamis.cli.work.spark import spark_session, tasks_shown
from tamis.cli.work.spark_events import checked_events, require_files, subscribers_of
from tamis.cli.work.spark_results import require_new, written
from tamis.engine import Operators
from tamis.pipeline.session import require_spark
from tamis.schema import Schema


def match_on_spark(
    subscriptions: Path,
    files: EventFiles,
    schema: Schema | None,
    output: Path,
    dead_letters_to: Path | None,
    refused_to: Path | None,
    operators: Operators | None,
    *,
    arrays: bool,
    ignore_unknown: bool,
) -> None:
    """Writes folders, as Spark does: JSON lines where the name ends so, Parquet otherwise."""
    require_spark()
    require_files(files)
    dead_to = require_new(output, dead_letters_to)
    found = subscribers_of(subscriptions, schema, operators)
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
