"""Findings of an analysis: the result's tables and summary, always and never matching filters, and advice on costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.analysis.cost_model import Cost, is_ungated
from tamis.arrays import Bools, Int64s
from tamis.errors import FilterError, TamisError
from tamis.language import Filter, normalise, parse
from tamis.language.predicates import Literal, Not, RLike, attributes_of
from tamis.language.printing import print_literal
from tamis.routing.covering import covers
from tamis.routing.covering.facts.facts import Facts
from tamis.routing.covering.facts.kernels import ABSENT
from tamis.routing.covering.search.covers import Covers
from tamis.routing.covering.search.ground import NEVER, Classes
from tamis.schema import EVENT_TYPE, Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure


CONTRADICTORY, ALWAYS_TRUE, DUPLICATE, COVERED, SILENT = (
    "contradictory",
    "always true",
    "duplicate",
    "covered",
    "silent",
)
FINDINGS = (CONTRADICTORY, ALWAYS_TRUE, DUPLICATE, COVERED, SILENT)
"""What a subscription may be, the gravest first; `finding` is the first that it is."""

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("filter", pa.string()),
        ("finding", pa.string()),
        ("remedy", pa.string()),
        ("contradictory", pa.bool_()),
        ("always_true", pa.bool_()),
        ("duplicate_of", pa.string()),
        ("covered_by", pa.string()),
        ("undecided", pa.bool_()),
        ("matches", pa.int64()),
        ("conjuncts", pa.int64()),
        ("entries", pa.int64()),
        ("bytes", pa.int64()),
        ("candidates_per_event", pa.float64()),
        ("matches_per_event", pa.float64()),
        ("nanoseconds_per_event", pa.float64()),
    ]
)
"""The columns of the table; docs/analysis.md explains each."""


@dataclass(frozen=True)
class Found:
    """Findings by number of the subscription, or of its class.

    `always` and `never` are flags of classes; `matches` counts matches over `events` events of a history, if there was
    one.
    """

    ids: pa.Array
    texts: pa.Array
    classes: Classes
    covers: Covers
    always: Bools
    never: Bools
    cost: Cost
    matches: Int64s | None
    events: int


def table_of(found: Found) -> pa.Table:
    """Table of findings: one row a subscription, in the order of their numbers."""
    of, count = found.classes.of, len(found.ids)
    known = of >= 0
    inside = np.maximum(of, 0)
    contradictory = of == NEVER
    contradictory[known] |= found.never[of[known]]
    always = known & _of(found.always, inside)
    leader = np.full(count, -1, np.int64)
    leader[known] = found.classes.first[of[known]]
    duplicate = (leader >= 0) & (leader != np.arange(count))
    covering = np.full(count, -1, np.int64)
    covering[known] = found.covers.cover[of[known]]
    covered = covering >= 0
    by = np.where(covered, found.classes.first[np.maximum(covering, 0)] if len(found.classes) else 0, 0)
    silent = np.zeros(count, np.bool_) if found.matches is None or not found.events else found.matches == 0
    flags = dict(zip(FINDINGS, (contradictory, always, duplicate, covered & ~duplicate, silent), strict=True))
    finding = pa.array(np.select(list(flags.values()), list(flags), default=""), pa.string())
    finding = pc.if_else(pc.equal(finding, ""), pa.scalar(None, pa.string()), finding)
    duplicate_of = found.ids.take(pa.array(np.where(duplicate, leader, 0), mask=~duplicate))
    covered_by = found.ids.take(pa.array(by, mask=~covered))
    matches = pa.nulls(count, pa.int64()) if found.matches is None else pa.array(found.matches)
    cost = found.cost
    columns = [
        found.ids, found.texts, finding, _remedies(finding, duplicate_of, covered_by, found.events), contradictory,
        always, duplicate_of, covered_by, known & _of(found.covers.undecided, inside), matches, cost.conjuncts,
        cost.entries, cost.bytes, cost.candidates, cost.matches, cost.nanoseconds,
    ]  # fmt: skip
    arrays = [c if isinstance(c, pa.Array) else pa.array(c) for c in columns]
    return pa.table([a.cast(f.type) for a, f in zip(arrays, SCHEMA, strict=True)], schema=SCHEMA)


def _of(flags: Bools, classes: npt.NDArray[np.int32]) -> Bools:
    return flags[classes] if len(flags) else np.zeros(len(classes), np.bool_)


def _remedies(finding: pa.Array, duplicate_of: pa.Array, covered_by: pa.Array, events: int) -> pa.Array:
    """Advice, one line each."""
    said = {
        CONTRADICTORY: "no event can match it: correct it, or remove it",
        ALWAYS_TRUE: "every event matches it: ask for something, or take the stream itself",
        SILENT: f"none of {events:,} events matched it: correct it, or let it expire",
    }
    remedy = pa.nulls(len(finding), pa.string())
    for name, text in said.items():
        remedy = pc.if_else(pc.fill_null(pc.equal(finding, name), False), text, remedy)
    same = pc.binary_join_element_wise("asks for the same as ", duplicate_of, ": keep one of them", "")
    more = pc.binary_join_element_wise(covered_by, " matches all that it matches: keep that one alone", "")
    remedy = pc.if_else(pc.fill_null(pc.equal(finding, DUPLICATE), False), same.cast(pa.string()), remedy)
    return pc.if_else(pc.fill_null(pc.equal(finding, COVERED), False), more.cast(pa.string()), remedy)


# Tautologies and contradictions: filters that match everything, and filters that match nothing.

TRUE = Filter(((),))


def always_true(facts: Facts, classes: Classes, schema: Schema, filters: Callable[[int], Filter]) -> Bools:
    """Mask of the classes that every valid event matches.

    That is so where an alternative asks for nothing but attributes that every event type has. Of alternatives that only
    together leave nothing out, one asks for absence alone; of such classes the normal forms are looked at.
    """
    given = facts.allows_all & _mandatory(facts, schema)[facts.attributes]
    asks_nothing = _all_of(facts, given)
    of_class = _any_of(classes, asks_nothing)
    absent_only = _all_of(facts, facts.kinds == ABSENT)
    several = np.diff(classes.offsets) > 1
    for k in np.flatnonzero(_any_of(classes, absent_only) & several & ~of_class).tolist():
        of_class[k] = covers(filters(k), TRUE, schema)
    return of_class


def never_true(facts: Facts, classes: Classes, schema: Schema) -> Bools:
    """Mask of the classes that no valid event matches: each alternative requires an attribute absent that every
    event type has, or present that none has."""
    unknown = _unknown(facts, schema)[facts.attributes] & (facts.kinds != ABSENT)
    missing = _mandatory(facts, schema)[facts.attributes] & (facts.kinds == ABSENT)
    hopeless = ~_all_of(facts, ~(unknown | missing))
    return ~_any_of(classes, ~hopeless)


def _mandatory(facts: Facts, schema: Schema) -> Bools:
    """Mask of the attributes that every event type requires."""
    types = schema.event_types.values()
    return np.array(
        [
            name == EVENT_TYPE or all(name in t.annotations and t.annotations[name].mandatory for t in types)
            for name in facts.names
        ],
        np.bool_,
    )


def _unknown(facts: Facts, schema: Schema) -> Bools:
    """Mask of the attributes that no event type has."""
    types = schema.event_types.values()
    return np.array(
        [name != EVENT_TYPE and not any(name in t.annotations for t in types) for name in facts.names], np.bool_
    )


def _all_of(facts: Facts, flags: Bools) -> Bools:
    """Mask of the conjunctions all of whose facts are marked."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(flags)])
    return np.diff(ends[facts.offsets]) == np.diff(facts.offsets)


