"""Subscription files: JSON lines, CSV, Parquet, or a YAML or JSON mapping from id to filter, and their refused rows.

An invalid row is set aside with its reason; it never stops the others. Refused ones are shown to the user, and written
to a table.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from tamis.cli.base.options import CommandError, Format, format_of
from tamis.cli.base.terminal import warn
from tamis.cli.work.events import read_lines
from tamis.cli.work.tables import write_table
from tamis.errors import FilterError, SchemaError, TamisError
from tamis.schema.form import read_yaml

FORMATS = (Format.JSON_LINES, Format.JSON, Format.YAML, Format.CSV, Format.PARQUET)

_LINES_AT_ONCE = 10_000
_BLOCK = 1 << 20

_TOLD = 10


@dataclass(frozen=True, slots=True)
class SubscriptionFile:
    """Subscriptions of a file: `table` has string columns `id` and `filter` without nulls, each id once; `refused` are
    the other rows.
    """

    table: pa.Table
    refused: list[Refusal]


def read_subscriptions(path: Path) -> SubscriptionFile:
    """Reads a file of subscriptions. Of several rows with one id the first is taken and the others are refused."""
    try:
        return _distinct(_read(path))
    except pa.ArrowException as error:
        raise CommandError(f"{path}: the subscriptions cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: the file is not UTF-8") from error


def _distinct(read: SubscriptionFile) -> SubscriptionFile:
    encoded = read.table["id"].combine_chunks().dictionary_encode().indices.to_numpy()
    firsts = np.unique(encoded, return_index=True)[1]
    if len(firsts) == len(encoded):
        return read
    repeated = np.setdiff1d(np.arange(len(encoded)), firsts)
    refused = [
        Refusal(row["id"], row["filter"], "SubscriptionError", "there is a subscription with this id before it")
        for row in read.table.take(pa.array(repeated)).to_pylist()
    ]
    return SubscriptionFile(read.table.take(pa.array(np.sort(firsts))), read.refused + refused)


def _read(path: Path) -> SubscriptionFile:
    form = Format.PARQUET if path.is_dir() else format_of(path, FORMATS, "subscriptions")
    if form is Format.PARQUET:
        return _from_columns(pyarrow.parquet.read_table(path), path)
    if form is Format.CSV:
        return _csv(path)
    if form is Format.JSON_LINES:
        return _from_objects(_json_lines(path))
    text = path.read_text(encoding="utf-8-sig")
    if form is Format.YAML:
        try:
            document = read_yaml(text)
        except SchemaError as error:
            raise CommandError(f"{path}: {error}") from None
        return _from_document({} if document is None else document, path)
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        # `.json` is a common suffix for JSON lines, too.
        return _from_objects(_json_lines(path))
    return _from_document(document, path)


def _csv(path: Path) -> SubscriptionFile:
    """Reads CSV. A row with too many columns, for instance of an unquoted filter with commas, is refused alone."""
    refused: list[Refusal] = []

    def refuse(row: pyarrow.csv.InvalidRow) -> str:
        message = f"{row.actual_columns} columns in place of {row.expected_columns}; put a filter with commas in quotes"
        refused.append(Refusal(row.text.partition(",")[0], "", "SubscriptionError", f"row {row.number}: {message}"))
        return "skip"

    if path.stat().st_size == 0:
        raise CommandError(f"{path}: the file is empty; its first line should be id,filter")
    _require_text(path)
    read = pyarrow.csv.read_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(use_threads=False),  # else rows have no numbers
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=refuse),
        convert_options=pyarrow.csv.ConvertOptions(column_types={"id": pa.string(), "filter": pa.string()}),
    )
    found = _from_columns(read, path)
    return SubscriptionFile(found.table, refused + found.refused)


def _require_text(path: Path) -> None:
    """Refuses rows that are not UTF-8: Arrow would print a message on standard error for each."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            decoder.decode(block)
    decoder.decode(b"", final=True)


