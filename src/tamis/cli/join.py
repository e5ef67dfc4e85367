"""`tamis join`: computes the results of join subscriptions after changes of their tables, on Spark."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from tamis.cli.base.options import (
    PARTLY_REFUSED,
    DeadLettersOption,
    EventsArgument,
    IgnoreUnknownOption,
    RefusedOption,
    SchemaOption,
    SubscriptionsArgument,
)
from tamis.cli.base.terminal import remark


def join(
    subscriptions: SubscriptionsArgument,
    events: EventsArgument,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Write the results here: JSON if it ends so, else Parquet."
        ),
    ],
    schema: SchemaOption = None,
    order: Annotated[
        str | None, typer.Option("--order", metavar="ATTRIBUTE", help="A number or timestamp that orders the events.")
    ] = None,
    dead_letters_to: DeadLettersOption = None,
    refused_to: RefusedOption = None,
    ignore_unknown: IgnoreUnknownOption = False,
) -> None:
    """Compute the results of join subscriptions after changes of their tables, on Spark.

    Tables begin empty. Changes that a table cannot take are dead letters, as are events that break the schema. Spark
    reads files in pieces and in no particular order: name an attribute to order events by where that counts.

    \b
    [bold]Examples[/bold]
      tamis join joins.jsonl changes/ --schema stocks.yaml -o contents --order at
      tamis join stocks.index changes.parquet -o contents.jsonl

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
    from tamis.cli.work.spark import require_new, spark_session, tasks_shown, written
    from tamis.cli.work.subscriptions import report
    from tamis.pipeline.join import CHANGED
    from tamis.pipeline.session import require_spark

    files = EventFiles(events, ignore_unknown=ignore_unknown)
    require_spark()
    require_files(files)
    dead_to = require_new(output, dead_letters_to)
    found = subscribers_of(subscriptions, schema_for(schema, subscriptions, files))
    report(found.refused, refused_to)
    start = time.perf_counter()
    with spark_session() as session:
        valid, dead = checked_events(session, files, found.schema, ignore_unknown)
        answer = pipeline.join(valid, found.source, order=order, dead_letters=True).persist()
        with tasks_shown(session, "joining"):
            rows = written(answer.where("subscription IS NOT NULL").select(*CHANGED), output)
        with tasks_shown(session, "dead letters"):
            letters = dead.unionByName(answer.where("subscription IS NULL").select("event", "violations", "reason"))
            refused = 0 if letters.isEmpty() else written(letters, dead_to)
        answer.unpersist()
    told = f", see {dead_to}" if refused else ""
    remark(f"{rows:,} results in {output}, {refused:,} dead letters{told}; {time.perf_counter() - start:.1f} s")
    if refused or found.refused:
        raise typer.Exit(PARTLY_REFUSED)
