"""Output tables of commands (matches, dead letters): Parquet, CSV or JSON lines by suffix, or JSON lines to standard
output.

Dead letters are such a table: one row a violation, with the event as it came and its source; `row` is the line or row
of `source`, counted from 1.
"""

from __future__ import annotations

import errno
import gzip
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from rich.text import Text

from tamis.cli.base.options import STREAM, Format, format_of, require_writable
from tamis.cli.base.terminal import err
from tamis.schema.timestamps import write_instant
from tamis.schema.values import write_base64

FORMATS = (Format.JSON_LINES, Format.CSV, Format.PARQUET)

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

LETTERS = pa.schema(
    {
        "source": pa.string(),
        "row": pa.int64(),
        "attribute": pa.string(),
        "rule": pa.string(),
        "value": pa.string(),
        "message": pa.string(),
        "event": pa.string(),
    }
)
NO_LETTERS = LETTERS.empty_table()


def require_tables(*paths: Path | None, of: str = "this output") -> None:
    """Refuses a path that no table can be written to, before the work is done."""
    for path in paths:
        if path is not None and path != STREAM:
            format_of(path, FORMATS, of)
            require_writable(path)


class TableWriter(Protocol):
    """Protocol of a writer of tables with one schema, one after the other."""

    def write(self, table: pa.Table) -> None: ...


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Writer of JSON lines, an object per row; null attributes are left out, as an event leaves them out."""

    stream: TextIO
    path: Path

    def write(self, table: pa.Table) -> None:
        self.write_lines(json_rows(table))

    def write_lines(self, lines: list[str]) -> None:
        if lines:
            with _writing(self.path):
                self.stream.write("\n".join(lines) + "\n")
                self.stream.flush()


@dataclass(frozen=True, slots=True)
class _Parquet:
    writer: pyarrow.parquet.ParquetWriter
    path: Path

    def write(self, table: pa.Table) -> None:
        with _writing(self.path):
            self.writer.write_table(table)


@dataclass(frozen=True, slots=True)
class _Csv:
    """Writer of CSV. Lists and bytes are written as JSON has them: CSV has neither."""

    writer: pyarrow.csv.CSVWriter
    path: Path

    def write(self, table: pa.Table) -> None:
        columns = [
            column if field.type == _in_csv(field).type else pa.array(map(_cell, column.to_pylist()), pa.string())
            for field, column in zip(table.schema, table.columns, strict=True)
        ]
        with _writing(self.path):
            self.writer.write_table(pa.table(columns, pa.schema(map(_in_csv, table.schema))))


def _in_csv(field: pa.Field) -> pa.Field:
    foreign = pa.types.is_nested(field.type) or pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type)
    return field.with_type(pa.string()) if foreign else field


def _cell(value: Any) -> str | None:
    if value is None or isinstance(value, bytes):
        return None if value is None else write_base64(value)
    return json.dumps(value, ensure_ascii=False, default=_as_json)


@contextmanager
def table_writer(path: Path, schema: pa.Schema) -> Iterator[TableWriter]:
    """Opens a writer whose file appears under its name only when all of it is written."""
    if path == STREAM:
        yield JsonLines(sys.stdout, Path("standard output"))
        return
    form = format_of(path, FORMATS, "a table")
    with _writing(path), _replacing(path) as partial:
        if form is Format.PARQUET:
            with pyarrow.parquet.ParquetWriter(partial, schema, compression="zstd") as writer:
                yield _Parquet(writer, path)
        elif form is Format.CSV:
            with pyarrow.csv.CSVWriter(partial, pa.schema(map(_in_csv, schema))) as writer:
                yield _Csv(writer, path)
        elif path.name.lower().endswith(".gz"):
            with gzip.open(partial, "wt", encoding="utf-8") as stream:
                yield JsonLines(stream, path)
        else:
            with partial.open("w", encoding="utf-8") as stream:
                yield JsonLines(stream, path)


def write_table(table: pa.Table, path: Path) -> None:
    with table_writer(path, table.schema) as writer:
        writer.write(table)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """A disk that is full names no file by itself. Several tables may be open: what has a name keeps it."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in _FULL:
            error.filename = str(path)
        raise


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    partial.replace(path)


def json_rows(table: pa.Table | pa.RecordBatch) -> list[str]:
    return [
        json.dumps({k: v for k, v in row.items() if v is not None}, ensure_ascii=False, default=_as_json)
        for row in table.to_pylist()
    ]


def _as_json(value: Any) -> str:
    if isinstance(value, datetime):
        return write_instant(value)
    return write_base64(value) if isinstance(value, bytes) else str(value)


def letters(source: str, rows: npt.NDArray[np.int64], violations: pa.Table, text: Callable[[int], str]) -> pa.Table:
    """Table of dead letters. `violations` as `Schema.check` gives them; event k there is row `rows[k]` of the source
    and reads `text(k)`.
    """
    events = violations["event"].to_numpy()
    return pa.table(
        {
            "source": pa.repeat(source, len(violations)),
            "row": rows[events],
            **{name: violations[name] for name in ("attribute", "rule", "value", "message")},
            "event": pa.array([text(int(event)) for event in events], pa.string()),
        },
        LETTERS,
    )


def events_in(dead: pa.Table) -> int:
    """Number of events in a table of dead letters: an event may break several rules."""
    return len(pc.unique(dead["row"]))


@dataclass(slots=True)
class DeadLetters:
    """Writes dead letters to their file, or to standard error where none was named. None is ever dropped."""

    writer: TableWriter
    events: int = 0

    def put(self, dead: pa.Table) -> None:
        if len(dead):
            self.events += events_in(dead)
            self.writer.write(dead)


@contextmanager
def dead_letters(path: Path | None) -> Iterator[DeadLetters]:
    if path is None:
        yield DeadLetters(_StandardError())
        return
    with table_writer(path, LETTERS) as writer:
        yield DeadLetters(writer)


class _StandardError:
    def write(self, table: pa.Table) -> None:
        for line in json_rows(table):
            err.print(Text(line), soft_wrap=True)
