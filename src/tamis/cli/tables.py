"""Tables out: Parquet, CSV or JSON lines by the path's suffix, or JSON lines to standard output."""

from __future__ import annotations

import errno
import gzip
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TextIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tamis.cli.paths import STREAM, Format, format_of, require_writable
from tamis.schema.timestamps import write_instant
from tamis.schema.values import write_base64

FORMATS = (Format.JSON_LINES, Format.CSV, Format.PARQUET)

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def require_tables(*paths: Path | None, of: str = "this output") -> None:
    """Complains now of a path that no table can be written to, rather than after the work is done."""
    for path in paths:
        if path is not None and path != STREAM:
            format_of(path, FORMATS, of)
            require_writable(path)


class TableWriter(Protocol):
    """Takes tables of one schema, one after the other."""

    def write(self, table: pa.Table) -> None: ...


class JsonLines:
    """One object a row; an attribute that is null is left out, as an event leaves it out."""

    def __init__(self, stream: TextIO, path: Path) -> None:
        self._stream = stream
        self._path = path

    def write(self, table: pa.Table) -> None:
        self.write_lines(json_rows(table))

    def write_lines(self, lines: list[str]) -> None:
        if lines:
            with _writing(self._path):
                self._stream.write("\n".join(lines) + "\n")
                self._stream.flush()


class _Parquet:
    def __init__(self, writer: pyarrow.parquet.ParquetWriter, path: Path) -> None:
        self._writer = writer
        self._path = path

    def write(self, table: pa.Table) -> None:
        with _writing(self._path):
            self._writer.write_table(table)


class _Csv:
    """Lists and bytes are written as JSON has them: CSV has neither."""

    def __init__(self, writer: pyarrow.csv.CSVWriter, path: Path) -> None:
        self._writer = writer
        self._path = path

    def write(self, table: pa.Table) -> None:
        columns = [
            column if field.type == _in_csv(field).type else pa.array(map(_cell, column.to_pylist()), pa.string())
            for field, column in zip(table.schema, table.columns, strict=True)
        ]
        with _writing(self._path):
            self._writer.write_table(pa.table(columns, pa.schema(map(_in_csv, table.schema))))


def _in_csv(field: pa.Field) -> pa.Field:
    foreign = pa.types.is_nested(field.type) or pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type)
    return field.with_type(pa.string()) if foreign else field


def _cell(value: Any) -> str | None:
    if value is None or isinstance(value, bytes):
        return None if value is None else write_base64(value)
    return json.dumps(value, ensure_ascii=False, default=_as_json)


@contextmanager
def table_writer(path: Path, schema: pa.Schema) -> Iterator[TableWriter]:
    """A writer whose file appears under its name only when all of it is written."""
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
