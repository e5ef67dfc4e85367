"""Loose conditions into compact conjunctions: what belongs together stays together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import TamisError
from tamis.matching.codes import conditions as module
from tamis.matching.codes.conditions import distinct_rows, gather_intervals, gather_numbers, take_rows
from tests.matching.columnar.subject import SCHEMA, found, level_of

intervals = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(-5, 5), st.integers(-5, 5)), max_size=25
)


@pytest.mark.parametrize("function", [gather_intervals, gather_intervals.py_func], ids=["compiled", "interpreted"])
@given(given_intervals=intervals)
def test_intervals_are_sorted_by_column_and_intersected(
    function: object, given_intervals: list[tuple[int, int, int, int]]
) -> None:
    rows = np.array(given_intervals, np.int64).reshape(-1, 4)
    possible = np.ones(5, np.bool_)
    offsets, columns, lows, highs = function(  # type: ignore[operator]
        5, rows[:, 0].copy(), *(rows[:, i].astype(np.int32) for i in (1, 2, 3)), possible
    )
    for conjunct in range(5):
        expected: dict[int, tuple[int, int]] = {}
        for _, column, low, high in (row for row in given_intervals if row[0] == conjunct):
            least, most = expected.get(column, (-9, 9))
            expected[column] = max(least, low), min(most, high)
        here = slice(offsets[conjunct], offsets[conjunct + 1])
        got = list(zip(columns[here].tolist(), lows[here].tolist(), highs[here].tolist(), strict=True))
        assert got == [(column, *ends) for column, ends in sorted(expected.items())]
        assert possible[conjunct] == all(low <= high for low, high in expected.values())


@pytest.mark.parametrize("function", [distinct_rows, distinct_rows.py_func], ids=["compiled", "interpreted"])
@given(rows=st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), max_size=40))
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_equal_rows_have_one_number(function: object, rows: list[tuple[int, int]]) -> None:
    matrix = np.array(rows, np.int64).reshape(-1, 2)
    numbers = np.empty(len(matrix), np.int32)
    firsts = function(matrix, numbers)  # type: ignore[operator]
    order = list(dict.fromkeys(rows))
    assert numbers.tolist() == [order.index(row) for row in rows]
    assert firsts.tolist() == [rows.index(row) for row in order]


def test_numbers_are_gathered_by_conjunction_and_rows_taken_in_any_order() -> None:
    conjuncts, numbers = np.array([2, 0, 2, 3], np.int64), np.array([7, 8, 9, 7], np.int32)
    offsets, gathered = gather_numbers(4, conjuncts, numbers)
    assert offsets.tolist() == [0, 1, 1, 3, 4]
    assert gathered.tolist() == [8, 7, 9, 7]
    taken = np.empty(4, np.int64)
    assert gathered[take_rows(np.array([3, 1, 2]), offsets, taken)].tolist() == [7, 7, 9]
    assert taken.tolist() == [0, 1, 1, 3]


def test_subscriptions_of_one_conjunction_come_first_and_share_its_number() -> None:
    level = level_of({"two": "n = 1 OR m = 2", "one": "n = 3", "none": "FALSE", "three": "n = 1 OR m = 2 OR s = 'x'"})
    conjuncts = level.conjuncts
    assert conjuncts.simple == 1
    assert level.names.ids.to_pylist() == ["one", "two", "none", "three"]
    assert conjuncts.owners.tolist() == [1, 1, 3, 3, 3]
    assert found(level, [{"n": 1, "m": 2, "s": "x"}, {"n": 3}]) == [["three", "two"], ["one"]]


def test_equal_tests_are_kept_once() -> None:
    level = level_of([f"n > {k} AND s != 'x'" for k in range(50)])
    assert len(level.conjuncts.test_columns) == 1
    assert len(level.conjuncts.tests) == 50


def test_one_member_of_a_set_is_enough_to_find_a_conjunction_by() -> None:
    level = level_of([f"tags = 'a' AND tags = 'b' AND tags = 'c{k}'" for k in range(30)])
    assert np.diff(level.conjuncts.offsets).tolist() == [1] * 30
    assert found(level, [{"tags": ["a", "b", "c7"]}, {"tags": ["a", "c7"]}]) == [["7"], []]


def test_more_columns_than_can_be_numbered_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_COLUMNS", 2)
    level_of(["n = 1 AND m = 2"])
    with pytest.raises(TamisError, match="3 attributes to look at and an index holds 2"):
        level_of(["n = 1 AND m = 2 AND f = 3"], SCHEMA)


def test_more_comparisons_than_can_be_numbered_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NUMBERED", 10)
    level_of(["n = 1"] * 10)
    with pytest.raises(TamisError, match="compile them into several indexes"):
        level_of(["n = 1"] * 11)
