"""Bytes in events: as bytes in Python and Arrow, as base64 in text, and never compared."""

from __future__ import annotations

import base64
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.errors import EventError, FilterTypeError
from tamis.language import parse
from tamis.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "attributes": {"image": "binary", "thumbs": "binary", "name": "string"},
        "event_types": {"shot": {"image": "optional", "thumbs": ["optional", "multiple"], "name": "optional"}},
    }
)
WRITTEN = base64.b64encode(b"\xff\xd8").decode()


@pytest.mark.parametrize("value", [b"\xff\xd8", bytearray(b"\xff\xd8"), memoryview(b"\xff\xd8"), WRITTEN])
def test_bytes_are_taken_as_they_are_or_as_base64(value: object) -> None:
    (row,) = SCHEMA.to_arrow([{"image": value, "thumbs": [value]}]).to_pylist()
    assert (row["image"], row["thumbs"]) == (b"\xff\xd8", [b"\xff\xd8"])


@pytest.mark.parametrize("value", ["?", "abc", 7, "a-_=", WRITTEN + "\n", "é"])
def test_other_things_are_no_bytes(value: object) -> None:
    with pytest.raises(EventError, match="base64"):
        SCHEMA.to_arrow([{"image": value}])
    if isinstance(value, str):
        with pytest.raises(EventError, match="base64"):
            SCHEMA.to_arrow(pa.table({"image": [value]}))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"\xff\xd8", None]),
        pa.array([b"\xff\xd8", None], pa.large_binary()),
        pa.array([b"\xff\xd8", None], pa.binary(2)),
        pa.array([WRITTEN, None]),
        pa.array([WRITTEN, None], pa.large_string()),
    ],
)
def test_arrow_columns_of_bytes_and_of_base64_are_taken(column: pa.Array) -> None:
    assert SCHEMA.to_arrow(pa.table({"image": column})).column("image").to_pylist() == [b"\xff\xd8", None]


@given(st.lists(st.one_of(st.none(), st.binary(max_size=9)), min_size=1, max_size=40))
def test_bytes_survive_json(values: list[bytes | None]) -> None:
    events: list[dict[str, Any]] = [
        {} if value is None else {"image": base64.b64encode(value).decode()} for value in values
    ]
    checked = SCHEMA.check_json(pa.array([json.dumps(event) for event in events]))
    assert checked.valid_rows.to_pylist() == list(range(len(values)))
    assert [row.get("image") for row in checked.valid.to_pylist()] == values


@pytest.mark.parametrize(
    "filter", ["image = 'a'", "image IN ('a')", "image LIKE 'a%'", "image = thumbs", "image > name"]
)
def test_filters_do_not_compare_bytes(filter: str) -> None:
    with pytest.raises(FilterTypeError, match="binary"):
        parse(filter, SCHEMA)


@pytest.mark.parametrize("matcher", tamis.MATCHERS)
def test_filters_ask_whether_there_are_any(matcher: str) -> None:
    filters = {"with": "image IS NOT NULL", "without": "image IS NULL", "thumbs": "thumbs IS NOT NULL AND name = 'a'"}
    index = tamis.compile(filters, SCHEMA, matcher=matcher)
    events: list[dict[str, object]] = [{"image": b"x" * 1000}, {"thumbs": [b"a", b""], "name": "a"}, {"image": b""}]
    assert [sorted(ids) for ids in index.match(events).to_lists()] == [["with"], ["thumbs", "without"], ["with"]]
    assert "1,000 bytes" in str(index.explain(events[0], "with"))
