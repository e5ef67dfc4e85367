"""Attribute against attribute: exact between integers and floats, for every pair of values, along every order."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.matching.codes.columns import Column, Kind, compare
from tamis.matching.codes.encoding import ABSENT
from tamis.schema import EnumeratedDomain, HierarchicalDomain
from tamis.testing.edge_values import floats, integers, strings
from tests.matching.columnar.subject import SCHEMA

SIGNS: dict[str, Callable[[Any, Any], bool]] = {"=": operator.eq, "<": operator.lt, "<=": operator.le}
signs = pytest.mark.parametrize("sign", SIGNS)


def codes(left: str, sign: str, right: str, ours: pa.Array, theirs: pa.Array) -> list[int | None]:
    """1, 0, or None where a side is absent."""
    coded = compare(SCHEMA, Column(Kind.VERSUS, left, sign, right), ours, theirs)
    return [None if code == ABSENT else code for code in coded.tolist()]


def decided(test: Callable[[Any, Any], bool], ours: Any, theirs: Any) -> int | None:
    """By the definition: some pair of values."""
    left, right = (
        [value for value in (side if isinstance(side, list) else [side]) if value is not None]
        for side in (ours, theirs)
    )
    return int(any(test(x, y) for x, y in product(left, right))) if left and right else None


@signs
@given(st.lists(st.tuples(st.none() | integers(), st.none() | floats()), max_size=8), st.integers(0, 9))
def test_integers_and_floats_compare_by_exact_value(
    sign: str, rows: list[tuple[int | None, float | None]], before: int
) -> None:
    ours = pa.array([*[None] * before, *(row[0] for row in rows)], pa.int64()).slice(before)
    theirs = pa.array([*[1.0] * before, *(row[1] for row in rows)], pa.float64()).slice(before)
    assert codes("n", sign, "f", ours, theirs) == [decided(SIGNS[sign], *row) for row in rows]
    swapped = [decided(lambda x, y: SIGNS[sign](y, x), *row) for row in rows]
    assert codes("f", sign, "n", theirs, ours) == swapped


@pytest.mark.parametrize(
    ("integer", "number", "below"),
    [
        (2**53 + 1, 2.0**53, False),
        (2**53 + 1, 2.0**53 + 2, True),
        (2**63 - 1, 2.0**63, True),
        (2**63 - 1, float("inf"), True),
        (-(2**63), -(2.0**63), False),
        (-(2**63), float("-inf"), False),
        (0, -0.0, False),
    ],
)
def test_what_rounding_would_make_equal_is_not(integer: int, number: float, below: bool) -> None:
    ours, theirs = pa.array([integer], pa.int64()), pa.array([number], pa.float64())
    assert codes("n", "<", "f", ours, theirs) == [int(below)]
    assert codes("n", "=", "f", ours, theirs) == [int(integer == number)]


@signs
@given(
    st.lists(st.tuples(st.none() | st.lists(integers(), max_size=3), st.none() | integers()), max_size=6),
    st.integers(0, 9),
)
def test_some_value_of_many_is_enough(sign: str, rows: list[tuple[list[int] | None, int | None]], before: int) -> None:
    ours = pa.array([*[[1, 2]] * before, *(row[0] for row in rows)], pa.list_(pa.int64())).slice(before)
    theirs = pa.array([*[0] * before, *(row[1] for row in rows)], pa.int64()).slice(before)
    assert codes("sizes", sign, "n", ours, theirs) == [decided(SIGNS[sign], *row) for row in rows]


def test_what_lies_hidden_under_a_null_list_is_not_compared() -> None:
    ours = pa.ListArray.from_arrays(
        pa.array([0, 2, 4, 5], pa.int32()), pa.array([1, 9, 1, 9, 1]), mask=pa.array([False, True, False])
    )
    assert codes("sizes", "<", "n", ours, pa.array([5, 5, 1])) == [1, None, 0]


@signs
@given(st.lists(st.tuples(st.none() | strings(), st.none() | strings()), max_size=8))
def test_strings_compare_by_code_point(sign: str, rows: list[tuple[str | None, str | None]]) -> None:
    ours, theirs = (pa.array([row[side] for row in rows], pa.string()) for side in (0, 1))
    assert codes("s", sign, "t", ours, theirs) == [decided(SIGNS[sign], *row) for row in rows]


@signs
@pytest.mark.parametrize(("left", "right"), [("period", "era"), ("kind", "kinds"), ("period", "periods")])
def test_listed_values_compare_along_their_order(sign: str, left: str, right: str) -> None:
    domain = SCHEMA.attributes[left].domain
    assert isinstance(domain, EnumeratedDomain | HierarchicalDomain)

    def test(x: str, y: str) -> bool:
        return x == y if sign == "=" else domain.position(x) in domain.satisfying(sign, y)

    pairs = list(product((*domain.values, None), repeat=2))
    ours = pa.array([x for x, _ in pairs], pa.string())
    theirs: pa.Array = pa.array([y for _, y in pairs], pa.string())
    if SCHEMA.attributes[right].multiple:
        theirs = pa.array([None if y is None else [y] for _, y in pairs], pa.list_(pa.string()))
    assert codes(left, sign, right, ours, theirs) == [decided(test, *pair) for pair in pairs]


def test_values_outside_their_domain_are_equal_to_themselves_and_in_no_order() -> None:
    ours, theirs = pa.array(["XIX", "XIX", "XVI"]), pa.array(["XIX", "XVI", "XIX"])
    assert codes("period", "=", "era", ours, theirs) == [1, 0, 0]
    assert codes("period", "<=", "era", ours, theirs) == [0, 0, 0]


def test_no_rows_and_only_absent_rows() -> None:
    none = pa.array([], pa.int64())
    assert codes("n", "<", "m", none, none) == []
    absent = pa.array([None, None], pa.int64())
    assert codes("n", "<", "m", absent, absent) == [None, None]
    strings_ = pa.array([None], pa.string())
    assert codes("s", "<", "t", strings_, strings_) == [None]
    assert codes("period", "<", "era", strings_, strings_) == [None]
