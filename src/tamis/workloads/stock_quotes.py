"""Stock quotes and subscriptions to them, read from a folder laid out as PADRES' demo data is for Tamis.

The folder holds `subscriptions.jsonl.gz` (an id and a rule a line, in event-ruler's form: each attribute with the list
of what it may be), `events.jsonl.gz` (a flat object a line), and how many matches each event and each subscription has,
found by brute force, in `expected_matches_per_event.txt.gz` and `expected_matches_per_subscription.txt.gz`.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.json

from tamis.workloads.workload import Workload, single_type

KINDS = {
    "class": "string",
    "symbol": "string",
    "open": "float",
    "high": "float",
    "low": "float",
    "close": "float",
    "volume": "integer",
    "date": "string",
}
_COUNTS = "expected_matches_per_{}.txt.gz"


def stock_quotes(folder: str | Path, events: int | None = None) -> Workload:
    """The folder's subscriptions, its first so many events (all of them where `events` is None), and their counts."""
    schema = single_type(KINDS, "quote")
    with gzip.open(Path(folder) / "subscriptions.jsonl.gz", "rt", encoding="utf-8") as lines:
        rules = [json.loads(line) for line in lines]
    ids = pa.array([str(rule["id"]) for rule in rules])
    texts = pa.array([filter_of_rule(rule["rule"]) for rule in rules])
    form = pa.schema([schema.arrow_schema.field(name) for name in KINDS])
    options = pyarrow.json.ParseOptions(explicit_schema=form, unexpected_field_behavior="error")
    with gzip.open(Path(folder) / "events.jsonl.gz", "rb") as stream:
        quotes = pyarrow.json.read_json(stream, parse_options=options)
    subscriptions = pa.table({"id": ids, "filter": texts})
    counted = (Path(folder) / _COUNTS.format("event")).exists()
    expected = expected_matches(folder, "event")[:events] if counted else None
    return Workload("stock_quotes", schema, subscriptions, quotes.slice(0, events), expected)


def expected_matches(folder: str | Path, per: str) -> npt.NDArray[np.int64]:
    """The folder's own count of matches, per "event" or per "subscription"."""
    with gzip.open(Path(folder) / _COUNTS.format(per), "rt", encoding="utf-8") as lines:
        return np.array([int(line) for line in lines], np.int64)


def filter_of_rule(rule: dict[str, list[Any]]) -> str:
    """An event-ruler rule as a filter: every attribute must be one of the alternatives listed for it."""
    return " AND ".join(_attribute(name, alternatives) for name, alternatives in rule.items())


def _attribute(name: str, alternatives: list[Any]) -> str:
    terms = [_alternative(f'"{name}"', each) for each in alternatives]
    return terms[0] if len(terms) == 1 else f"({' OR '.join(terms)})"


def _alternative(name: str, alternative: Any) -> str:
    match alternative:
        case {"numeric": [*comparisons]}:
            pairs = zip(comparisons[::2], comparisons[1::2], strict=True)
            return " AND ".join(f"{name} {operator} {bound}" for operator, bound in pairs)
        case str():
            return f"{name} = '" + alternative.replace("'", "''") + "'"
        case bool() | int() | float():
            return f"{name} = {json.dumps(alternative)}"
        case _:
            raise ValueError(f"a rule with {alternative!r} on {name} has no counterpart among filters")
