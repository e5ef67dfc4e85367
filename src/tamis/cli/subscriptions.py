"""Subscriptions from a file: JSON lines, CSV, Parquet, or a YAML or JSON mapping from id to filter.

A row that is no subscription is set aside with its reason; it never stops the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import yaml

from tamis.cli.failures import CommandError
from tamis.cli.lines import read_lines
from tamis.cli.paths import Format, format_of
from tamis.cli.refusals import Refusal

FORMATS = (Format.JSON_LINES, Format.JSON, Format.YAML, Format.CSV, Format.PARQUET)

_LINES_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class SubscriptionFile:
    """`table` has string columns `id` and `filter` without nulls, each id once; `refused` are the other rows."""

    table: pa.Table
    refused: list[Refusal]


def read_subscriptions(path: Path) -> SubscriptionFile:
    """Of several rows with one id the first is taken and the others are refused."""
    return _distinct(_read(path))


def _distinct(read: SubscriptionFile) -> SubscriptionFile:
    encoded = read.table["id"].combine_chunks().dictionary_encode().indices.to_numpy()
    firsts = np.unique(encoded, return_index=True)[1]
    if len(firsts) == len(encoded):
        return read
    repeated = np.setdiff1d(np.arange(len(encoded)), firsts)
    refused = [
        Refusal(row["id"], row["filter"], "Subscription", "there is a subscription with this id before it")
        for row in read.table.take(pa.array(repeated)).to_pylist()
    ]
    return SubscriptionFile(read.table.take(pa.array(np.sort(firsts))), read.refused + refused)


def _read(path: Path) -> SubscriptionFile:
    form = Format.PARQUET if path.is_dir() else format_of(path, FORMATS, "subscriptions")
    if form is Format.PARQUET:
        return _from_columns(pyarrow.parquet.read_table(path), path)
    if form is Format.CSV:
        options = pyarrow.csv.ConvertOptions(column_types={"id": pa.string(), "filter": pa.string()})
        parsing = pyarrow.csv.ParseOptions(newlines_in_values=True)
        return _from_columns(pyarrow.csv.read_csv(path, parse_options=parsing, convert_options=options), path)
    if form is Format.JSON_LINES:
        return _from_objects(_json_lines(path))
    text = path.read_text(encoding="utf-8")
    if form is Format.YAML:
        try:
            return _from_document(yaml.safe_load(text), path)
        except yaml.YAMLError as error:
            raise CommandError(f"{path}: not YAML: {error}") from None
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        # `.json` is a common suffix for JSON lines, too.
        return _from_objects(_json_lines(path))
    return _from_document(document, path)


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
        Refusal(table["id"][row].as_py() or "", "", "Subscription", f"row {row + 1}: id or filter is missing")
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
            try:
                yield f"line {number}", json.loads(line)
            except ValueError as error:  # no JSON, or no UTF-8
                yield f"line {number}", Refusal("", "", "Subscription", f"line {number}: not JSON: {error}")


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
                refused.append(Refusal(str(id), "", "Subscription", message))
            case _:
                refused.append(Refusal("", "", "Subscription", f"{place}: expected an object with id and filter"))
    return SubscriptionFile(
        pa.table({"id": pa.array(ids, pa.string()), "filter": pa.array(texts, pa.string())}), refused
    )
