"""JSON texts that some parser would not take, or would read otherwise."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.strict_json import DEEPEST, StrictJsonError, depth_of, read_json

NUMBERS = st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\{}[],:'), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.booleans(), st.booleans())
def test_what_is_written_is_read(value: Any, ascii: bool, exact: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii)
    assert read_json(text, exact=exact) == value
    assert read_json(text.encode(), exact=exact) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value, character 1"),
        ("{", "character 2"),
        ("{}x", "Extra data, character 3"),
        ("\ufeff{}", "Expecting value"),
        (b"\xff", "byte 1 is no UTF-8"),
        ('"\x01"', "control character"),
        ("9" * 5_000, "beyond all doubles|too many digits"),
        ("[" * 101 + "]" * 101, "more than 100 objects and arrays"),
        ("[" * 100_000, "nesting goes too far"),
        ('{"a": NaN}', "NaN is no number of JSON"),
        ("-Infinity", "-Infinity is no number"),
        ("1e999", "beyond all doubles"),
        ("9" * 400, "beyond all doubles"),
        ('"\\ud800"', "half of a character"),
        ('{"\\udc00\\ud800": 1}', "half of a character"),
    ],
)
def test_what_one_parser_takes_and_another_does_not_is_refused_with_the_reason(text: str | bytes, reason: str) -> None:
    with pytest.raises(StrictJsonError, match="malformed JSON: ") as refused:
        read_json(text)
    assert refused.value.name is None
    with pytest.raises(StrictJsonError, match=reason):
        read_json(text)


@pytest.mark.parametrize("exact", [False, True])
def test_a_name_that_one_object_has_twice_is_named(exact: bool) -> None:
    with pytest.raises(StrictJsonError, match="the name 'b' is given twice") as refused:
        read_json('{"a": {"a": 1, "b": 2, "b": 3}, "b": 4}', exact=exact)
    assert refused.value.name == "b"
    assert read_json('[{"a": 1}, {"a": 2}]', exact=exact) == [{"a": 1}, {"a": 2}]


def test_many_names_are_looked_through_once() -> None:
    names = ", ".join(f'"{number}": 0' for number in range(100_000))
    with pytest.raises(StrictJsonError, match="'99999' is given twice"):
        read_json(f'{{{names}, "99999": 1}}')


def test_pairs_of_halves_are_characters_and_wide_integers_doubles() -> None:
    assert read_json('"\\ud83d\\ude00"') == "\U0001f600"
    assert read_json("[18446744073709551615, 18446744073709551616, 1e2]") == [(1 << 64) - 1, 2.0**64, 100.0]
    assert isinstance(read_json("-9223372036854775809"), float)


def test_exact_values_are_for_the_caller_to_judge() -> None:
    found = read_json('[NaN, -Infinity, 1e999, 18446744073709551617, "\\ud800"]', exact=True)
    assert math.isnan(found[0])
    assert found[1:] == [-math.inf, math.inf, 18446744073709551617, "\ud800"]
    with pytest.raises(StrictJsonError, match="too many digits"):
        read_json("9" * 5_000, exact=True)


def test_brackets_within_strings_do_not_count_as_nesting() -> None:
    text = "[" * DEEPEST + json.dumps("[{" * 200 + '\\"') + "]" * DEEPEST
    assert depth_of(text.encode()) == DEEPEST
    assert read_json(text) is not None
    deep = read_json("[" * 300 + "]" * 300, deepest=None)
    assert len(deep) == 1
    with pytest.raises(StrictJsonError, match="nesting goes too far"):
        read_json("[" * 100_000 + "]" * 100_000, deepest=None)
