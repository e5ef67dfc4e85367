"""Event files, read a batch at a time: JSON lines (also gzipped, also standard input) and Parquet files or folders.

Each batch is checked against the schema as it is read, so what comes out is either valid or a dead letter.
"""

from __future__ import annotations

import codecs
import gzip
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset

from tamis.cli.base.options import STREAM, CommandError, Format, format_of
from tamis.cli.work.tables import NO_LETTERS, json_rows, letters
from tamis.schema import Schema
from tamis.schema.checking import Checked

FORMATS = (Format.JSON_LINES, Format.JSON, Format.PARQUET)

_LINE_SUFFIXES = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")

_BYTES_AT_ONCE = 4 << 20


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Batch of consecutive events of the input.

    `valid` is canonical; `numbers[i]` is the position of its row i among all events read, refused ones included.
    `dead` has the form of `tables.LETTERS`. `events` is how many there were of both; `consumed` is how many bytes
    of all files are behind us.
    """

    valid: pa.RecordBatch
    numbers: npt.NDArray[np.int64]
    dead: pa.Table
    events: int
    consumed: int


class EventFiles:
    """Files of events, read in the order given. A folder stands for the event files in it."""

    def __init__(self, paths: Sequence[Path], *, ignore_unknown: bool = False) -> None:
        self._ignore_unknown = ignore_unknown
        self.files = [file for path in paths for file in _files(path)]

    @property
    def size(self) -> int | None:
        """Bytes to read in all; none where that is not known beforehand."""
        return None if any(path == STREAM for path, _ in self.files) else sum(_size(path) for path, _ in self.files)

    def inferred_schema(self) -> Schema | None:
        """Schema inferred from the first file's columns, if it is Parquet; JSON lines say too little."""
        path, form = self.files[0]
        return Schema.infer(path) if form is Format.PARQUET else None

    def batches(self, schema: Schema, rows: int) -> Iterator[EventBatch]:
        number = consumed = 0
        for path, form in self.files:
            first = number
            read = _parquet_batches if form is Format.PARQUET else _line_batches
            for batch in read(path, schema, rows, self._ignore_unknown):
                yield EventBatch(
                    batch.valid, batch.numbers + first, batch.dead, batch.events, batch.consumed + consumed
                )
                number += batch.events
            consumed += 0 if path == STREAM else _size(path)

    def row(self, schema: Schema, row: int) -> Checked | None:
        """Checked line or row of the first file, counted from 1; None where there is no event."""
        path, form = self.files[0]
        if form is Format.PARQUET:
            data = _dataset(path)
            return schema.check(data.take([row - 1])) if row <= data.count_rows() else None
        for block in read_lines(path, 10_000):
            for position in np.flatnonzero(block.numbers == row).tolist():
                return schema.check_json(pa.array([block.text(position)]))
        return None

    def sample(self, schema: Schema, rows: int) -> pa.Table:
        """First valid events, up to a number."""
        tables: list[pa.Table] = []
        for batch in self.batches(schema, min(rows, 10_000)):
            tables.append(pa.Table.from_batches([batch.valid]))
            if sum(map(len, tables)) >= rows:
                break
        if not tables:
            return schema.arrow_schema.empty_table()
        return pa.concat_tables(tables, promote_options="default").slice(0, rows)


def _files(path: Path) -> list[tuple[Path, Format]]:
    if path == STREAM:
        return [(STREAM, Format.JSON_LINES)]
    if path.is_dir():
        if next(path.rglob("*.parquet"), None) is not None:
            return [(path, Format.PARQUET)]
        found = sorted(
            file for file in path.rglob("*") if file.name.endswith(_LINE_SUFFIXES) and file.name[0] not in "._"
        )
        if not found:
            raise CommandError(f"{path}: no event files in this folder; expected JSON lines or Parquet")
        return [(file, Format.JSON_LINES) for file in found]
    if not path.exists():
        raise FileNotFoundError(2, "", str(path))
    form = format_of(path, FORMATS, "events")
    return [(path, Format.PARQUET if form is Format.PARQUET else Format.JSON_LINES)]


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*.parquet"))
    return path.stat().st_size


def _dataset(path: Path) -> pyarrow.dataset.Dataset:
    return pyarrow.dataset.dataset(path, format="parquet", partitioning="hive")


