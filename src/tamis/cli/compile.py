"""`tamis compile`: compiles subscriptions to an index on disk, for `match` and for Spark's workers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from tamis.cli.base.options import (
    PARTLY_REFUSED,
    SAMPLE,
    CommandError,
    MatcherOption,
    MatcherOptionsOption,
    OperatorsOption,
    RefusedOption,
    ScheduleOption,
    SubscriptionsArgument,
    matcher_options,
    operators_of,
)
from tamis.cli.base.terminal import err, remark


def compile(
    subscriptions: SubscriptionsArgument,
    schema: Annotated[
        Path, typer.Option("--schema", "-s", metavar="FILE", help="The schema, in YAML.", show_default=False)
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="Write the index to this folder.", show_default=False),
    ],
    refused_to: RefusedOption = None,
    sample: Annotated[
        list[Path] | None,
        typer.Option(
            "--sample",
            metavar="EVENTS",
            help="Past events (as for [bold]tamis match[/bold]): knowing them makes the index faster. May be given "
            f"several times; the first {SAMPLE:,} events count.",
            show_default=False,
        ),
    ] = None,
    matcher: MatcherOption = None,
    option: MatcherOptionsOption = None,
    operators: OperatorsOption = None,
    schedule: ScheduleOption = None,
) -> None:
    """Compile subscriptions to an index on disk.

    A refused subscription is reported and does not stop the others.

    \b
    [bold]Examples[/bold]
      tamis compile subscriptions.jsonl --schema auctions.yaml -o auctions.index
      tamis compile subs.csv -s auctions.yaml -o auctions.index --refused bad.csv
      tamis compile subs.csv -s auctions.yaml -o auctions.index --sample events/
      tamis compile subs.csv -s auctions.yaml -o auctions.index --matcher tree --option factor=period
      tamis compile subs.csv -s watch.yaml -o watch.index --operators loc_in,watch:mob_pattern

    \b
    [bold]Exit codes[/bold]
      0  all compiled
      1  compiled, but some were refused
      2  not done
    """
    from tamis.cli.work.indexes import Algorithms, compiled, is_index, statistics_of
    from tamis.cli.work.subscriptions import report
    from tamis.cli.work.tables import require_tables
    from tamis.schema import Schema

    if is_index(subscriptions):
        raise CommandError(f"{subscriptions}: a folder, but not a Parquet table of subscriptions")
    require_tables(refused_to, of="refused subscriptions")
    shape = Schema.load(schema)
    statistics = statistics_of(sample, shape)
    start = time.perf_counter()
    called, how = operators_of(operators), Algorithms(matcher, matcher_options(option), schedule)
    result = compiled(subscriptions, shape, statistics, called, how)
    with err.status(f"writing {output}"):
        result.index.save(output)
    remark(f"{len(result.index):,} subscriptions compiled to {output} in {time.perf_counter() - start:.1f} s")
    report(result.refused, refused_to)
    if result.refused:
        remark(f"{len(result.refused):,} refused" + (f", see {refused_to}" if refused_to else ""))
        raise typer.Exit(PARTLY_REFUSED)
