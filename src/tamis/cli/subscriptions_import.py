"""`tamis import`: imports a file of subscriptions, a million if need be, into a server's store, and writes their
tickets.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from tamis.cli.base.options import (
    PARTLY_REFUSED,
    CommandError,
    Format,
    OperatorsOption,
    RefusedOption,
    StateOption,
    StoreOption,
    format_of,
    opened_store,
    require_writable,
    separate,
)
from tamis.cli.base.terminal import err, progress_bar, remark

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.language import Signatures
    from tamis.schema import Schema
    from tamis.service.store import Imported, Store

STANDARD_OUTPUT = Path("-")
_FORMATS = (Format.JSON_LINES, Format.CSV)
_FIELDS = ("id", "subscription", "ticket")

_LONGEST_DAYS = 36_500
_SHOWN = 10


class TicketFile:
    """File of tickets, a row per subscription: its `id` in the imported file, its public id, and its ticket.

    Rows are on disk when `write` returns: the store keeps only hashes, so a ticket lost here is lost.
    """

    def __init__(self, stream: TextIO, form: Format, *, durable: bool = True) -> None:
        self._stream = stream
        self._durable = durable  # False for a pipe or terminal, which no disk is behind
        self._csv = csv.writer(stream) if form is Format.CSV else None
        if self._csv is not None:
            self._csv.writerow(_FIELDS)

    def write(self, labels: list[str], ids: list[str], tickets: list[str]) -> None:
        rows = zip(labels, ids, tickets, strict=True)
        if self._csv is not None:
            self._csv.writerows(rows)
        else:
            lines = (json.dumps(dict(zip(_FIELDS, row, strict=True)), ensure_ascii=False) for row in rows)
            self._stream.writelines(f"{line}\n" for line in lines)
        self._stream.flush()
        if self._durable:
            os.fsync(self._stream.fileno())


@contextmanager
def ticket_file(path: Path | None) -> Iterator[TicketFile | None]:
    """New file of tickets; an existing one is refused, for it may hold tickets that are nowhere else."""
    if path is None:
        yield None
        return
    if path == STANDARD_OUTPUT:
        yield TicketFile(sys.stdout, Format.JSON_LINES, durable=False)
        return
    form = format_of(path, _FORMATS, "tickets")
    if path.name.lower().endswith(".gz"):
        raise CommandError(f"{path}: tickets are written as they come, and so not compressed; use .jsonl or .csv")
    require_writable(path)
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise CommandError(f"{path}: there is such a file, and tickets overwrite nothing; name another") from None
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
        yield TicketFile(stream, form)


def subscriptions_import(
    subscriptions: Annotated[
        Path,
        typer.Argument(
            metavar="SUBSCRIPTIONS",
            help="JSON lines, CSV or Parquet with id and filter, or a YAML or JSON mapping from id to filter. The id "
            "becomes the subscription's label.",
            show_default=False,
        ),
    ],
    state: StateOption = None,
    store: StoreOption = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            "-s",
            metavar="FILE",
            help="The schema, in YAML, for a store that has none yet.",
            show_default=False,
        ),
    ] = None,
    key: Annotated[
        str,
        typer.Option(
            "--key",
            metavar="ID",
            help="The API key that the subscriptions belong to, which reads, renews and cancels them.",
            show_default=False,
        ),
    ] = "",
    days: Annotated[
        float | None,
        typer.Option(
            "--days",
            min=0.001,
            max=_LONGEST_DAYS,
            help="Validity of the subscriptions. Without it: until they are cancelled.",
            show_default=False,
        ),
    ] = None,
    operators: OperatorsOption = None,
    refused_to: RefusedOption = None,
    tickets_to: Annotated[
        Path | None,
        typer.Option(
            "--tickets",
            metavar="FILE",
            help="Write the tickets, which read, renew and cancel without a key, to this file (a new .jsonl or .csv; "
            "-: JSON lines to standard output).",
            show_default=False,
        ),
    ] = None,
    no_tickets: Annotated[
        bool,
        typer.Option("--no-tickets", help="Keep no tickets: then only --key, or administrators, read and cancel."),
    ] = False,
    skip: Annotated[
        int,
        typer.Option("--skip", min=0, metavar="ROWS", help="Skip the first rows, to resume an import."),
    ] = 0,
) -> None:
    """Import a file of subscriptions into a server's store.

    A running server serves them as they come. A refused subscription is reported and does not stop the others.

    \b
    [bold]Examples[/bold]
      tamis import subscriptions.parquet --tickets tickets.jsonl
      tamis import subscriptions.jsonl --schema auctions.yaml --key 0123456789abcdef --refused bad.csv
      tamis import subscriptions.csv --store postgresql+psycopg://tamis@db/tamis --days 30 --no-tickets

    \b
    [bold]Exit codes[/bold]
      0  all imported
      1  imported, but some were refused
      2  not done
    """
    from tamis.cli.work.subscriptions import Refusal, read_subscriptions, report
    from tamis.cli.work.tables import require_tables

    require_tables(refused_to, of="refused subscriptions")
    _require_access(key, tickets_to, no_tickets)
    with opened_store(state, store) as opened:
        from tamis.service.base.offering import Offering
        from tamis.service.store import FOREVER

        offering = Offering.named(separate(operators))
        shape = _schema(opened, schema)
        if key and key not in {known.id for known in opened.keys.list() if known.revoked is None}:
            raise CommandError(f"the store has no key {key}; tamis keys list shows those it has")
        with err.status(f"reading {subscriptions}"):
            read = read_subscriptions(subscriptions)
        expires = FOREVER if days is None else datetime.now(UTC) + timedelta(days=days)
        start = time.perf_counter()
        with ticket_file(tickets_to) as tickets:
            called = offering.signatures(shape)
            imported = _import(opened, read.table.slice(skip), shape, called, key, expires, tickets, skip)
    seconds = time.perf_counter() - start
    until = "they are cancelled" if days is None else f"{expires:%Y-%m-%d %H:%M} UTC"
    remark(f"{imported.taken:,} subscriptions imported in {seconds:.1f} s, valid until {until}")
    if tickets_to is not None:
        place = "went to standard output" if tickets_to == STANDARD_OUTPUT else f"are in {tickets_to}"
        remark(f"their tickets {place}, and nowhere else")
    else:
        whose = f"the key {key} and administrators" if key else "administrators"
        remark(f"no tickets were kept: {whose} read, renew and cancel them")
    refused = read.refused + [Refusal.of(label, error) for label, error in imported.refused]
    report(refused, refused_to)
    if refused:
        remark(f"{len(refused):,} refused" + (f", see {refused_to}" if refused_to else ""))
        raise typer.Exit(PARTLY_REFUSED)


def _require_access(key: str, tickets_to: Path | None, no_tickets: bool) -> None:
    """Refuses an import whose subscriptions only administrators could read or cancel, unless that is requested."""
    if no_tickets and tickets_to is not None:
        raise CommandError("--tickets and --no-tickets: give one of them")
    if not (key or tickets_to is not None or no_tickets):
        raise CommandError(
            "the tickets would be lost, without which only administrators read and cancel the subscriptions: say where "
            "they go with --tickets FILE (or -), whose the subscriptions are with --key ID, or --no-tickets"
        )


def _schema(store: Store, path: Path | None) -> Schema:
    """Schema of the store; where it has none, the given one, which becomes the store's.

    A file that the store's schema extends is an older one. A file with more, or with contradictions, is refused: a
    running server would not learn of it.
    """
    from tamis.schema import Schema
    from tamis.service.store.store import FollowedSchema

    followed = FollowedSchema(store)
    if path is None:
        if not followed.version:
            raise CommandError("the store has no schema yet: give one with --schema, or start the server once with it")
        return followed.schema
    given = Schema.load(path)
    if not followed.version:
        followed.grow(lambda version, known: known if version else given)
    found = followed.schema.difference(given)
    more = [f"{section} {name!r}" for section, added in found.additions.items() for name in added]
    told = [*map(str, found.contradictions), *(f"only {path} has {one}" for one in more)]
    if told:
        raise CommandError(
            f"the store has another schema (version {followed.version}), which counts: {'; '.join(told[:_SHOWN])}"
            f"{' ...' if len(told) > _SHOWN else ''}; leave --schema out, or start the server once with it"
        )
    return followed.schema


def _import(
    store: Store,
    table: pa.Table,
    schema: Schema,
    operators: Signatures,
    owner: str,
    expires: datetime,
    tickets: TicketFile | None,
    skipped: int,
) -> Imported:
    done = 0
    with progress_bar() as bar:
        task = bar.add_task("importing", total=len(table), note="")

        def show(rows: int) -> None:
            nonlocal done
            done = rows
            bar.update(task, completed=rows, note=f"{rows:,} of {len(table):,}")

        try:
            return store.subscriptions.import_table(
                table,
                owner,
                expires,
                {"mode": "pull"},
                schema=schema,
                operators=operators,
                progress=show,
                tickets=None if tickets is None else tickets.write,
            )
        except BaseException:
            remark(f"stopped after {done:,} subscriptions, which stay; --skip {skipped + done} goes on behind them")
            raise
