"""Batches become columns of codes: sets sorted and without repetition, least and greatest, defaults, refusals."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import EventError
from tamis.language.predicates import Like
from tamis.matching.codes.columns import Column, Encoded, Encoder, Kind
from tamis.matching.codes.dictionary import Dictionary, Numbers, Strings
from tamis.matching.codes.encoding import ABSENT
from tamis.matching.patterns import PatternSet
from tamis.schema import EVENT_TYPE, Schema
from tests.matching.columnar.subject import SCHEMA, found, level_of

NAN = float("nan")
SIZES = Numbers.build(np.array([10, 20, 30], np.int64))
TAGS = Strings.build(pa.array(["blue", "red"]))
OF_SIZES = tuple(Column(kind, "sizes") for kind in (Kind.LEAST, Kind.GREATEST, Kind.VALUES))


def sets_of(encoded: Encoded, which: int = 0) -> list[list[int]]:
    """A set column, row by row."""
    ends = encoded.set_ends[which].tolist()
    return [encoded.set_codes[a:b].tolist() for a, b in pairwise(ends)]


def encoder(*columns: Column, schema: Schema = SCHEMA, **patterns: PatternSet) -> Encoder:
    dictionaries: dict[str, Dictionary] = {"sizes": SIZES, "tags": TAGS}
    return Encoder(columns, dictionaries, patterns, schema)


@given(
    rows=st.lists(st.none() | st.lists(st.none() | st.integers(5, 35), max_size=6), max_size=8),
    before=st.integers(0, 9),
)
def test_sets_hold_each_code_once_in_order_and_columns_their_ends(
    rows: list[list[int | None] | None], before: int
) -> None:
    lists = pa.array([[1], None, *[[20, 10]] * before, *rows, [7]], pa.list_(pa.int64())).slice(2 + before, len(rows))
    encoded = encoder(*OF_SIZES).encode(pa.record_batch({"sizes": lists}))
    code = {value: 2 * ((value > 10) + (value > 20) + (value > 30)) + (value in (10, 20, 30)) for value in range(40)}
    expected = [sorted({code[value] for value in row or [] if value is not None}) for row in rows]
    assert sets_of(encoded) == expected
    assert encoded.codes[:, 0].tolist() == [row[0] if row else ABSENT for row in expected]
    assert encoded.codes[:, 1].tolist() == [row[-1] if row else ABSENT for row in expected]


def test_what_lies_hidden_under_a_null_list_is_not_seen() -> None:
    lists = pa.ListArray.from_arrays(
        pa.array([0, 2, 4, 5], pa.int32()), pa.array([10, 20, 30, 10, 30]), mask=pa.array([False, True, False])
    )
    encoded = encoder(*OF_SIZES).encode(pa.record_batch({"sizes": lists}))
    assert sets_of(encoded) == [[1, 3], [], [5]]


def test_sets_of_several_attributes_do_not_mix() -> None:
    columns = (Column(Kind.VALUES, "sizes"), Column(Kind.VALUES, "tags"))
    batch = pa.record_batch({"sizes": [[30, 10], []], "tags": [["red"], ["blue", "red", "blue"]]})
    encoded = encoder(*columns).encode(batch)
    assert sets_of(encoded, 0) == [[1, 5], []]
    assert sets_of(encoded, 1) == [[3], [1, 3]]


def test_patterns_become_the_set_of_those_that_some_value_matches() -> None:
    patterns = PatternSet.build([Like("tags", "r%"), Like("tags", "%d"), Like("tags", "%u%")])
    columns = (Column(Kind.PATTERNS, "tags"),)
    batch = pa.record_batch({"tags": [["red"], ["blue", "rue"], [], None]})
    assert sets_of(encoder(*columns, tags=patterns).encode(batch)) == [[1, 3], [1, 5], [], []]


def test_patterns_on_a_single_valued_attribute() -> None:
    patterns = PatternSet.build([Like("s", "a%"), Like("s", "%b")])
    batch = pa.record_batch({"s": pa.array(["x", "ab", None, "b", "a"]).slice(1)})
    assert sets_of(encoder(Column(Kind.PATTERNS, "s"), s=patterns).encode(batch)) == [[1, 3], [], [3], [1]]


def test_attributes_that_a_batch_lacks_are_absent() -> None:
    columns = (*OF_SIZES[:2], Column(Kind.VERSUS, "n", "<", "m"), OF_SIZES[2])
    encoded = encoder(*columns).encode(pa.record_batch({"n": [1, 2]}))
    assert encoded.codes.tolist() == [[ABSENT, ABSENT, ABSENT, 0]] * 2
    assert sets_of(encoded) == [[], []]


def test_no_rows_and_no_columns() -> None:
    encoded = encoder(*OF_SIZES).encode(pa.record_batch({"sizes": pa.array([], pa.list_(pa.int64()))}))
    assert encoded.codes.shape == (0, 3)
    assert encoder().encode(pa.record_batch({"n": [1, 2, 3]})).codes.tolist() == [[0]] * 3


@pytest.mark.parametrize(
    ("given_types", "expected"),
    [
        (None, [["a", "x"], ["a", "x"], ["a"]]),
        ([["thing"], None, []], [["a", "x"], ["a", "x"], ["a"]]),
        ([None, None, None], [["a", "x"], ["a", "x"], ["a"]]),
    ],
    ids=["no column", "some", "all null"],
)
def test_an_event_without_a_type_has_the_default_one(given_types: Any, expected: list[list[str]]) -> None:
    level = level_of({"a": "event_type = 'thing'", "never": "event_type IS NULL", "x": "n = 1"})
    columns: dict[str, Any] = {"n": [1, 1, 2]}
    if given_types is not None:
        # Parquet calls the values of a list `element`.
        columns[EVENT_TYPE] = pa.array(given_types, pa.list_(pa.field("element", pa.string())))
    assert found(level, pa.record_batch(columns)) == expected


def test_nan_is_refused_with_its_event_and_attribute() -> None:
    level = level_of(["f > 1"])
    values = np.zeros(5000)
    values[4500] = NAN
    with pytest.raises(EventError) as caught:
        found(level, pa.record_batch({"f": values}))
    assert [(v.event, v.attribute, v.rule) for v in caught.value.violations] == [(4500, "f", "domain")]


def test_nan_among_many_values_is_refused_with_the_event_not_the_value() -> None:
    level = level_of(["marks > 1"])
    rows = pa.array([[9.0], [1.0, 2.0], None, [3.0, NAN]], pa.list_(pa.float64())).slice(1)
    with pytest.raises(EventError) as caught:
        found(level, pa.record_batch({"marks": rows}))
    assert [(v.event, v.attribute) for v in caught.value.violations] == [(2, "marks")]


@pytest.mark.parametrize("attribute", ["f", "g"])
def test_nan_is_refused_where_attributes_are_compared_with_each_other(attribute: str) -> None:
    level = level_of(["f < g"])
    columns: dict[str, list[float | None]] = {"f": [1.0, None, 1.0], "g": [None, 1.0, 2.0]}
    columns[attribute][2] = NAN
    with pytest.raises(EventError) as caught:
        found(level, pa.record_batch({name: pa.array(values) for name, values in columns.items()}))
    assert [(v.event, v.attribute) for v in caught.value.violations] == [(2, attribute)]


def test_nan_in_an_absent_place_is_no_nan() -> None:
    values = pa.array(np.array([NAN, 2.0]), mask=np.array([True, False]))
    assert found(level_of(["f > 1"]), pa.record_batch({"f": values})) == [[], ["0"]]
