"""`tamis analyze --spark`: the same questions, for sets and histories that want more than one process."""

from __future__ import annotations

from pathlib import Path

from tamis import pipeline
from tamis.analysis import Analysis
from tamis.cli.base.failures import CommandError
from tamis.cli.base.terminal import remark
from tamis.cli.work.events import EventFiles
from tamis.cli.work.indexes import is_index
from tamis.cli.work.refusals import Refusal
from tamis.cli.work.spark import spark_session, tasks_shown
from tamis.cli.work.spark_events import checked_events, require_files, subscribers_of
from tamis.cli.work.subscriptions import read_subscriptions
from tamis.matching.statistics import Statistics
from tamis.pipeline.session import require_spark
from tamis.schema import Schema


def analyze_on_spark(
    subscriptions: Path,
    files: EventFiles,
    schema: Schema | None,
    statistics: Statistics | None,
    *,
    ignore_unknown: bool,
) -> tuple[Analysis, list[Refusal], int]:
    """The analysis, what was refused, and how many events were dead."""
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
