"""`tamis backtest`: counts the matches of subscriptions in past events."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column
from rich.text import Text

from tamis.cli.base.options import (
    PARTLY_REFUSED,
    CommandError,
    EventsArgument,
    IgnoreUnknownOption,
    OperatorsOption,
    RefusedOption,
    SchemaOption,
    SubscriptionsArgument,
    operators_of,
    require_new_folder,
)
from tamis.cli.base.terminal import PartedTable, out, remark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from tamis import pipeline


def backtest(
    subscriptions: SubscriptionsArgument,
    events: EventsArgument,
    schema: SchemaOption = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Write the results to this new folder.")
    ] = Path("backtest-results"),
    time: Annotated[
        str | None,
        typer.Option(
            "--time", metavar="ATTRIBUTE", help="Timestamp of the events, for the counts.", show_default=False
        ),
    ] = None,
    window: Annotated[str, typer.Option("--window", help="Width of the time windows: '15 minutes'.")] = "1 day",
    samples: Annotated[int, typer.Option("--samples", min=0, help="Sample events per subscription.")] = 3,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of subscriptions to show and plot.")] = 8,
    refused_to: RefusedOption = None,
    operators: OperatorsOption = None,
    ignore_unknown: IgnoreUnknownOption = False,
) -> None:
    """Count what subscriptions would have matched in the past, before they are created.

    Runs on Spark. Leaves a folder with counts over time, totals (also of those that never matched), sample events, dead
    letters and a plot.

    \b
    [bold]Examples[/bold]
      tamis backtest new.jsonl history/ -s auctions.yaml --time opened
      tamis backtest auctions.index history/ --time opened --window '1 hour'

    \b
    [bold]Exit codes[/bold]
      0  all done
      1  done, but some events or subscriptions were refused
      2  not done
    """
    from tamis import pipeline
    from tamis.cli.work.events import EventFiles
    from tamis.cli.work.indexes import schema_for
    from tamis.cli.work.on_spark import checked_events, require_files, subscribers_of
    from tamis.cli.work.spark import spark_session, tasks_shown
    from tamis.cli.work.subscriptions import report
    from tamis.cli.work.tables import write_table
    from tamis.pipeline.backtest import window_width
    from tamis.pipeline.session import require_spark

    require_spark()
    window_width(window)
    require_new_folder(output)
    files = EventFiles(events)
    require_files(files)
    found = subscribers_of(subscriptions, schema_for(schema, subscriptions, files), operators_of(operators))
    if time is not None and time not in found.schema.attributes:
        raise CommandError(f"--time: the schema has no attribute {time}")
    report(found.refused, refused_to)
    with spark_session() as session:
        valid, dead = checked_events(session, files, found.schema, ignore_unknown)
        with tasks_shown(session, "matching the history"):
            result = pipeline.backtest(valid, found.source, time_column=time, window=window, samples=samples)
        output.mkdir(parents=True)
        with tasks_shown(session, "writing results"):
            refused = _write(result, dead, output, top)
            totals = _totals(result, found.source)
            write_table(totals, output / "totals.csv")
            events_seen = result.events
        result.close()
    _show(totals, found.source, top, time is not None)
    remark(f"{events_seen:,} events, {refused:,} dead letters; counts, totals, samples and plot are in {output}")
    if refused or found.refused:
        raise typer.Exit(PARTLY_REFUSED)


def _write(result: pipeline.Backtest, dead: DataFrame, folder: Path, top: int) -> int:
    """Writes all results but the totals; returns the number of dead events."""
    from tamis.cli.work.tables import write_table

    result.counts.write.parquet(str(folder.absolute() / "counts"))
    write_table(result.samples.toArrow(), folder / "samples.jsonl")
    result.plot(folder / "plot.png", top)
    refused = dead.count()
    if refused:
        dead.write.parquet(str(folder.absolute() / "dead-letters"))
    return refused


def _totals(result: pipeline.Backtest, source: pipeline.Subscribed) -> pa.Table:
    """Matches of each subscription, the most frequent first, and at the end those that never matched."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from tamis import pipeline
    from tamis.engine import Index

    totals = result.totals.toArrow()
    if isinstance(source, pipeline.SubscriptionTable):
        source = source.index()
    if not isinstance(source, Index):
        return totals
    never = pc.array_sort_indices(source.ids())
    ids = source.ids().take(never)
    ids = ids.filter(pc.invert(pc.is_in(ids, totals["subscription"])))
    silent = pa.table({"subscription": ids, "matches": pa.array([0] * len(ids), pa.int64())})
    return pa.concat_tables([totals, silent], promote_options="permissive")


def _show(totals: pa.Table, source: pipeline.Subscribed, top: int, timed: bool) -> None:
    import pyarrow.compute as pc

    from tamis.engine import Index

    table = PartedTable(
        Column("subscription", no_wrap=True, max_width=24, overflow="ellipsis"),
        Column("matches", justify="right", no_wrap=True),
        *((Column("first", no_wrap=True), Column("last", no_wrap=True)) if timed else ()),
        Column("filter", no_wrap=True, overflow="ellipsis", style="dim", min_width=24),
    )
    for row in totals.slice(0, top).to_pylist():
        times = (_day(row["first"]), _day(row["last"])) if timed else ()
        text = source.text(row["subscription"]) if isinstance(source, Index) else ""
        table.add_row(row["subscription"], f"{row['matches']:,}", *times, Text(text))
    out.print(table)
    never = pc.sum(pc.equal(totals["matches"], 0)).as_py() or 0
    if never:
        out.print(f"{never:,} of {len(totals):,} subscriptions never matched")


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M}"