def _parquet_batches(path: Path, schema: Schema, rows: int, ignore_unknown: bool) -> Iterator[EventBatch]:
    data = _dataset(path)
    bytes_a_row = _size(path) / max(1, data.count_rows())
    first = 0
    for batch in data.to_batches(batch_size=rows):
        if not len(batch):
            continue
        checked = schema.check(batch, ignore_unknown=ignore_unknown)
        dead = NO_LETTERS
        if len(checked.violations):
            rows_here = np.arange(first + 1, first + 1 + len(batch))
            dead = letters(str(path), rows_here, checked.violations, partial(_row_text, batch))
        numbers = np.asarray(checked.valid_rows, np.int64) + first
        first += len(batch)
        yield EventBatch(checked.valid, numbers, dead, len(batch), int(first * bytes_a_row))


def _row_text(batch: pa.RecordBatch, row: int) -> str:
    return json_rows(batch.slice(row, 1))[0]


def _line_batches(path: Path, schema: Schema, rows: int, ignore_unknown: bool) -> Iterator[EventBatch]:
    first = 0
    for block in read_lines(path, rows):
        if first == 0 and block.lines[0].lstrip().startswith(b"["):
            raise CommandError(f"{path}: a JSON array; events are read one object a line (jq -c '.[]' makes that)")
        text, sound, broken = block.decoded()
        checked = schema.check_json(text, ignore_unknown=ignore_unknown)
        numbers = sound[np.asarray(checked.valid_rows, np.int64)] + first
        dead = NO_LETTERS
        if len(checked.violations) or len(broken):
            dead = _dead_lines(path, block, checked.violations, sound, broken)
        first += len(block.lines)
        yield EventBatch(checked.valid, numbers, dead, len(block.lines), block.consumed)


def _dead_lines(
    path: Path, block: Lines, violations: pa.Table, sound: npt.NDArray[np.int64], broken: npt.NDArray[np.int64]
) -> pa.Table:
    source = "standard input" if path == STREAM else str(path)
    dead = NO_LETTERS
    if len(violations):
        dead = letters(source, block.numbers[sound], violations, lambda event: block.text(int(sound[event])))
    if len(broken):
        count = len(broken)
        not_utf8 = pa.table(
            {
                "event": broken,
                "attribute": pa.repeat("", count),
                "rule": pa.repeat("form", count),
                "value": pa.nulls(count, pa.string()),
                "message": pa.repeat("the line is not UTF-8", count),
            }
        )
        dead = pa.concat_tables([dead, letters(source, block.numbers, not_utf8, block.text)])
    return dead


@dataclass(frozen=True, slots=True)
class Lines:
    """Consecutive lines without the blank ones. `numbers` counts from 1; `consumed` is the position in the file now."""

    lines: list[bytes]
    numbers: npt.NDArray[np.int64]
    consumed: int

    def decoded(self) -> tuple[pa.StringArray, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Lines that are UTF-8, their positions here, and the positions of those that are not."""
        everything = np.arange(len(self.lines))
        try:
            return pa.array(self.lines, pa.binary()).cast(pa.string()), everything, everything[:0]
        except pa.ArrowInvalid:
            sound = np.array([_is_utf8(line) for line in self.lines], np.bool_)
            kept = [line for line, good in zip(self.lines, sound, strict=True) if good]
            return pa.array(kept, pa.binary()).cast(pa.string()), everything[sound], everything[~sound]

    def text(self, position: int) -> str:
        return self.lines[position].decode("utf-8", "backslashreplace")


def read_lines(path: Path, rows: int) -> Iterator[Lines]:
    """Blocks of lines, up to a number. From a pipe a block comes as soon as there is something to read."""
    with _opened_lines(path) as (stream, raw):
        number = 0
        for block in _blocks(stream):
            if number == 0:
                block[0] = block[0].removeprefix(codecs.BOM_UTF8)  # it marks the file as UTF-8, and is no part of it
            for start in range(0, len(block), rows):
                piece = block[start : start + rows]
                kept = [k for k, line in enumerate(piece) if line and not line.isspace()]
                if kept:
                    numbers = np.array(kept, np.int64) + (number + start + 1)
                    yield Lines([piece[k] for k in kept], numbers, raw.tell() if raw is not None else 0)
            number += len(block)


@contextmanager
def _opened_lines(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes] | None]]:
    """Stream to read from, and the file beneath it, whose position tells the progress."""
    if path == STREAM:
        yield sys.stdin.buffer, None
    elif path.name.lower().endswith(".gz"):
        try:
            with path.open("rb") as raw, gzip.open(raw) as stream:
                yield cast("IO[bytes]", stream), raw
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise CommandError(f"{path}: no gzip file, or a damaged one: {error}") from error
    else:
        with path.open("rb") as raw:
            yield raw, raw


def _blocks(stream: IO[bytes]) -> Iterator[list[bytes]]:
    rest = b""
    while chunk := stream.read1(_BYTES_AT_ONCE):  # type: ignore[attr-defined]
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        if lines:
            yield lines
    if rest:
        yield [rest]


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
