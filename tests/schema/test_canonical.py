"""Events of any form as a canonical batch."""

from __future__ import annotations

import time
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import EventError
from tamis.schema import Schema
from tamis.testing import events, schemas
from tests.schema.cases import AUCTIONS, CHAIR, as_dicts, one_attribute


def conformed(schema: Schema, array: pa.Array) -> list[Any]:
    batch = schema.to_arrow(pa.record_batch([array], names=["x"]))
    assert batch.schema.field("x").type == schema.attributes["x"].arrow_type
    batch.validate(full=True)
    return [row.get("x", []) for row in as_dicts(batch)]


@given(st.data(), schemas())
def test_dicts_become_canonical_batches_that_check_as_valid(data: st.DataObject, schema: Schema) -> None:
    rows = data.draw(st.lists(events(schema), max_size=6))
    batch = schema.to_arrow(rows)
    batch.validate(full=True)
    assert batch.num_rows == len(rows)
    for field in batch.schema:
        assert field.type == schema.attributes[field.name].arrow_type
    assert schema.to_arrow(batch) is batch
    checked = schema.check(batch)
    assert checked.violations.num_rows == 0
    assert as_dicts(checked.valid) == as_dicts(batch)
    for event, row in zip(rows, as_dicts(batch), strict=True):
        present = {name for name, value in event.items() if value is not None and value != []}
        assert row.keys() == present


def test_a_canonical_batch_is_returned_as_it_is() -> None:
    batch = AUCTIONS.to_arrow([CHAIR | {"tags": ["red", "blue"]}, CHAIR])
    assert AUCTIONS.to_arrow(batch) is batch
    assert AUCTIONS.to_arrow(pa.Table.from_batches([batch])).equals(batch)


def test_a_canonical_batch_is_not_looked_into() -> None:
    batch = pa.record_batch({"price": np.full(1_000_000, np.nan)})
    started = time.perf_counter()
    for _ in range(100):
        AUCTIONS.to_arrow(batch)
    assert (time.perf_counter() - started) / 100 < 0.001


def test_missing_columns_stay_missing_and_extra_ones_are_passed_over() -> None:
    batch = pa.record_batch({"price": [1.0], "offset": [7]})
    assert AUCTIONS.to_arrow(batch).schema.names == ["price"]
    assert AUCTIONS.to_arrow([{"price": 1.0, "offset": 7}]).schema.names == ["event_type", "price"]


def test_the_number_of_rows_is_kept_even_without_columns() -> None:
    assert AUCTIONS.to_arrow([{}, {}]).num_rows == 2
    assert AUCTIONS.to_arrow([]).num_rows == 0
    assert AUCTIONS.to_arrow(pa.record_batch({"offset": [7, 8]})).num_rows == 2
    assert AUCTIONS.to_arrow(pa.table({"offset": [7, 8]}).select([])).num_rows == 2
    assert AUCTIONS.to_arrow(pa.table({})).num_rows == 0
    assert AUCTIONS.to_arrow(pa.schema([("price", pa.float64())]).empty_table()).num_rows == 0


def test_chunked_tables_become_one_batch() -> None:
    table = pa.table({"quantity": pa.chunked_array([[1], [2, 3]])})
    assert AUCTIONS.to_arrow(table).column("quantity").to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(),
     pa.decimal32(5, 2), pa.decimal64(10, 2), pa.decimal128(10, 2), pa.decimal128(30, 2), pa.decimal256(70, 60)],
)  # fmt: skip
def test_numbers_of_other_widths_keep_their_value(kind: pa.DataType) -> None:
    numbers = [np.float16(3), None, np.float16(7)] if pa.types.is_float16(kind) else [3, None, 7]
    array = pa.array(["3", None, "7"]).cast(kind) if pa.types.is_decimal(kind) else pa.array(numbers, kind)
    for domain in ("integer", "float"):
        assert conformed(one_attribute(domain), array) == [[3], [], [7]]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([Decimal("7e3"), None], pa.decimal128(5, -3)), [[7000], []]),
        (pa.array([Decimal(0), None], pa.decimal256(76, 76)), [[0], []]),
    ],
)
def test_decimals_need_no_place_for_each_digit(array: pa.Array, expected: list[list[int]]) -> None:
    for domain in ("integer", "float"):
        assert conformed(one_attribute(domain), array) == expected


def test_decimals_become_the_nearest_float() -> None:
    texts = ["0.1", "0.3", "123456789.123456789", "99999999999.999999999"]
    array = pa.array([Decimal(text) for text in texts], pa.decimal128(38, 9))
    assert conformed(one_attribute("float"), array) == [[float(text)] for text in texts]


