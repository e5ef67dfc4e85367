"""`tamis validate`: checks a schema, and events and subscriptions against it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.cli.base.options import (
    PARTLY_REFUSED,
    BatchRowsOption,
    DeadLettersOption,
    IgnoreUnknownOption,
    OperatorsOption,
    RefusedOption,
    operators_of,
)
from tamis.cli.base.terminal import err, progress_bar, remark
from tamis.errors import FilterError

if TYPE_CHECKING:
    from tamis.cli.work.events import EventFiles
    from tamis.errors import FilterError
    from tamis.language import Signatures
    from tamis.schema import Schema


def validate(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="The schema, in YAML.", show_default=False)],
    events: Annotated[
        list[Path] | None,
        typer.Argument(metavar="EVENTS", help="Events, as for [bold]tamis match[/bold].", show_default=False),
    ] = None,
    subscriptions: Annotated[
        Path | None,
        typer.Option("--subscriptions", metavar="FILE", help="Subscriptions to check as well.", show_default=False),
    ] = None,
    dead_letters_to: DeadLettersOption = None,
    refused_to: RefusedOption = None,
    operators: OperatorsOption = None,
    ignore_unknown: IgnoreUnknownOption = False,
    batch_rows: BatchRowsOption = 10_000,
) -> None:
    """Check a schema, and events and subscriptions against it.

    Each violation names the event, the attribute, the rule and the value.

    \b
    [bold]Examples[/bold]
      tamis validate auctions.yaml
      tamis validate auctions.yaml events.jsonl
      tamis validate auctions.yaml --subscriptions subscriptions.jsonl

    \b
    [bold]Exit codes[/bold]
      0  everything is right
      1  some events or subscriptions are not
      2  the schema or a file cannot be read
    """
    from tamis.cli.work.events import EventFiles
    from tamis.cli.work.tables import require_tables
    from tamis.language import Signatures
    from tamis.operators.matcher import resolved_all
    from tamis.schema import Schema

    require_tables(dead_letters_to, refused_to)
    shape = Schema.load(schema)
    remark(f"schema: {len(shape.event_types)} event types, {len(shape.attributes) - 1} attributes")
    called = resolved_all(operators_of(operators) or (), shape)
    signatures = Signatures(each.signature for each in called.values())
    refused = _refused(subscriptions, shape, refused_to, signatures) if subscriptions is not None else 0
    dead = _dead(EventFiles(events, ignore_unknown=ignore_unknown), shape, dead_letters_to, batch_rows) if events else 0
    if refused or dead:
        raise typer.Exit(PARTLY_REFUSED)


def _refused(path: Path, schema: Schema, refused_to: Path | None, operators: Signatures) -> int:
    import numpy as np
    import pyarrow as pa

    from tamis.cli.work.subscriptions import Refusal, read_subscriptions, report
    from tamis.language import bind
    from tamis.language.joins import are_joins, bind_joins

    read = read_subscriptions(path)
    texts = read.table["filter"].combine_chunks()
    joins = are_joins(texts) if schema.tables else np.zeros(len(texts), np.bool_)
    errors: list[tuple[int, FilterError]] = []
    with err.status(f"checking {len(read.table):,} subscriptions"):
        for rows, bound in (
            (np.flatnonzero(~joins), bind(texts.filter(pa.array(~joins)), schema, operators=operators)),
            (np.flatnonzero(joins), bind_joins(texts.filter(pa.array(joins)), schema)),
        ):
            errors += [(int(rows[row]), error) for row, error in bound.errors]
    refused = read.refused + [
        Refusal.of(read.table["id"][row].as_py(), error) for row, error in sorted(errors, key=_row)
    ]
    report(refused, refused_to)
    remark(f"subscriptions: {len(read.table) - len(errors):,} right, {len(refused):,} refused")
    return len(refused)


def _row(error: tuple[int, FilterError]) -> int:
    return error[0]


def _dead(files: EventFiles, schema: Schema, dead_letters_to: Path | None, batch_rows: int) -> int:
    from tamis.cli.work.tables import dead_letters

    events = 0
    with dead_letters(dead_letters_to) as dead, progress_bar() as bar:
        task = bar.add_task("checking events", total=files.size, note="")
        for batch in files.batches(schema, batch_rows):
            dead.put(batch.dead)
            events += batch.events
            bar.update(task, completed=batch.consumed, note=f"{events:,} events")
    remark(f"events: {events - dead.events:,} right, {dead.events:,} dead letters")
    return dead.events