def _any_of(classes: Classes, flags: Bools) -> Bools:
    """Mask of the classes that have a marked conjunction."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(flags[classes.members])])
    return np.diff(ends[classes.offsets]) > 0


# Advice: why a subscription is expensive to match, and what would make it cheaper, in a line.

_OFTEN = 0.1
_MANY = 8
_IN_VAIN = 20
_ALWAYS = 0.8
_SUGGESTED = 2


def reason(text: str, conjuncts: int, candidates: float, matches: float, popular: Sequence[str], schema: Schema) -> str:
    """Advice for a subscription with this expected number of candidates and matches an event.

    `popular` are the attributes that most subscriptions name: what is on them, the index looks up.
    """
    filter = _normal(text, schema)
    expression = None if filter is None else _expression(filter)
    if expression is not None:
        shown = print_literal(expression, schema)
        return f"{shown} is run on every value: name letters that must occur, or ask for an equality beside it"
    if matches >= _OFTEN:
        return f"it matches {matches:.0%} of events: that many matches cost that much; narrow it if fewer will do"
    if conjuncts >= _MANY:
        return f"it has {conjuncts} alternatives, each looked up by itself: ask for what they share first, or split it"
    named = set() if filter is None else {name for c in filter.conjuncts for x in c for name in attributes_of(x)}
    others = [name for name in popular if name not in named][:_SUGGESTED]
    beside = f" on {' or '.join(others)}" if others else ""
    if candidates > _ALWAYS * conjuncts:
        return f"every event looks at it, for nothing in it is looked up: ask for an equality or a short list{beside}"
    if candidates >= _IN_VAIN * max(matches, 1e-9):
        return f"it is looked at in vain: an equality, a short list or a narrow range{beside} would find it sooner"
    return "it is looked at about as often as it matches: there is little to gain"


def _normal(text: str, schema: Schema) -> Filter | None:
    try:
        return normalise(parse(text, schema), schema)
    except FilterError:  # accepted under wider limits
        return None


def _expression(filter: Filter) -> Literal | None:
    """Regular expression of the filter that no literal gates."""
    for conjunct in filter.conjuncts:
        for literal in conjunct:
            leaf = literal.leaf if isinstance(literal, Not) else literal
            if isinstance(leaf, RLike) and is_ungated(str(leaf.pattern)):
                return literal
    return None


# Result of an analysis: its tables, summary and picture.


@dataclass(frozen=True)
class Analysis:
    """Result of an analysis: tables about subscriptions under one schema.

    `subscriptions` has one row each (`findings.SCHEMA`); `attributes` and `predicates` (`subscription_set.Usage`) are
    by how many subscriptions use them, the predicates only the most used. `events` is how many events of a history were
    matched. `refused` are the subscriptions that could not be taken, by id. `compared` counts the pairs of filters that
    were looked at for covers, of about the square of all.
    """

    schema: Schema
    subscriptions: pa.Table
    attributes: pa.Table
    predicates: pa.Table
    events: int
    refused: list[tuple[str, TamisError]]
    compared: int

    def __len__(self) -> int:
        return int(self.subscriptions.num_rows)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of subscriptions with each finding, and of those that are superfluous."""
        found = pc.value_counts(self.subscriptions["finding"].drop_null()).to_pylist()
        by_name = {row["values"]: row["counts"] for row in found}
        return {name: by_name.get(name, 0) for name in FINDINGS}

    @property
    def superfluous(self) -> int:
        """Number of superfluous subscriptions: contradictory, duplicate or covered."""
        return sum(self.counts[name] for name in ("contradictory", "duplicate", "covered"))

    def examples(self, finding: str, count: int) -> list[dict[str, Any]]:
        """Rows that have a finding, the first of them."""
        rows = self.subscriptions.filter(pc.fill_null(pc.equal(self.subscriptions["finding"], finding), False))
        taken: list[dict[str, Any]] = rows.slice(0, count).to_pylist()
        return taken

    def filters(self, ids: Iterable[str]) -> dict[str, str]:
        """Filters of some subscriptions, by id."""
        rows = self.subscriptions.filter(pc.is_in(self.subscriptions["id"], pa.array(list(ids), pa.string())))
        return dict(zip(rows["id"].to_pylist(), rows["filter"].to_pylist(), strict=True))

    def dearest(self, count: int) -> list[dict[str, Any]]:
        """Most expensive subscriptions to match, in descending order, each with its share of all and with a
        `reason`."""
        cost = np.asarray(self.subscriptions["nanoseconds_per_event"])
        order = np.argsort(-cost, kind="stable")[:count]
        total = max(cost.sum(), 1e-12)
        rows: list[dict[str, Any]] = self.subscriptions.take(pa.array(order)).to_pylist()
        popular = self.attributes["attribute"].to_pylist()[:_POPULAR]
        for row in rows:
            row["share"] = row["nanoseconds_per_event"] / total
            expected = row["matches_per_event"]
            seen = expected if row["matches"] is None or not self.events else row["matches"] / self.events
            looked = row["candidates_per_event"]
            row["reason"] = reason(row["filter"], row["conjuncts"], looked, seen, popular, self.schema)
        return rows

    def summary(self, top: int = 10) -> dict[str, Any]:
        """Summary of all findings, ready for JSON."""
        table = self.subscriptions
        return {
            "subscriptions": len(self),
            "refused": len(self.refused),
            "findings": dict(self.counts),
            "superfluous": self.superfluous,
            "undecided": pc.sum(table["undecided"]).as_py() or 0,
            "compared": self.compared,
            "events": self.events,
            "per_event": {
                name: pc.sum(table[f"{name}_per_event"]).as_py() or 0.0
                for name in ("candidates", "matches", "nanoseconds")
            },
            "bytes": pc.sum(table["bytes"]).as_py() or 0,
            "dearest": [
                {key: row[key] for key in _DEAREST} for row in self.dearest(top) if row["nanoseconds_per_event"] > 0
            ],
            "attributes": self.attributes.slice(0, top).to_pylist(),
            "predicates": self.predicates.slice(0, top).to_pylist(),
            "examples": {
                name: [{key: row[key] for key in ("id", "filter", "remedy")} for row in self.examples(name, top)]
                for name in FINDINGS
            },
        }

    def plot(self, path: str | Path | None = None, top: int = 12) -> Figure:
        """Writes the picture to a .png, .svg or .pdf file: findings, the most expensive, the most used attributes."""
        from tamis.analysis.picture import plot

        return plot(self, path, top)


_POPULAR = 8
_DEAREST = (
    "id", "filter", "nanoseconds_per_event", "share", "candidates_per_event", "matches_per_event", "entries", "reason",
)  # fmt: skip
