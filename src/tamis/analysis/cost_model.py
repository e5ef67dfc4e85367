"""The cost model: what each subscription adds to the time for an event, in nanoseconds.

For each place (entry) that a conjunction has in the index's buckets:

    chance that an event reaches the bucket × (a share of fetching the bucket + chance that it is looked at × verifying)

and for the conjunction

    chance that its intervals hold × its tests × deciding one  +  chance that all holds × writing a match
    + the patterns that are run by themselves on every value

Chances are those of the statistics, or what the subscriptions themselves let expect, and are taken for independent of
each other. What all subscriptions share (encoding an event, probing the groups) is nobody's own, and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.analysis.cost_kernels import all_buckets, odds_of_conditions
from tamis.arrays import Floats, Int64s
from tamis.language.predicates import RLike
from tamis.matching.base.statistics import Statistics
from tamis.matching.codes.columns import Kind
from tamis.matching.codes.level import part_of
from tamis.matching.columnar.level import Level
from tamis.matching.columnar.plan import LARGE, SMALL, SMALL_LEVEL, flat, learn
from tamis.matching.patterns.required_literals import like_program_of, required_literals
from tamis.schema import Schema

# Nanoseconds, measured on one machine and rounded: only their ratios matter. The others are the planner's own.
TEST, WRITE, EXPRESSION = 8.0, 1.7, 250.0
BYTES = 4  # of a word of the pool


@dataclass(frozen=True)
class Cost:
    """By subscription number: conjunctions, entries in buckets, bytes there; and expected for an event: candidates (how
    often it is looked at), matches, nanoseconds. `buckets`: how many an event reaches in all."""

    conjuncts: Int64s
    entries: Int64s
    bytes: Int64s
    candidates: Floats
    matches: Floats
    nanoseconds: Floats
    buckets: float


def cost_of(level: Level, schema: Schema, statistics: Statistics | None = None) -> Cost:
    """The cost of a level's subscriptions under a stream with these statistics."""
    conjuncts, encoder = level.conjuncts, level.encoder
    knowledge = learn(conjuncts, encoder, schema, statistics).flat(encoder.singles)
    arrays = level.own_arrays()
    plan, buckets = part_of("groups.", arrays), part_of("buckets.", arrays)
    groups = (plan["sources"], plan["levels"], plan["places"], plan["sets"], plan["set_places"])
    count = len(conjuncts)
    candidates, reached, entries, words = (np.zeros(count) for _ in range(4))
    total = all_buckets(
        buckets["slots"], buckets["slot_starts"], int(buckets["root"][0]), buckets["pool"], groups,
        (arrays["ranges.columns"], arrays["ranges.edges"]), knowledge, np.empty((3, 3), np.int64),
        (candidates, reached, entries, words),
    )  # fmt: skip
    odds, matches = np.empty(count), np.empty(count)
    odds_of_conditions(flat(conjuncts), knowledge, odds, matches)
    costs = SMALL if count <= SMALL_LEVEL else LARGE
    tests = np.diff(conjuncts.test_offsets)
    time = reached * costs.hit + candidates * costs.verify + odds * tests * TEST + matches * WRITE
    time += _expressions(level, knowledge[4])
    owners = np.concatenate([np.arange(conjuncts.simple), conjuncts.owners]).astype(np.int64)

    def summed(values: npt.NDArray[Any]) -> Floats:
        return np.bincount(owners, weights=values, minlength=len(level.names)).astype(np.float64)

    return Cost(
        conjuncts=np.bincount(owners, minlength=len(level.names)),
        entries=summed(entries).astype(np.int64),
        bytes=np.rint(summed(words) * BYTES).astype(np.int64),
        candidates=summed(candidates),
        matches=np.minimum(1.0, summed(matches)),
        nanoseconds=summed(time),
        buckets=total,
    )


def _expressions(level: Level, presence: Floats) -> Floats:
    """For each conjunction what its regular expressions cost: those that no literal gates run on every value.

    Several subscriptions with one expression share it.
    """
    conjuncts, encoder = level.conjuncts, level.encoder
    time = np.zeros(len(conjuncts))
    of_test = np.zeros(len(conjuncts.test_columns))
    for number, column in enumerate(encoder.columns):
        if column.kind is not Kind.PATTERNS:
            continue
        for test in np.flatnonzero(conjuncts.test_columns == number).tolist():
            pattern = encoder.patterns[column.attribute].pattern(int(conjuncts.test_lows[test]) >> 1)
            if isinstance(pattern, RLike) and is_ungated(str(pattern.pattern)):
                of_test[test] = EXPRESSION * presence[number]
    if not of_test.any():
        return time
    users = np.bincount(conjuncts.tests, minlength=len(of_test))
    owners = np.repeat(np.arange(len(conjuncts)), np.diff(conjuncts.test_offsets))
    np.add.at(time, owners, (of_test / np.maximum(1, users))[conjuncts.tests])
    return time


def is_ungated(expression: str) -> bool:
    """True if a regular expression is run on every value, because no literal must be in those it is found in."""
    return like_program_of(expression) is None and not required_literals(expression).literals
