"""The subscriptions that hold the patterns of an attribute: who is charged for a slow one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tamis.matching.codes.codes import LISTED, Conjuncts
from tamis.matching.codes.columns import Kind

if TYPE_CHECKING:
    from tamis.matching.codes.level import Level
    from tamis.matching.patterns import PatternSet

Numbers = npt.NDArray[np.int64]


class Subscribers(Protocol):
    """Subscriptions by number."""

    def find(self, id: str) -> int | None:
        """The number of a subscription that is there."""

    def id_of(self, number: int) -> str: ...


class Holders(NamedTuple):
    """Pattern `patterns[i]` is in a condition of subscription number `subscriptions[i]`; each pair once."""

    patterns: Numbers
    subscriptions: Numbers
    subscribers: Subscribers


def holders_of(level: Level, patterns: PatternSet) -> Holders | None:
    """Those of a level that are not removed; None if the set is not the level's. Takes a look at every conjunction."""
    for attribute, one in level.encoder.patterns.items():
        if one is patterns:
            column = next(
                number
                for number, column in enumerate(level.encoder.columns)
                if column.kind is Kind.PATTERNS and column.attribute == attribute
            )
            return _present(level, *_pairs(level.conjuncts, column))
    return None


def _pairs(conjuncts: Conjuncts, column: int) -> tuple[Numbers, Numbers]:
    """Patterns and the conjunctions that test for them. Every condition on a set of codes stands among the tests."""
    tests = np.flatnonzero(conjuncts.test_columns == column)
    listed = conjuncts.test_flags[tests] & LISTED != 0
    tested, codes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for some, is_listed in ((tests[~listed], False), (tests[listed], True)):
        lows = conjuncts.test_lows[some].astype(np.int64)
        ends = conjuncts.test_highs[some].astype(np.int64) + (not is_listed)
        lengths = ends - lows
        within = ranges(lows, lengths)
        tested.append(np.repeat(some, lengths))
        codes.append(conjuncts.listed[within].astype(np.int64) if is_listed else within)
    test_numbers, all_codes = np.concatenate(tested), np.concatenate(codes)
    test_numbers, patterns = test_numbers[all_codes % 2 == 1], all_codes[all_codes % 2 == 1] // 2
    # From tests to the conjunctions that have them.
    used = np.flatnonzero(np.isin(conjuncts.tests, test_numbers))
    owners = np.searchsorted(conjuncts.test_offsets, used, side="right") - 1
    order = np.argsort(test_numbers, kind="stable")
    ordered = test_numbers[order]
    first = np.searchsorted(ordered, conjuncts.tests[used], side="left")
    counts = np.searchsorted(ordered, conjuncts.tests[used], side="right") - first
    return patterns[order][ranges(first.astype(np.int64), counts)], np.repeat(owners, counts)


def ranges(starts: Numbers, lengths: npt.NDArray[Any]) -> Numbers:
    """The numbers from each start on, so many of each."""
    ends = np.cumsum(lengths, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int64) - np.repeat(ends - lengths - starts, lengths)


def _present(level: Level, patterns: Numbers, conjunctions: Numbers) -> Holders:
    conjuncts = level.conjuncts
    others = conjunctions - conjuncts.simple
    subscriptions = np.where(others < 0, conjunctions, 0)
    subscriptions[others >= 0] = conjuncts.owners[others[others >= 0]]
    gone = np.isin(subscriptions, level.gone)
    pairs = np.unique(np.stack([patterns[~gone], subscriptions[~gone]]), axis=1)
    return Holders(pairs[0], pairs[1], level)
