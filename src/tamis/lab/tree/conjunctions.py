"""Subscriptions as conjunctions over keys: the predicates a tree can hold, and the tests it cannot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.arrays import Int32s, Int64s
from tamis.lab.tree.checks import Checks
from tamis.lab.tree.layout import TESTED
from tamis.lab.tree.vocabulary import Given, Source, Vocabulary
from tamis.language.shapes import Bound
from tamis.matching.codes.conditions import Conditions, Interval, Listing, Test
from tamis.matching.codes.lower import lower_into


@dataclass(frozen=True)
class Conjunctions:
    """Conjunction c belongs to subscription `owners[c]`.

    Its predicates are `offsets[c]:offsets[c + 1]`, ascending by level, a level once: a key of the level's column lies
    between low and high; on a column of sets, low is high; from TESTED on, the test of that number holds (1).
    `specials[c]` is its number among the checks, -1 if its predicates are all there is.
    """

    owners: Int32s
    offsets: Int64s
    levels: Int32s
    lows: Int64s
    highs: Int64s
    specials: Int32s

    def __len__(self) -> int:
        return len(self.owners)


@dataclass(frozen=True, slots=True)
class _Predicates:
    conjuncts: Int64s
    source: Source
    lows: Int64s
    highs: Int64s


def conjunctions_of(bound: Bound, rows: Int64s, vocabulary: Vocabulary, checks: Checks, general: bool) -> Conjunctions:
    """Conjunctions of the bound subscriptions; text t of `bound` is subscription `rows[t]`.

    `general`: tests are predicates too.
    """
    return _Reading(bound, rows, vocabulary, checks, general).conjunctions()


class _Reading:
    """One addition: lowered as for the columnar engine, but to keys that stay."""

    def __init__(self, bound: Bound, rows: Int64s, vocabulary: Vocabulary, checks: Checks, general: bool) -> None:
        self._vocabulary, self._checks, self._general = vocabulary, checks, general
        self._given = Given(vocabulary.schema)
        self._conditions = Conditions(vocabulary.schema, self._given)
        lower_into(self._conditions, bound, rows)
        self._patterns = vocabulary.pattern_numbers(self._conditions.patterns)
        self._predicates: list[_Predicates] = []
        self._tests: list[tuple[Int64s, Int64s]] = []  # conjunctions and the numbers of their tests
        self._ordered: list[tuple[Test | Interval, Source]] = []

    def conjunctions(self) -> Conjunctions:
        conditions = self._conditions
        for interval in conditions.intervals:
            self._interval(interval)
        members: dict[Source, list[Test]] = {}
        plain: list[tuple[Test, Source]] = []
        for test in conditions.tests:
            source = self._vocabulary.source_of(test.column, test.low, test.high)
            if source.column.kind.is_set and not test.flags and test.low is test.high:
                members.setdefault(source, []).append(test)
            else:
                plain.append((test, source))
        for source, some in members.items():
            self._members(source, some)
        listings = [(listing, *self._matrix(listing)) for listing in conditions.listings]
        self._number_levels()
        for test, source in plain:
            self._test(test.conjuncts, source, test.flags, *self._bounds(test, source))
        for ordered, source in self._ordered:
            self._test(ordered.conjuncts, source, 0, *self._bounds(ordered, source))
        for listing, source, matrix in listings:
            numbers = self._checks.number_lists(self._vocabulary.number(source), listing.flags, matrix)
            self._tests.append((listing.conjuncts, np.broadcast_to(numbers, len(listing.conjuncts))))
        return self._gathered()

    def _bounds(self, condition: Interval | Test, source: Source) -> tuple[Int64s, Int64s]:
        low = self._vocabulary.keys(source, condition.low, self._given, self._patterns)
        if condition.high is condition.low:
            return low, low
        return low, self._vocabulary.keys(source, condition.high, self._given, self._patterns)

    def _interval(self, interval: Interval) -> None:
        source = self._vocabulary.source_of(interval.column, interval.low, interval.high)
        if source.ranked:
            self._ordered.append((interval, source))
        elif not source.column.kind.is_set:  # members of sets stand among the tests as well
            self._predicate(interval.conjuncts, source, *self._bounds(interval, source))

    def _predicate(self, conjuncts: Int64s, source: Source, lows: Int64s, highs: Int64s) -> None:
        count = len(conjuncts)
        self._predicates.append(
            _Predicates(conjuncts, source, np.broadcast_to(lows, count), np.broadcast_to(highs, count))
        )

    def _members(self, source: Source, tests: list[Test]) -> None:
        """One member of a set a conjunction is a predicate, the others are tests."""
        conjuncts = np.concatenate([test.conjuncts for test in tests])
        keys = np.concatenate([np.broadcast_to(self._bounds(t, source)[0], len(t.conjuncts)) for t in tests])
        firsts = np.unique(conjuncts, return_index=True)[1]
        self._predicate(conjuncts[firsts], source, keys[firsts], keys[firsts])
        rest = np.delete(np.arange(len(keys)), firsts)
        if len(rest):
            self._test(conjuncts[rest], source, 0, keys[rest], keys[rest])

    def _matrix(self, listing: Listing) -> tuple[Source, Int64s]:
        """A listing's keys, a row a conjunction or one for all; around them a range that a tree can hold."""
        source, count = Source(listing.column), len(listing.conjuncts)
        keys = [self._vocabulary.keys(source, edge, self._given, self._patterns) for edge in listing.edges]
        columns = [np.broadcast_to(some, count) for some in keys]
        common = np.zeros(0, np.int64)
        if listing.common is not None:
            common = self._vocabulary.keys(source, listing.common, self._given, self._patterns)
        matrix = common.reshape(1, -1)
        if columns:
            matrix = np.column_stack([*columns, np.broadcast_to(common, (count, len(common)))])
        if not listing.flags and not source.column.kind.is_set:
            self._predicate(listing.conjuncts, source, matrix.min(axis=1), matrix.max(axis=1))
        return source, matrix

    def _test(self, conjuncts: Int64s, source: Source, flags: int, lows: Int64s, highs: Int64s) -> None:
        rows = np.empty((max(len(lows), len(highs)), 4), np.int64)
        rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3] = self._vocabulary.number(source), flags, lows, highs
        if source.ranked:
            self._vocabulary.order(source.column.attribute, rows[:, 2:].reshape(-1))
        numbers = self._checks.number_rows(rows)
        self._tests.append((conjuncts, np.broadcast_to(numbers, len(conjuncts))))

    def _number_levels(self) -> None:
        """Levels for new columns: first those that most conjunctions fix to a value, then those that bound it."""
        weights: dict[Source, tuple[int, int]] = {}
        for some in self._predicates:
            fixed = int((some.lows == some.highs).sum())
            known = weights.get(some.source, (0, 0))
            weights[some.source] = known[0] + fixed, known[1] + len(some.conjuncts)
        for source in sorted(weights, key=lambda source: (*(-w for w in weights[source]), source)):
            self._vocabulary.number(source)

    def _gathered(self) -> Conjunctions:
        count = self._conditions.count
        conjuncts, levels, lows, highs = self._sorted()
        starts = np.flatnonzero(np.concatenate([[True], (np.diff(conjuncts) != 0) | (np.diff(levels) != 0)]))
        if len(conjuncts):
            lows, highs = np.maximum.reduceat(lows, starts), np.minimum.reduceat(highs, starts)
            conjuncts, levels = conjuncts[starts], levels[starts]
        possible = np.ones(count, np.bool_)
        possible[conjuncts[lows > highs]] = False
        kept = possible[conjuncts]
        counts = np.bincount(conjuncts[kept], minlength=count)[possible]
        owners = np.concatenate([np.zeros(0, np.int64), *self._conditions.owners])[possible]
        return Conjunctions(
            owners.astype(np.int32),
            np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]),
            levels[kept].astype(np.int32),
            lows[kept],
            highs[kept],
            self._specials(possible, owners),
        )

    def _sorted(self) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        nothing = np.zeros(0, np.int64)
        tests = self._tests if self._general else []
        conjuncts = np.concatenate([nothing, *(p.conjuncts for p in self._predicates), *(some for some, _ in tests)])
        numbers = (np.full(len(p.conjuncts), self._vocabulary.number(p.source), np.int64) for p in self._predicates)
        levels = np.concatenate([nothing, *numbers, *(TESTED + numbers for _, numbers in tests)])
        order = np.argsort(conjuncts * (2 * TESTED) + levels, kind="stable")
        held = np.ones(len(conjuncts) - sum(len(p.conjuncts) for p in self._predicates), np.int64)
        lows = np.concatenate([nothing, *(p.lows for p in self._predicates), held])
        highs = np.concatenate([nothing, *(p.highs for p in self._predicates), held])
        return conjuncts[order], levels[order], lows[order], highs[order]

    def _specials(self, possible: npt.NDArray[np.bool_], owners: Int64s) -> Int32s:
        conjuncts = np.concatenate([np.zeros(0, np.int64), *(some for some, _ in self._tests)])
        tests = np.concatenate([np.zeros(0, np.int64), *(numbers for _, numbers in self._tests)])
        numbers = np.cumsum(possible) - 1
        alive = possible[conjuncts]
        order = np.argsort(conjuncts[alive], kind="stable")
        conjuncts, tests = numbers[conjuncts[alive][order]], tests[alive][order]
        counts = np.bincount(conjuncts, minlength=len(owners))
        _, which, times = np.unique(owners, return_inverse=True, return_counts=True)
        several = times[which] > 1
        special = np.flatnonzero((counts > 0) | several)
        found = np.full(len(owners), -1, np.int32)
        found[special] = self._checks.make(owners[special], several[special], counts[special], tests)
        return found
