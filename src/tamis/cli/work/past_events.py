"""What files of past events tell a command that is not about them: statistics of the first of them."""

from __future__ import annotations

from pathlib import Path

from tamis.cli.base.options import SAMPLE
from tamis.cli.base.terminal import err
from tamis.cli.work.events import EventFiles
from tamis.matching.statistics import Statistics
from tamis.schema import Schema


def statistics_of(events: list[Path] | None, schema: Schema) -> Statistics | None:
    """Of the first valid events, whatever else is in them; None where there are no files."""
    if not events:
        return None
    with err.status("looking at past events"):
        return Statistics.from_events(EventFiles(events, ignore_unknown=True).sample(schema, SAMPLE))
