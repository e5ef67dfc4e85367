"""A value's code is where it stands among the constants, exactly, for every type and every form of Arrow array."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.matching.codes.columns import Column, Encoder, Kind
from tamis.matching.codes.dictionary import Dictionary, Numbers, Strings
from tamis.matching.codes.encoding import ABSENT
from tamis.testing.edge_values import INT64_MAX, INT64_MIN, floats, integers
from tests.matching.columnar.subject import SCHEMA

FAR = [INT64_MIN, INT64_MIN + 1, -1, 0, 1, 2**53, 2**53 + 1, INT64_MAX - 1, INT64_MAX]
INFINITE = [float("-inf"), -1e308, -5e-324, 0.0, 5e-324, 0.1, 0.30000000000000004, 2.0**53, 1e308, float("inf")]
# Around the seven bytes that fit into a word with their length, and with bytes above and below ASCII.
TEXTS = ["", "\0", "\0\0", "a", "ab", "abcdef", "abcdefg", "abcdefgh", "abcdefghi", "abcdefg\0", "é", "éééé", "日本語"]
TEXTS += ["abcdefghabcdefg", "abcdefghabcdefgh", "abcdefghabcdefghi", "\U0001d4b3", "\uffff", "abcdefgi", "bbcdefgh"]


def codes(dictionary: Dictionary, attribute: str, values: pa.Array) -> list[int | None]:
    """The codes an encoder gives to a column, None where it is absent."""
    encoder = Encoder((Column(Kind.VALUE, attribute),), {attribute: dictionary}, {}, SCHEMA)
    coded = encoder.encode(pa.record_batch({attribute: values})).codes
    assert coded[:, 1].tolist() == [0] * len(values)
    return [None if code == ABSENT else code for code in coded[:, 0].tolist()]


def place(constants: Sequence[Any], value: Any) -> int | None:
    """The code, by what is written in codes.py."""
    if value is None:
        return None
    rank = bisect_left(constants, value)
    return 2 * rank + (rank < len(constants) and constants[rank] == value)


def sliced(values: list[Any], kind: pa.DataType, before: int) -> pa.Array:
    """The values as a slice that begins within a larger array."""
    around = [None] * before
    return pa.array([*around, *values, *around], kind).slice(before, len(values))


@given(
    constants=st.lists(integers(), max_size=12),
    values=st.lists(st.none() | integers(), max_size=12),
    before=st.integers(0, 9),
)
def test_integers_have_the_codes_of_their_places(constants: list[int], values: list[int | None], before: int) -> None:
    known = sorted({*constants})
    expected = [place(known, value) for value in values]
    assert codes(Numbers.build(np.array(known, np.int64)), "n", sliced(values, pa.int64(), before)) == expected


@given(
    constants=st.lists(floats(), max_size=12),
    values=st.lists(st.none() | floats(), max_size=12),
    before=st.integers(0, 9),
)
def test_floats_have_the_codes_of_their_places(constants: list[float], values: list[float | None], before: int) -> None:
    known = sorted({value + 0.0 for value in constants})
    expected = [place(known, value) for value in values]
    assert codes(Numbers.build(np.array(known, np.float64)), "f", sliced(values, pa.float64(), before)) == expected


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
@given(
    constants=st.lists(st.sampled_from(TEXTS) | st.text("ab\0é日", max_size=9), max_size=12),
    values=st.lists(st.none() | st.sampled_from(TEXTS) | st.text("ab\0é日", max_size=9), max_size=12),
    before=st.integers(0, 9),
    ordered=st.booleans(),
)
def test_strings_have_the_codes_of_their_places_among_bytes(
    kind: pa.DataType, constants: list[str], values: list[str | None], before: int, ordered: bool
) -> None:
    known = sorted({text.encode() for text in constants})
    expected = [place(known, None if value is None else value.encode()) for value in values]
    if not ordered:  # what is no constant has one code for all
        expected = [0 if code is not None and code % 2 == 0 else code for code in expected]
    dictionary = Strings.build(pa.array(known, pa.binary()), ordered)
    assert codes(dictionary, "s", sliced(values, kind, before)) == expected


@pytest.mark.parametrize(
    "constants",
    [
        FAR,
        FAR[:1],
        FAR[-1:],
        list(range(-50, 50)),  # close together: looked up in a table
        list(range(INT64_MAX - 20, INT64_MAX + 1, 2)),
        list(range(INT64_MIN, INT64_MIN + 20, 3)),
        [k**5 for k in range(-2000, 2000)],  # far apart, unevenly: searched within cells
        [0, *range(2**62, 2**62 + 5000)],
        [],
    ],
    ids=["far", "least", "greatest", "dense", "dense at the top", "dense at the bottom", "sparse", "cluster", "none"],
)
def test_dense_and_sparse_integers_are_found_at_and_beside_every_constant(constants: list[int]) -> None:
    near = {value + step for value in [*constants, *FAR] for step in (-1, 0, 1)}
    values = sorted(value for value in near if INT64_MIN <= value <= INT64_MAX)
    expected = [place(constants, value) for value in values]
    assert codes(Numbers.build(np.array(constants, np.int64)), "n", pa.array(values, pa.int64())) == expected


@pytest.mark.parametrize(
    "constants",
    [INFINITE, [float("-inf"), float("inf")], [float("inf")], [-1.7e308, 1.7e308], [5e-324, 1e-323], [0.0], []],
    ids=str,
)
def test_floats_are_found_at_and_beside_every_constant(constants: list[float]) -> None:
    near = {float(np.nextafter(value, towards)) for value in [*constants, *INFINITE] for towards in (-np.inf, np.inf)}
    values = [*sorted({*near, *constants, *INFINITE}), -0.0]
    expected = [place(constants, value) for value in values]
    assert codes(Numbers.build(np.array(constants, np.float64)), "f", pa.array(values, pa.float64())) == expected


def test_booleans_are_the_integers_0_and_1() -> None:
    dictionary = Numbers.build(np.arange(2, dtype=np.int64))
    values = sliced([True, None, False, True], pa.bool_(), 3)
    assert codes(dictionary, "flag", values) == [3, None, 1, 3]


def test_timestamps_are_their_microseconds() -> None:
    dictionary = Numbers.build(np.array([-1, 10**15], np.int64))
    values = pa.array([-1, 0, 10**15, None], pa.timestamp("us", "UTC"))
    assert codes(dictionary, "at", values) == [1, 2, 3, None]


def test_a_dictionary_without_constants_still_tells_present_from_absent() -> None:
    strings = Strings.build(pa.array([], pa.string()), ordered=True)
    assert codes(strings, "s", pa.array(["", None, "a"])) == [0, None, 0]
    assert len(strings) == 0


def test_thousands_of_strings_of_every_length_keep_apart() -> None:
    texts = [f"{'x' * (k % 20)}{k}" for k in range(5000)]
    known = sorted(text.encode() for text in texts)
    dictionary = Strings.build(pa.array(known, pa.binary()))
    assert codes(dictionary, "s", pa.array(texts)) == [place(known, text.encode()) for text in texts]


@pytest.mark.parametrize(
    "dictionary",
    [
        Numbers.build(np.array(FAR, np.int64)),
        Numbers.build(np.arange(9, dtype=np.int64)),
        Numbers.build(np.array(INFINITE, np.float64)),
    ],
    ids=["sparse", "dense", "floats"],
)
def test_numbers_come_back_from_their_arrays(dictionary: Numbers) -> None:
    again = Numbers(dictionary.arrays())
    attribute, kind = ("f", pa.float64()) if again.constants.dtype == np.float64 else ("n", pa.int64())
    values = pa.array(dictionary.constants.tolist(), kind)
    assert codes(again, attribute, values) == codes(dictionary, attribute, values)


def test_strings_come_back_from_their_arrays() -> None:
    known = sorted(text.encode() for text in TEXTS)
    dictionary = Strings.build(pa.array(known, pa.binary()), ordered=True)
    again = Strings(dictionary.arrays())
    assert again.ordered
    assert again.constants.to_pylist() == known
    assert codes(again, "s", pa.array(TEXTS)) == codes(dictionary, "s", pa.array(TEXTS))
