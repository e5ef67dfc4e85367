"""Which schema a command works under."""

from __future__ import annotations

from pathlib import Path

from tamis.cli.base.terminal import remark
from tamis.cli.work.events import EventFiles
from tamis.cli.work.indexes import is_index
from tamis.schema import Schema


def schema_for(path: Path | None, subscriptions: Path, files: EventFiles) -> Schema | None:
    """The one that is named; else none where the compiled subscriptions bring theirs; else what Parquet events show."""
    if path is not None:
        return Schema.load(path)
    inferred = None if is_index(subscriptions) else files.inferred_schema()
    if inferred is not None:
        remark("no --schema: inferred from the events' columns")
    return inferred
