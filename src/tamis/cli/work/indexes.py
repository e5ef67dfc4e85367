"""Index, schema and statistics of a command, subscriptions for pipelines, and matching and analysis on Spark.

An index is opened from a folder that `tamis compile` wrote, or compiled on the spot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tamis
from tamis.cli.base.options import SAMPLE, CommandError
from tamis.cli.base.terminal import err, remark
from tamis.cli.work.events import EventFiles
from tamis.cli.work.subscriptions import Refusal, read_subscriptions
from tamis.engine import Index, Operators
from tamis.matching.base.statistics import Statistics
from tamis.pipeline.table.subscription_table import SubscriptionTable
from tamis.schema import Schema


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
