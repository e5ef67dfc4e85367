"""`tamis analyze`: finds superfluous, expensive and never matching subscriptions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
from tamis.cli.base.terminal import err, progress_bar, remark

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
    from tamis.cli.work.analysis_shown import show
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
        from tamis.cli.work.on_spark import analyze_on_spark

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
