"""An analysis on the terminal: a summary, the worst of each kind with what to do, and what is asked for most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from rich.console import Group
from rich.table import Column, Table
from rich.text import Text

from tamis.analysis import Analysis
from tamis.analysis.findings import FINDINGS
from tamis.cli.base.terminal import PartedTable, out

_MEANING = {
    "contradictory": "no event can match them",
    "always true": "every event matches them",
    "duplicate": "ask for the same as another one",
    "covered": "another one matches all that they match",
    "silent": "matched none of the events",
}
_TO_DO = {
    "contradictory": "correct them, or remove them",
    "always true": "ask for something, or take the stream itself",
    "duplicate": "keep one of each",
    "covered": "the other one alone would do",
    "silent": "correct them, or let them expire",
}
_COLOURS = {"contradictory": "red", "always true": "red", "duplicate": "yellow", "covered": "yellow", "silent": "cyan"}


def show(analysis: Analysis, top: int, output: Path | None) -> None:
    """Prints it all."""
    _show_counts(analysis)
    for name in FINDINGS:
        _show_examples(analysis, name, top)
    _show_dearest(analysis, top)
    _show_hot(analysis, top)
    undecided = pc.sum(analysis.subscriptions["undecided"]).as_py() or 0
    if undecided:
        out.print(f"of {undecided:,} it was not found out whether another one covers them", style="dim")
    if output is None and len(analysis) > top:
        out.print("--output findings.parquet writes what was found of each subscription", style="dim")


def _show_counts(analysis: Analysis) -> None:
    count = len(analysis)
    out.print(Text(f"{count:,} subscriptions", "bold"))
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column("", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True, style="dim")
    table.add_column("", style="dim")
    for name, found in analysis.counts.items():
        if name == "silent" and not analysis.events:
            continue
        style = _COLOURS[name] if found else "dim"
        meaning = f"{_MEANING[name]}" + (f" ({analysis.events:,})" if name == "silent" else "")
        table.add_row(Text(name, style), f"{found:,}", _share(found, count), meaning)
    out.print(table)
    said = (
        f"{analysis.superfluous:,} of them ({_share(analysis.superfluous, count)}) could go without anything being lost"
    )
    out.print(Text(said, "green" if not analysis.superfluous else "bold"))


def _show_examples(analysis: Analysis, name: str, top: int) -> None:
    rows = analysis.examples(name, min(top, 5))
    if not rows:
        return
    more = f"  {len(rows)} of {analysis.counts[name]:,}" if analysis.counts[name] > len(rows) else ""
    out.print()
    out.print(Text.assemble((name, f"bold {_COLOURS[name]}"), (f"{more}  {_TO_DO[name]}", "dim")))
    other = {"duplicate": "duplicate_of", "covered": "covered_by"}.get(name)
    texts = analysis.filters(row[other] for row in rows) if other else {}
    columns = [_subscription("subscription"), _filter("filter")]
    if other:
        columns += [_subscription("same as" if name == "duplicate" else "covered by"), _filter("its filter")]
    table = PartedTable(*columns)
    for row in rows:
        beside = (Text(row[other]), Text(texts[row[other]])) if other else ()
        table.add_row(Text(row["id"]), Text(row["filter"]), *beside)
    out.print(table)


def _show_dearest(analysis: Analysis, top: int) -> None:
    rows = [row for row in analysis.dearest(top) if row["nanoseconds_per_event"] > 0]
    if not rows:
        return
    total = _time(pc.sum(analysis.subscriptions["nanoseconds_per_event"]).as_py())
    out.print()
    out.print(Text.assemble(("dearest to match", "bold"), (f"  {total} an event for all of them", "dim")))
    numbers = (Column(title, justify="right", no_wrap=True) for title in ("an event", "share", "looked at", "matches"))
    advice = Column("filter, and what to do", min_width=44)
    table = PartedTable(_subscription("subscription"), *numbers, advice)
    for row in rows:
        told = Text(row["filter"].replace("\n", " "), no_wrap=True, overflow="ellipsis")
        table.add_row(
            Text(row["id"]),
            _time(row["nanoseconds_per_event"]),
            f"{row['share']:.1%}",
            f"{row['candidates_per_event']:.1%}",
            f"{_matches(row, analysis.events):.1%}",
            Group(told, Text(f"→ {row['reason']}", "dim")),
        )
    out.print(table)


def _show_hot(analysis: Analysis, top: int) -> None:
    count = max(1, len(analysis))
    if not analysis.attributes.num_rows:
        return
    out.print()
    table = PartedTable(
        Column("attribute", no_wrap=True),
        Column("named by", justify="right", no_wrap=True),
        Column("", justify="right", style="dim", no_wrap=True),
        Column("different conditions", justify="right"),
        Column("in events", justify="right", style="dim"),
    )
    for row in analysis.attributes.slice(0, top).to_pylist():
        presence = "" if row["presence"] is None else f"{row['presence']:.0%}"
        named = row["subscriptions"]
        table.add_row(Text(row["attribute"]), f"{named:,}", _share(named, count), f"{row['conditions']:,}", presence)
    out.print(table)
    out.print()
    table = PartedTable(
        Column("condition", no_wrap=True, max_width=min(60, out.width - 20), overflow="ellipsis"),
        Column("in", justify="right", no_wrap=True),
        Column("", justify="right", style="dim", no_wrap=True),
    )
    for row in analysis.predicates.slice(0, top).to_pylist():
        table.add_row(Text(row["condition"]), f"{row['subscriptions']:,}", _share(row["subscriptions"], count))
    out.print(table)


def _subscription(heading: str) -> Column:
    return Column(heading, no_wrap=True, max_width=24, overflow="ellipsis")


def _filter(heading: str) -> Column:
    return Column(heading, no_wrap=True, overflow="ellipsis", min_width=20)


def _matches(row: dict[str, Any], events: int) -> float:
    """The share of events that it matched, or may be expected to."""
    if row["matches"] is not None and events:
        return float(row["matches"] / events)
    return float(row["matches_per_event"])


def _share(part: int, whole: int) -> str:
    return f"{part / max(1, whole):.1%}"


def _time(nanoseconds: float) -> str:
    if nanoseconds >= 1e6:
        return f"{nanoseconds / 1e6:,.1f} ms"
    return f"{nanoseconds / 1e3:,.1f} µs" if nanoseconds >= 1e3 else f"{nanoseconds:.1f} ns"
