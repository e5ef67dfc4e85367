"""Levels back to conditions, so that several become one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.language.predicates import Like, RLike
from tamis.matching.columnar.encoding.columns import Column, Kind
from tamis.matching.columnar.encoding.dictionary import Strings
from tamis.matching.columnar.level import Level
from tamis.matching.columnar.lowering.conditions import Conditions, Interval, Listing, Test
from tamis.matching.columnar.lowering.conjuncts import LISTED
from tamis.matching.columnar.lowering.constants import Edge, Fixed, Recoded, Ref

Int64s = npt.NDArray[np.int64]


def absorb(conditions: Conditions, level: Level, first_row: int) -> tuple[pa.Array, pa.Array]:
    """Says again, for rows from `first_row` on, what the level's present subscriptions ask for.

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
            if not flag & LISTED:
                low, high = recoder.edges(column, lows, highs)
                conditions.tests.append(Test(numbers[some], column, int(flag), low, high))
                continue
            for test in np.unique(tests):
                codes = conjuncts.listed[conjuncts.test_lows[test] : conjuncts.test_highs[test]].astype(np.int64)
                common, _ = recoder.edges(column, codes, codes)
                conditions.listings.append(
                    Listing(numbers[some[tests == test]], column, int(flag) & ~LISTED, (), common)
                )


def _by_column(
    columns: npt.NDArray[np.uint16] | npt.NDArray[np.int32], wanted: npt.NDArray[np.bool_], named: Sequence[Column]
) -> list[tuple[Column, Int64s]]:
    places = np.flatnonzero(wanted)
    order = places[np.argsort(columns[places], kind="stable")]
    found, starts = np.unique(columns[order], return_index=True)
    return [(named[c], some) for c, some in zip(found, np.split(order, starts[1:]), strict=True)] if len(order) else []


class _Recoder:
    """Turns the codes of one level into edges of the conditions that take it in."""

    def __init__(self, conditions: Conditions, level: Level) -> None:
        self._conditions, self._level = conditions, level
        self._refs: dict[str, Ref] = {}
        self._patterns: dict[str, Int64s] = {}
        for attribute, dictionary in level.encoder.dictionaries.items():
            if isinstance(dictionary, Strings) and dictionary.ordered:
                conditions.constants.compare_by_order(attribute)

    def edges(self, column: Column, lows: Int64s, highs: Int64s) -> tuple[Edge, Edge]:
        if column.kind is Kind.VERSUS:
            return Fixed(lows), Fixed(highs)
        if column.kind is Kind.PATTERNS:
            codes = self._pattern_codes(column.attribute)
            return Fixed(codes[lows // 2]), Fixed(codes[highs // 2])
        ref = self._constants(column.attribute)
        return Recoded(ref, lows, upper=False), Recoded(ref, highs, upper=True)

    def _constants(self, attribute: str) -> Ref:
        if attribute not in self._refs:
            constants = self._level.encoder.dictionaries[attribute].constants
            self._refs[attribute] = self._conditions.constants.add(attribute, constants)
        return self._refs[attribute]

    def _pattern_codes(self, attribute: str) -> Int64s:
        if attribute not in self._patterns:
            patterns = self._level.encoder.patterns[attribute]
            known: list[Like | RLike] = [patterns.pattern(i) for i in range(len(patterns))]
            self._patterns[attribute] = np.array([2 * self._conditions.pattern(p) + 1 for p in known], np.int64)
        return self._patterns[attribute]
