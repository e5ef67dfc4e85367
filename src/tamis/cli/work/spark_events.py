"""Files of events and compiled subscriptions as Spark takes them.

Paths are given in full: the JVM keeps the working folder it was started in, whatever ours is now.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from tamis import pipeline
from tamis.cli.base.failures import CommandError
from tamis.cli.base.paths import STREAM, Format
from tamis.cli.work.events import EventFiles
from tamis.cli.work.indexes import index_of, is_index
from tamis.cli.work.refusals import Refusal
from tamis.engine import Operators
from tamis.pipeline.indexes import opened_source
from tamis.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Subscribers:
    """Subscriptions in a form that pipelines take, and those that were refused."""

    source: pipeline.Subscribed
    schema: Schema
    refused: list[Refusal]


def subscribers_of(path: Path, schema: Schema | None, operators: Operators | None = None) -> Subscribers:
    """From a file of subscriptions, or from whatever compiled form a folder holds, shards included."""
    if not is_index(path) or operators is not None:
        compiled = index_of(path, schema, operators)
        return Subscribers(compiled.index, compiled.index.schema, compiled.refused)
    source = opened_source(path)
    if schema is not None and schema != source.schema:
        raise CommandError(f"{path}: compiled for another schema; leave --schema out, or compile again")
    return Subscribers(source, source.schema, [])


def require_files(files: EventFiles) -> None:
    """Before Spark is started."""
    if any(path == STREAM for path, _ in files.files):
        raise CommandError("Spark cannot read standard input: write the events to a file first")


def checked_events(
    session: SparkSession, files: EventFiles, schema: Schema, ignore_unknown: bool
) -> pipeline.Validated:
    """The valid events, a column an attribute; and the dead ones: `event` as text, `violations` and `reason`."""
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
