"""Levels read back: subscriptions that hold a pattern (to charge slow ones), and conditions of levels to merge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Int32s, Int64s
from tamis.matching.codes.columns import Column, Kind
from tamis.matching.codes.conditions import Conditions, Interval, Listing, Test
from tamis.matching.codes.constants import Edge, Fixed, Recoded
from tamis.matching.codes.dictionary import Strings
from tamis.matching.codes.encoding import HIGHEST, LISTED, LOWEST, Conjuncts
from tamis.matching.codes.level import Level

if TYPE_CHECKING:
    from tamis.matching.codes.level import Level
    from tamis.matching.patterns import PatternSet


class Subscribers(Protocol):
    """Lookup of subscriptions by number."""

    def find(self, id: str) -> int | None:
        """Number of a subscription that is present; None if it is not."""

    def id_of(self, number: int) -> str: ...


class Holders(NamedTuple):
    """Holders of patterns: `patterns[i]` is in a condition of subscription `subscriptions[i]`; each pair once."""

    patterns: Int64s
    subscriptions: Int64s
    subscribers: Subscribers


def holders_of(level: Level, patterns: PatternSet) -> Holders | None:
    """Holders of patterns among a level's present subscriptions; None if the set is not the level's.

    Every conjunction is looked at.
    """
    for attribute, one in level.encoder.patterns.items():
        if one is patterns:
            column = next(
                number
                for number, column in enumerate(level.encoder.columns)
                if column.kind is Kind.PATTERNS and column.attribute == attribute
            )
            return _present(level, *_pairs(level.conjuncts, column))
    return None


def _pairs(conjuncts: Conjuncts, column: int) -> tuple[Int64s, Int64s]:
    """Pairs of a pattern and a conjunction that tests for it. Every condition on a set of codes is among the tests."""
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


def ranges(starts: Int64s, lengths: npt.NDArray[Any]) -> Int64s:
    """Consecutive numbers from each start on, so many of each."""
    ends = np.cumsum(lengths, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int64) - np.repeat(ends - lengths - starts, lengths)


def _present(level: Level, patterns: Int64s, conjunctions: Int64s) -> Holders:
    conjuncts = level.conjuncts
    others = conjunctions - conjuncts.simple
    subscriptions = np.where(others < 0, conjunctions, 0)
    subscriptions[others >= 0] = conjuncts.owners[others[others >= 0]]
    gone = np.isin(subscriptions, level.gone)
    pairs = np.unique(np.stack([patterns[~gone], subscriptions[~gone]]), axis=1)
    return Holders(pairs[0], pairs[1], level)


# Levels turned back into conditions, so that several levels can be merged into one.


def absorb(conditions: Conditions, level: Level, first_row: int) -> tuple[pa.Array, pa.Array]:
    """Adds the conditions of a level's present subscriptions, as rows from `first_row` on.

    Returns their ids and texts, in the order of the rows.
    """
    present = level.present
    row_of = np.full(len(level.names), -1, np.int64)
    row_of[present] = first_row + np.arange(len(present))
    conjuncts = level.conjuncts
    owners = np.concatenate([np.arange(conjuncts.simple), conjuncts.owners]).astype(np.int64)
    alive = row_of[owners] >= 0
    number_of = np.full(len(conjuncts), -1, np.int64)
    number_of[alive] = conditions.conjunctions(row_of[owners[alive]])
    recoder = _Recoder(conditions, level)
    _absorb_intervals(conditions, level, number_of, recoder)
    _absorb_tests(conditions, level, number_of, recoder)
    texts = level.texts.to_arrow()
    rows = pa.array(present)
    return level.names.ids.take(rows), texts.take(rows)


def _absorb_intervals(conditions: Conditions, level: Level, number_of: Int64s, recoder: _Recoder) -> None:
    conjuncts = level.conjuncts
    numbers = np.repeat(number_of, np.diff(conjuncts.offsets))
    for column, chosen in _by_column(conjuncts.columns, numbers >= 0, level.encoder.columns):
        lows, highs = conjuncts.lows[chosen].astype(np.int64), conjuncts.highs[chosen].astype(np.int64)
        low, high = recoder.edges(column, lows, highs)
        conditions.intervals.append(Interval(numbers[chosen], column, low, high))


def _absorb_tests(conditions: Conditions, level: Level, number_of: Int64s, recoder: _Recoder) -> None:
    conjuncts = level.conjuncts
    numbers = np.repeat(number_of, np.diff(conjuncts.test_offsets))
    of_test = conjuncts.test_columns[conjuncts.tests]
    flags = conjuncts.test_flags[conjuncts.tests]
    for column, chosen in _by_column(of_test, numbers >= 0, level.encoder.columns):
        for flag in np.unique(flags[chosen]):
            some = chosen[flags[chosen] == flag]
            tests = conjuncts.tests[some]
            lows, highs = conjuncts.test_lows[tests].astype(np.int64), conjuncts.test_highs[tests].astype(np.int64)
            if flag & LISTED:
                listings = _listings(numbers[some], column, int(flag) & ~LISTED, lows, highs, conjuncts, recoder)
                conditions.listings.extend(listings)
            else:
                low, high = recoder.edges(column, lows, highs)
                conditions.tests.append(Test(numbers[some], column, int(flag), low, high))


def _listings(
    numbers: Int64s, column: Column, flags: int, lows: Int64s, highs: Int64s, conjuncts: Conjuncts, recoder: _Recoder
) -> Iterator[Listing]:
    """Adds lists of one length at once, or list by list where they are fewer than they are long."""
    for length, alike in _split(highs - lows):
        starts = lows[alike]
        lists = _split(starts)
        if len(lists) > length:
            edges = tuple(recoder.code(column, conjuncts.listed[starts + i]) for i in range(length))
            yield Listing(numbers[alike], column, flags, edges, None)
            continue
        for start, same in lists:
            codes = recoder.code(column, conjuncts.listed[start : start + length])
            yield Listing(numbers[alike[same]], column, flags, (), codes)


def _split(values: npt.NDArray[Any]) -> list[tuple[int, Int64s]]:
    """Distinct values, ascending, and the positions of each."""
    order = np.argsort(values, kind="stable")
    found, starts = np.unique(values[order], return_index=True)
    return list(zip(found.tolist(), np.split(order, starts[1:]), strict=True)) if len(order) else []


def _by_column(
    columns: npt.NDArray[np.uint16] | npt.NDArray[np.int32], wanted: npt.NDArray[np.bool_], named: Sequence[Column]
) -> list[tuple[Column, Int64s]]:
    places = np.flatnonzero(wanted)
    return [(named[column], places[some]) for column, some in _split(columns[places])]


class _Recoder:
    """Turns the codes of one level into edges of the conditions that take it in.

    Only constants and patterns that a present subscription uses are taken over.
    """

    def __init__(self, conditions: Conditions, level: Level) -> None:
        self._conditions, self._encoder = conditions, level.encoder
        for attribute, dictionary in level.encoder.dictionaries.items():
            if isinstance(dictionary, Strings) and dictionary.ordered:
                conditions.constants.compare_by_order(attribute)

    def edges(self, column: Column, lows: Int64s, highs: Int64s) -> tuple[Edge, Edge]:
        """The ends of intervals on one column."""
        if column.kind is Kind.VERSUS:
            return Fixed(lows), Fixed(highs)
        if column.kind is Kind.PATTERNS:  # intervals of one pattern each
            edge = self._pattern(column.attribute, lows)
            return edge, edge
        return self._edge(column.attribute, lows, upper=False), self._edge(column.attribute, highs, upper=True)

    def code(self, column: Column, codes: Int32s) -> Edge:
        """Codes of constants."""
        return self._edge(column.attribute, codes.astype(np.int64), upper=False)

    def _edge(self, attribute: str, codes: Int64s, upper: bool) -> Edge:
        """A gap is named by the constant it was made from: the one below for a lower end, above for an upper end."""
        closed = np.flatnonzero((codes != LOWEST) & (codes != HIGHEST))
        gap = codes[closed] % 2 == 0
        ranks = codes[closed] // 2 - (gap & (not upper))
        used, places = np.unique(ranks, return_inverse=True)
        constants = self._encoder.dictionaries[attribute].constants
        some = constants.take(pa.array(used)) if isinstance(constants, pa.Array) else constants[used]
        steps = np.where(gap, 0 if upper else 2, 1)
        return Recoded(self._conditions.constants.add(attribute, some), codes, closed, places, steps)

    def _pattern(self, attribute: str, codes: Int64s) -> Edge:
        used, places = np.unique(codes // 2, return_inverse=True)
        known = [self._conditions.pattern(self._encoder.patterns[attribute].pattern(p)) for p in used.tolist()]
        return Fixed(2 * np.array(known, np.int64)[places] + 1)
