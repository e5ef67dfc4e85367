"""Tickets of imported subscriptions, in a file that only its owner reads."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from tamis.cli.base.failures import CommandError
from tamis.cli.base.paths import Format, format_of, require_writable

STANDARD_OUTPUT = Path("-")
_FORMATS = (Format.JSON_LINES, Format.CSV)
_FIELDS = ("id", "subscription", "ticket")


class TicketFile:
    """A row a subscription: its `id` in the imported file, its public id, and its ticket.

    What was written is on disk when `write` returns: the store keeps only hashes, so a ticket lost here is lost.
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
    """A new file: one that is there may hold tickets that are nowhere else."""
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