def _from_columns(table: pa.Table, path: Path) -> SubscriptionFile:
    missing = [name for name in ("id", "filter") if name not in table.column_names]
    if missing:
        found = ", ".join(table.column_names) or "none"
        raise CommandError(f"{path}: subscriptions need the columns id and filter; the columns are {found}")
    table = table.select(["id", "filter"]).cast(pa.schema({"id": pa.string(), "filter": pa.string()}))
    good = pc.and_(pc.is_valid(table["id"]), pc.is_valid(table["filter"]))
    if pc.all(good).as_py() is not False:
        return SubscriptionFile(table, [])
    refused = [
        Refusal(table["id"][row].as_py() or "", "", "SubscriptionError", f"row {row + 1}: id or filter is missing")
        for row in pc.indices_nonzero(pc.invert(good)).to_pylist()
    ]
    return SubscriptionFile(table.filter(good), refused)


def _from_document(document: Any, path: Path) -> SubscriptionFile:
    if isinstance(document, Mapping):
        if set(document) == {"id", "filter"}:
            return _from_objects([("object 1", document)])
        return _from_objects((f"entry {key}", {"id": key, "filter": text}) for key, text in document.items())
    if isinstance(document, list):
        return _from_objects((f"object {number}", item) for number, item in enumerate(document, 1))
    raise CommandError(f"{path}: expected a mapping from id to filter, or a list of objects with id and filter")


def _json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    for block in read_lines(path, _LINES_AT_ONCE):
        for line, number in zip(block.lines, block.numbers.tolist(), strict=True):
            place = f"line {number}"
            try:
                yield place, json.loads(line.decode("utf-8"))
            except json.JSONDecodeError as error:
                message = f"{place}: not JSON: {error.msg} (column {error.colno})"
                yield place, Refusal("", "", "SubscriptionError", message)
            except (UnicodeDecodeError, RecursionError) as error:
                reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else "nested too deeply"
                yield place, Refusal("", "", "SubscriptionError", f"{place}: {reason}")


def _from_objects(objects: Iterable[tuple[str, Any]]) -> SubscriptionFile:
    ids: list[str] = []
    texts: list[str] = []
    refused: list[Refusal] = []
    for place, item in objects:
        match item:
            case {"id": str(id), "filter": str(text)}:
                ids.append(id)
                texts.append(text)
            case {"id": int(id), "filter": str(text)} if not isinstance(id, bool):
                ids.append(str(id))
                texts.append(text)
            case Refusal():
                refused.append(item)
            case {"id": id}:
                message = f"{place}: expected an id (a string or an integer) and a filter (a string)"
                refused.append(Refusal(str(id), "", "SubscriptionError", message))
            case _:
                refused.append(Refusal("", "", "SubscriptionError", f"{place}: expected an object with id and filter"))
    return SubscriptionFile(
        pa.table({"id": pa.array(ids, pa.string()), "filter": pa.array(texts, pa.string())}), refused
    )


@dataclass(frozen=True, slots=True)
class Refusal:
    """Refused subscription with the reason; `filter[start:end]` is the part at fault."""

    id: str
    filter: str
    error: str
    message: str
    start: int | None = None
    end: int | None = None

    @classmethod
    def of(cls, id: str, error: TamisError) -> Refusal:
        if isinstance(error, FilterError):
            return cls(id, error.text, type(error).__name__, error.message, error.start, error.end)
        return cls(id, "", type(error).__name__, str(error))

    def __str__(self) -> str:
        if self.start is None or self.end is None:
            return f"{self.error}: {self.message}"
        return f"{self.error}: {FilterError(self.message, self.filter, self.start, self.end)}"


def report(refusals: Sequence[Refusal], path: Path | None) -> None:
    """Prints the first few refusals; all of them go to `path`, where one is given."""
    for refusal in refusals[:_TOLD]:
        name = f"subscription {refusal.id}" if refusal.id else "a subscription"
        warn(f"{name} refused: {refusal}")
    left = len(refusals) - _TOLD
    if left > 0:
        warn(f"... and {left:,} more" + ("" if path else "; --refused FILE writes them all"))
    if path is not None:
        write_table(_refusal_table(refusals), path)


def _refusal_table(refusals: Sequence[Refusal]) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([r.id for r in refusals], pa.string()),
            "filter": pa.array([r.filter for r in refusals], pa.string()),
            "error": pa.array([r.error for r in refusals], pa.string()),
            "message": pa.array([r.message for r in refusals], pa.string()),
            "start": pa.array([r.start for r in refusals], pa.int64()),
            "end": pa.array([r.end for r in refusals], pa.int64()),
        }
    )
