"""What is found of each subscription, as one table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.analysis.cost.cost import Cost
from tamis.routing.covering.search.classes import NEVER, Classes
from tamis.routing.covering.search.covers import Covers

Flags = npt.NDArray[np.bool_]
Int64s = npt.NDArray[np.int64]

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
    """Everything that was found, by number of the subscription, or of its class.

    `always` and `never` are flags of classes; `matches` counts matches over `events` events of a history, if there was
    one.
    """

    ids: pa.Array
    texts: pa.Array
    classes: Classes
    covers: Covers
    always: Flags
    never: Flags
    cost: Cost
    matches: Int64s | None
    events: int


def table_of(found: Found) -> pa.Table:
    """One row a subscription, in the order of their numbers."""
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


def _of(flags: Flags, classes: npt.NDArray[np.int32]) -> Flags:
    return flags[classes] if len(flags) else np.zeros(len(classes), np.bool_)


def _remedies(finding: pa.Array, duplicate_of: pa.Array, covered_by: pa.Array, events: int) -> pa.Array:
    """One line each."""
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
