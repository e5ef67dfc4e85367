"""`tamis analyze`: finds superfluous, expensive and never matching subscriptions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow.compute as pc
import typer
from rich.console import Group
from rich.table import Column, Table
from rich.text import Text

from tamis.analysis import Analysis
from tamis.analysis.findings import FINDINGS
from tamis.cli.base.options import (
    PARTLY_REFUSED,
    BatchRowsOption,
    CommandError,
    DeadLettersOption,
    IgnoreUnknownOption,
    OperatorsOption,
    RefusedOption,
    SchemaOption,
    SubscriptionsArgument,
    operators_of,
    require_writable,
)
from tamis.cli.base.terminal import PartedTable, err, out, progress_bar, remark

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.analysis import Analysis
    from tamis.cli.work.events import EventFiles
    from tamis.cli.work.indexes import Compiled
    from tamis.cli.work.subscriptions import Refusal
    from tamis.cli.work.tables import DeadLetters
    from tamis.matching.base.statistics import Statistics
    from tamis.schema import Schema


def analyze(
    subscriptions: SubscriptionsArgument,
    events: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[EVENTS]...",
            help="Past events, as for [bold]tamis match[/bold]: they tell which subscriptions matched none, and what "
            "each costs to match.",
            show_default=False,
        ),
    ] = None,
    schema: SchemaOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the findings to this file, a row per subscription (.parquet, .csv, .jsonl).",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Write a plot to this file (.png, .svg, .pdf).", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of subscriptions to show of each kind.")] = 8,
    statistics: Annotated[
        Path | None,
        typer.Option(
            "--statistics",
            metavar="FILE",
            help="Statistics of the stream (JSON, as saved by Statistics.save), to expect costs from.",
            show_default=False,
        ),
    ] = None,
    spark: Annotated[bool, typer.Option("--spark", help="Run on Spark (needs the spark extra and Java 17+).")] = False,
    dead_letters_to: DeadLettersOption = None,
    refused_to: RefusedOption = None,
    operators: OperatorsOption = None,
    ignore_unknown: IgnoreUnknownOption = False,
    batch_rows: BatchRowsOption = 10_000,
) -> None:
    """Find superfluous, expensive and never matching subscriptions.

    Reports duplicate, contradictory, always true and covered subscriptions, the most expensive ones, the most
    frequent attributes and conditions, and, given past events, subscriptions that matched none of them.

    \b
    [bold]Examples[/bold]
      tamis analyze subscriptions.jsonl --schema auctions.yaml
      tamis analyze auctions.index history/ -o findings.parquet --plot findings.png
      tamis analyze auctions.index --json
      tamis analyze auctions.index history/ --spark -o findings.parquet

    \b
    [bold]Exit codes[/bold]
      0  all done
      1  done, but some events or subscriptions were refused
      2  not done
    """
    from tamis.cli.work.events import EventFiles
    from tamis.cli.work.indexes import schema_for
    from tamis.cli.work.subscriptions import report
    from tamis.cli.work.tables import require_tables, write_table
    from tamis.matching.base.statistics import Statistics
    from tamis.schema import Schema

    require_tables(output, dead_letters_to, refused_to)
    if plot is not None:
        _require_plot(plot)
    known = None if statistics is None else Statistics.load(statistics)
    files = EventFiles(events or [], ignore_unknown=ignore_unknown)
    under = schema_for(schema, subscriptions, files) if files.files else None if schema is None else Schema.load(schema)
    if spark:
        if dead_letters_to is not None:
            raise CommandError("--spark counts dead letters and writes none: tamis validate does")
        from tamis.cli.work.indexes import analyze_on_spark

        found, refused, dead = analyze_on_spark(subscriptions, files, under, known, ignore_unknown=ignore_unknown)
    else:
        found, refused, dead = _here(subscriptions, files, under, known, dead_letters_to, batch_rows, operators)
    report(refused, refused_to)
    if output is not None:
        write_table(found.subscriptions, output)
    if plot is not None:
        found.plot(plot)
    if as_json:
        typer.echo(json.dumps(found.summary(top) | {"refused": len(refused)}, ensure_ascii=False))
    else:
        show(found, top, output)
    if refused or dead:
        raise typer.Exit(PARTLY_REFUSED)


def _require_plot(path: Path) -> None:
    from tamis.analysis.picture import FORMS

    if path.suffix.lower() not in FORMS:
        raise CommandError(f"{path}: a plot is written to a file that ends in {', '.join(FORMS)}")
    require_writable(path)


def _here(
    subscriptions: Path,
    files: EventFiles,
    schema: Schema | None,
    statistics: Statistics | None,
    dead_letters_to: Path | None,
    batch_rows: int,
    operators: list[str] | None,
) -> tuple[Analysis, list[Refusal], int]:
    """Analysis in this process, with the refused subscriptions and the number of dead events."""
    from tamis.analysis import analyze as analysis_of
    from tamis.cli.work.indexes import index_of
    from tamis.cli.work.tables import dead_letters

    compiled = index_of(subscriptions, schema, operators_of(operators))
    if joins := len(compiled.index.joins):
        remark(f"{joins:,} joins are left out: only filters are analysed, which one event decides")
    if not files.files:
        with err.status(f"looking at {len(compiled.index):,} subscriptions"):
            found = analysis_of(compiled.index, statistics=statistics)
        return found, _refused(compiled, found), 0
    with dead_letters(dead_letters_to) as dead:
        history = _batches(files, compiled.index.schema, batch_rows, dead)
        found = analysis_of(compiled.index, events=history, statistics=statistics)
    remark(f"{found.events:,} events, {dead.events:,} dead letters")
    return found, _refused(compiled, found), dead.events


def _refused(compiled: Compiled, found: Analysis) -> list[Refusal]:
    """Subscriptions that were not compiled, and those that cannot be analysed."""
    from tamis.cli.work.subscriptions import Refusal

    known = {refusal.id for refusal in compiled.refused}
    return compiled.refused + [Refusal.of(id, error) for id, error in found.refused if id not in known]


def _batches(files: EventFiles, schema: Schema, rows: int, dead: DeadLetters) -> Iterator[pa.RecordBatch]:
    """Valid events; the others are counted and dropped."""
    events = 0
    with progress_bar() as bar:
        task = bar.add_task("looking back", total=files.size, note="")
        for batch in files.batches(schema, rows):
            dead.put(batch.dead)
            yield batch.valid
            events += batch.events
            bar.update(task, completed=batch.consumed, note=f"{events:,} events")


# Report of an analysis on the terminal: a summary, the worst of each kind with advice, and the most frequent
# attributes.

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
    """Prints the report."""
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
    """Share of events that a subscription matched, or is expected to."""
    if row["matches"] is not None and events:
        return float(row["matches"] / events)
    return float(row["matches_per_event"])


def _share(part: int, whole: int) -> str:
    return f"{part / max(1, whole):.1%}"


def _time(nanoseconds: float) -> str:
    if nanoseconds >= 1e6:
        return f"{nanoseconds / 1e6:,.1f} ms"
    return f"{nanoseconds / 1e3:,.1f} µs" if nanoseconds >= 1e3 else f"{nanoseconds:.1f} ns"
