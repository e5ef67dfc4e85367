"""Subscriptions that were refused: told to the user, and written to a table with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tamis.cli.base.terminal import warn
from tamis.cli.work.tables import write_table
from tamis.errors import FilterError, TamisError

_TOLD = 10


@dataclass(frozen=True, slots=True)
class Refusal:
    """One subscription that could not be taken, and why; `filter[start:end]` is the part at fault."""

    id: str
    filter: str
    error: str
    message: str
    start: int | None = None
    end: int | None = None

    @classmethod
    def of(cls, id: str, error: TamisError) -> Refusal:
        if isinstance(error, FilterError):
            return cls(id, error.text, type(error).__name__, error.message, error.start, error.end)
        return cls(id, "", type(error).__name__, str(error))

    def __str__(self) -> str:
        if self.start is None or self.end is None:
            return f"{self.error}: {self.message}"
        return f"{self.error}: {FilterError(self.message, self.filter, self.start, self.end)}"


def report(refusals: Sequence[Refusal], path: Path | None) -> None:
    """Tells of the first few; all of them go to `path`, where one is given."""
    for refusal in refusals[:_TOLD]:
        name = f"subscription {refusal.id}" if refusal.id else "a subscription"
        warn(f"{name} refused: {refusal}")
    left = len(refusals) - _TOLD
    if left > 0:
        warn(f"... and {left:,} more" + ("" if path else "; --refused FILE writes them all"))
    if path is not None:
        write_table(_table(refusals), path)


def _table(refusals: Sequence[Refusal]) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([r.id for r in refusals], pa.string()),
            "filter": pa.array([r.filter for r in refusals], pa.string()),
            "error": pa.array([r.error for r in refusals], pa.string()),
            "message": pa.array([r.message for r in refusals], pa.string()),
            "start": pa.array([r.start for r in refusals], pa.int64()),
            "end": pa.array([r.end for r in refusals], pa.int64()),
        }
    )