@pytest.mark.parametrize(
    ("domain", "array"),
    [
        ("integer", pa.array([1, 2**63], pa.uint64())),
        ("integer", pa.array([1.0, 1.5])),
        ("integer", pa.array([1.0, 2.0**63])),
        ("integer", pa.array([1.0, float("nan")])),
        ("integer", pa.array([Decimal("1.0"), Decimal("1.5")])),
        ("integer", pa.array([Decimal(1), Decimal(10**30)], pa.decimal128(38, 0))),
        ("integer", pa.array([None, "1"])),
        ("integer", pa.array([None, True])),
        ("float", pa.array([None, float("nan")], pa.float32())),
        ("float", pa.array([1, 2**53 + 1])),
        ("float", pa.array([1, 2**64 - 1], pa.uint64())),
        ("float", pa.array([None, "1"])),
        ("string", pa.array([None, 1])),
        ("string", pa.array([None, b"x"])),
        ("string", pa.array([b"x", b"\xff"]).view(pa.string()).cast(pa.large_string(), safe=False)),
        ("boolean", pa.array([None, 1])),
        ("timestamp", pa.array(["2024-05-01", "never"])),
        ("timestamp", pa.array([0, 2**62], pa.timestamp("s"))),
        ("timestamp", pa.array([0, -(2**63)], pa.timestamp("ms"))),
        ("timestamp", pa.array([None, 1.5])),
        ("timestamp", pa.array([1, 2**63], pa.uint64())),
        ({"type": "enumerated", "values": ["a"]}, pa.array(["a", "b"], pa.large_string())),
        ({"type": "enumerated", "values": ["a"]}, pa.array(["a", "b"]).dictionary_encode()),
        ({"type": "enumerated", "values": ["a"]}, pa.array(["a", "b"], pa.string_view())),
        ({"type": "enumerated", "values": ["a"]}, pa.array([["a"], ["b"]], pa.list_(pa.string_view()))),
        ("integer", pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int16()), pa.array([None, "1"]))),
        ("string", pa.array([["a"], ["a", "b"]])),
        ("string", pa.array([[["a"]], [["b"]]]).slice(1).take(pa.array([None, 0]))),
    ],
)
def test_a_value_that_has_no_place_is_refused_by_row(domain: Any, array: pa.Array) -> None:
    with pytest.raises(EventError) as caught:
        one_attribute(domain).to_arrow(pa.record_batch([array], names=["x"]))
    assert [(violation.event, violation.attribute) for violation in caught.value.violations] == [(1, "x")]


