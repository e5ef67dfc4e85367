"""Stock quote workload, read from a folder with PADRES' demo data; and generated sets like those of its evaluation.

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
import pyarrow.compute as pc
import pyarrow.json

from tamis.workloads.workload import Workload, numbered, single_type

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
    """Workload of the folder: its subscriptions, its first `events` events (None: all), and their match counts."""
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
    """Match counts recorded in the folder, per "event" or per "subscription"."""
    with gzip.open(Path(folder) / _COUNTS.format(per), "rt", encoding="utf-8") as lines:
        return np.array([int(line) for line in lines], np.int64)


def filter_of_rule(rule: dict[str, list[Any]]) -> str:
    """Filter of an event-ruler rule: every attribute must be one of the alternatives listed for it."""
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


# Sets A and B of PADRES' evaluation (Li, Hou and Jacobsen, ICDCS 2005, §6), by the simplest reading.
#
# The generator's details are lost from the text we have. Ours: exactly 2 of 20 attributes a subscription, `=` with
# probability .97, else `<` or `>`, integers uniform on `values` values. With 33 values (their set A: about 2,000
# distinct predicates) covering removes about three quarters of 200,000 subscriptions, with 83 (set B: about 5,000)
# not half.

ATTRIBUTES = 20
CONDITIONS = 2
EQUALITY = 0.97
SET_A, SET_B = 33, 83
PUBLISHED = 3

_EQUAL, _LESS, _GREATER = range(3)
_OPERATORS = pa.array([" = ", " < ", " > "])


def padres_sets(
    subscriptions: int,
    events: int,
    seed: int = 1,
    *,
    values: int = SET_A,
    published: int = PUBLISHED,
    conditions: int = CONDITIONS,
) -> Workload:
    """Set A unless `values` says otherwise; an event has `published` of the attributes, values uniform."""
    rng = np.random.default_rng(seed)
    words = [f"a{k}" for k in range(ATTRIBUTES)]
    attribute = np.sort(np.argsort(rng.random((subscriptions, ATTRIBUTES)), axis=1)[:, :conditions], axis=1)
    value = rng.integers(0, values, (subscriptions, conditions))
    unequal = np.where(rng.random((subscriptions, conditions)) < 0.5, _LESS, _GREATER)
    operator = np.where(rng.random((subscriptions, conditions)) < EQUALITY, _EQUAL, unequal)
    terms = [
        pc.binary_join_element_wise(
            pa.array(words).take(pa.array(attribute[:, k])),
            _OPERATORS.take(pa.array(operator[:, k])),
            pa.array(value[:, k]).cast(pa.string()),
            "",
        )
        for k in range(conditions)
    ]
    texts = pc.binary_join_element_wise(*terms, " AND ")
    here = np.argsort(rng.random((events, ATTRIBUTES)), axis=1).argsort(axis=1) < published
    drawn = rng.integers(0, values, (events, ATTRIBUTES))
    columns = {name: pa.array(drawn[:, k], mask=~here[:, k]) for k, name in enumerate(words)}
    schema = single_type(dict.fromkeys(words, "integer"))
    return Workload("padres_sets", schema, numbered(texts), pa.table(columns))
