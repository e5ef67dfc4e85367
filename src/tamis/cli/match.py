"""`tamis match`: finds the subscriptions that each event matches, in this process or on Spark."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.cli.base.options import (
    PARTLY_REFUSED,
    STREAM,
    BatchRowsOption,
    CommandError,
    DeadLettersOption,
    EventsArgument,
    IgnoreUnknownOption,
    MatcherOption,
    MatcherOptionsOption,
    OperatorsOption,
    RefusedOption,
    ScheduleOption,
    SchemaOption,
    SubscriptionsArgument,
    matcher_options,
    operators_of,
)
from tamis.cli.base.terminal import progress_bar, remark

if TYPE_CHECKING:
    from rich.progress import Progress

    from tamis.cli.work.events import EventFiles
    from tamis.cli.work.results import JoinChangesFile, ResultForm
    from tamis.cli.work.tables import DeadLetters, TableWriter
    from tamis.engine import Index


def match(
    subscriptions: SubscriptionsArgument,
    events: EventsArgument,
    schema: SchemaOption = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write matches to this file (.jsonl, .parquet, .csv); - is standard output.",
        ),
    ] = STREAM,
    changes_to: Annotated[
        Path | None,
        typer.Option(
            "--changes",
            metavar="FILE",
            help="Write changes of joins' results to this file (.jsonl, .parquet, .csv): the event's position in the "
            "input, the subscription, added or removed, and the result as JSON.",
            show_default=False,
        ),
    ] = None,
    dead_letters_to: DeadLettersOption = None,
    refused_to: RefusedOption = None,
    arrays: Annotated[
        bool, typer.Option("--arrays", help="One row per event with all its subscriptions, not one row per match.")
    ] = False,
    numbers: Annotated[
        bool, typer.Option("--numbers", help="Give an event's position in the input (from 0), not its attributes.")
    ] = False,
    spark: Annotated[bool, typer.Option("--spark", help="Run on Spark (needs the spark extra and Java 17+).")] = False,
    matcher: MatcherOption = None,
    option: MatcherOptionsOption = None,
    operators: OperatorsOption = None,
    schedule: ScheduleOption = None,
    ignore_unknown: IgnoreUnknownOption = False,
    batch_rows: BatchRowsOption = 10_000,
) -> None:
    """Find the subscriptions that each event matches.

    Events that break the schema are dead letters: they are set aside with the reason and do not stop the others. The
    tables of joins begin as they were saved with the index, and change by the events in order.

    \b
    [bold]Examples[/bold]
      tamis match subscriptions.jsonl events.jsonl --schema auctions.yaml
      tamis match auctions.index events/ -o matches.parquet
      tamis match auctions.index events.parquet --dead-letters dead.jsonl
      zcat events.jsonl.gz | tamis match auctions.index - --arrays
      tamis match stocks.index quotes.jsonl --changes changes.jsonl
      tamis match auctions.index events/ -o matches/ --spark
      tamis match subscriptions.jsonl events.jsonl -s auctions.yaml --matcher tree
      tamis match watch.index shots.parquet --operators watch:mob_pattern

    \b
    [bold]Exit codes[/bold]
      0  all done
      1  done, but some events or subscriptions were refused
      2  not done
    """
    from tamis.cli.work.events import EventFiles
    from tamis.cli.work.indexes import Algorithms, index_of, schema_for
    from tamis.cli.work.results import ResultForm, join_changes
    from tamis.cli.work.subscriptions import report
    from tamis.cli.work.tables import dead_letters, require_tables, table_writer

    files = EventFiles(events, ignore_unknown=ignore_unknown)
    how = Algorithms(matcher, matcher_options(option), schedule)
    if spark:
        if changes_to is not None:
            raise CommandError("--changes is not written by Spark here: leave --spark out, or use pipeline.join")
        if numbers or output == STREAM:
            raise CommandError("--spark writes folders of rows without a position: use --output, and not --numbers")
        from tamis.cli.work.on_spark import match_on_spark

        match_on_spark(
            subscriptions,
            files,
            schema_for(schema, subscriptions, files),
            output,
            dead_letters_to,
            refused_to,
            operators_of(operators),
            how,
            arrays=arrays,
            ignore_unknown=ignore_unknown,
        )
        return
    require_tables(dead_letters_to, refused_to, changes_to, output)
    compiled = index_of(subscriptions, schema_for(schema, subscriptions, files), operators_of(operators), how)
    report(compiled.refused, refused_to)
    form = ResultForm(compiled.index.schema, arrays=arrays, numbers=numbers)
    joins = len(compiled.index.joins)
    if joins and changes_to is None:
        remark(f"{joins:,} joins are passed over: --changes FILE takes how their contents change")
    with (
        table_writer(output, form.schema) as writer,
        dead_letters(dead_letters_to) as dead,
        nullcontext() if changes_to is None else join_changes(changes_to, compiled.index) as changes,
    ):
        bar = progress_bar(results_on_screen=output == STREAM)
        _match(compiled.index, files, form, writer, dead, changes, batch_rows, bar)
    if changes is not None and changes.refused:
        remark(f"{changes.refused:,} changes were refused by their tables, see {changes_to}")
    if dead.events or (changes is not None and changes.refused) or compiled.refused:
        raise typer.Exit(PARTLY_REFUSED)


def _match(
    index: Index,
    files: EventFiles,
    form: ResultForm,
    writer: TableWriter,
    dead: DeadLetters,
    changes: JoinChangesFile | None,
    batch_rows: int,
    bar: Progress,
) -> None:
    events = matched = 0
    start = time.perf_counter()
    with bar:
        task = bar.add_task("matching", total=files.size, note="")
        for batch in files.batches(index.schema, batch_rows):
            dead.put(batch.dead)
            matches = index.match(batch.valid)
            form.write(writer, batch.valid, batch.numbers, matches)
            if changes is not None:
                changes.put(batch.valid, batch.numbers)
            events += batch.events
            matched += len(matches)
            bar.update(task, completed=batch.consumed, note=f"{events:,} events, {matched:,} matches")
    seconds = time.perf_counter() - start
    rate = f"{events / seconds:,.0f} events/s" if seconds > 0 else ""
    remark(f"{events:,} events, {matched:,} matches, {dead.events:,} dead letters in {seconds:.1f} s ({rate})")