def test_large_integers_become_floats_where_a_float_has_them() -> None:
    assert conformed(one_attribute("float"), pa.array([2**60, -(2**53), 7])) == [[2.0**60], [-(2.0**53)], [7.0]]


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", None, "b"], pa.large_string()),
        pa.array(["a", None, "b"], pa.string_view()),
        pa.array(["a", None, "b"]).dictionary_encode(),
        pa.array([["a"], [], ["b"]]),
        pa.array([["a"], None, ["b"]], pa.large_list(pa.large_string())),
        pa.array([["a"], [None], ["b"]], pa.list_(pa.string(), 1)),
        pa.array([["a"], [None], [None, "b"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        pa.array([["z"], ["a"], None, ["b"]], pa.list_view(pa.string()))[1:],
        pa.array([["z"], ["a"], [], [None, "b", None], ["z"]])[1:4],
        pa.array([["a", None], [None, None], ["b", None]], pa.list_(pa.string_view(), 2)),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", None, "b"], pa.string_view())),
        pa.RunEndEncodedArray.from_arrays([2, 3, 9], pa.array(["a", None, "b"], pa.string_view()))[1:4],
        pa.ListArray.from_arrays([0, 1, 2, 3], pa.RunEndEncodedArray.from_arrays([1, 2, 3], ["a", None, "b"])),
    ],
)
def test_strings_come_in_many_types_alone_or_in_lists(array: pa.Array) -> None:
    assert conformed(one_attribute("string"), array) == [["a"], [], ["b"]]
    assert conformed(one_attribute("string", ["optional", "multiple"]), array) == [["a"], [], ["b"]]
    listed = {"type": "enumerated", "values": ["b", "a"]}
    assert conformed(one_attribute(listed, ["optional", "multiple"]), array) == [["a"], [], ["b"]]


def test_nulls_inside_lists_are_dropped() -> None:
    array = pa.array([["a", None, "b"], None, [None], ["c"]])
    assert conformed(one_attribute("string", ["optional", "multiple"]), array) == [["a", "b"], [], [], ["c"]]


def test_a_column_of_nothing_is_absent() -> None:
    assert conformed(one_attribute("string"), pa.nulls(2)) == [[], []]
    assert conformed(one_attribute("timestamp", ["optional", "multiple"]), pa.nulls(2)) == [[], []]
    assert conformed(one_attribute("integer", ["optional", "multiple"]), pa.array([[], [None]])) == [[], []]


NOON = 1_714_564_800_000_000


@pytest.mark.parametrize(
    "array",
    [
        pa.array([NOON // 10**6, None], pa.timestamp("s")),
        pa.array([NOON // 10**3, None], pa.timestamp("ms", "Europe/Paris")),
        pa.array([NOON, None], pa.timestamp("us")),
        pa.array([NOON, None], pa.timestamp("us", "+02:00")),
        pa.array([NOON * 1000 + 999, None], pa.timestamp("ns", "UTC")),
        pa.array([NOON, None]),
        pa.array(["2024-05-01T12:00:00Z", None]),
        pa.array(["2024-05-01 12:00", None]),
        pa.array(["2024-05-01T14:00:00.0000009+02", None]),
        pa.array(["2024-05-01T14:00:00+02:00", None], pa.large_string()),
        pa.array(["2024-05-01T12:00:00Z", None]).dictionary_encode(),
        pa.array([datetime(2024, 5, 1, 12), None]),
    ],
)
def test_times_come_in_many_types(array: pa.Array) -> None:
    assert conformed(one_attribute("timestamp"), array) == [[NOON], []]


def test_dates_are_midnight_and_nanoseconds_are_cut_downwards() -> None:
    assert conformed(one_attribute("timestamp"), pa.array([1, -1], pa.date32())) == [
        [86_400 * 10**6],
        [-86_400 * 10**6],
    ]
    assert conformed(one_attribute("timestamp"), pa.array([86_400_000], pa.date64())) == [[86_400 * 10**6]]
    assert conformed(one_attribute("timestamp"), pa.array([-1, 1999], pa.timestamp("ns"))) == [[-1], [1]]


def test_texts_of_times_may_be_mixed_and_a_few_odd_ones_do_not_slow_the_rest() -> None:
    texts = ["2024-05-01T12:00:00Z", "2024-05-01T12:00", "2024-05-01 14:00:00.0000001+0200"] * 3_000
    assert conformed(one_attribute("timestamp"), pa.array(texts)) == [[NOON]] * 9_000


def test_a_column_under_another_name_may_be_of_any_type() -> None:
    schema = one_attribute("integer")
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["b"]))
    for other in (pa.array([None, "b"], pa.string_view()), runs, pa.ListArray.from_arrays([0, 1, 2], runs)):
        batch = pa.record_batch([pa.array([1, 2]), other], names=["x", "other"])
        assert schema.to_arrow(batch).to_pylist() == [{"x": 1}, {"x": 2}]
        refused = schema.check(batch).violations.to_pylist()
        assert {(violation["event"], violation["attribute"], violation["rule"]) for violation in refused} >= {
            (1, "other", "R3")
        }


def test_structs_are_flattened_to_dotted_names() -> None:
    struct = pa.array([{"rating": 3, "shop": {"name": "x"}}, {"rating": None, "shop": None}, None])
    batch = AUCTIONS.to_arrow(pa.record_batch([struct], names=["seller"]))
    assert as_dicts(batch) == [{"seller.rating": [3]}, {}, {}]


def test_a_nested_and_a_flat_column_of_one_name_are_joined_unless_both_have_a_value() -> None:
    nested = pa.array([{"rating": 3}, None, {"rating": 5}])
    joined = AUCTIONS.to_arrow(pa.record_batch([nested, pa.array([None, 4, None])], names=["seller", "seller.rating"]))
    assert joined.column("seller.rating").to_pylist() == [3, 4, 5]
    with pytest.raises(EventError, match=r"event 2.*given twice"):
        AUCTIONS.to_arrow(pa.record_batch([nested, pa.array([None, 4, 5])], names=["seller", "seller.rating"]))
    lists = pa.record_batch([pa.array([["a"], []]), pa.array(["b", "c"])], names=["tags", "tags"])
    with pytest.raises(EventError, match=r"event 0.*given twice"):
        AUCTIONS.to_arrow(lists)
    assert AUCTIONS.to_arrow(lists.slice(1)).column("tags").to_pylist() == [["c"]]


def test_rows_that_need_reading_are_put_back_in_their_place() -> None:
    array = pa.array([["2024-05-01T12:00:00.0000001Z"], ["2024-05-01T12:00:00Z", None], None, ["1970-01-01"]])
    found = conformed(one_attribute("timestamp", ["optional", "multiple"]), array)
    assert found == [[NOON], [NOON], [], [0]]


def test_only_some_of_many_violations_are_raised() -> None:
    with pytest.raises(EventError) as caught:
        AUCTIONS.to_arrow([{"price": "x"}] * 1000)
    assert len(caught.value.violations) == 20
    assert str(caught.value).endswith("... and 15 more")


def test_instants_outside_pythons_calendar_are_kept() -> None:
    array = pa.array([2**62, -(2**62)], pa.timestamp("us", "UTC"))
    checked = one_attribute("timestamp").check(pa.record_batch([array, pa.array([None, 1])], names=["x", "y"]))
    assert checked.valid.column("x").cast(pa.int64()).to_pylist() == [2**62]
