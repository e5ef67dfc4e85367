from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.language.predicates import Like
from tamis.matching.patterns import PatternSet
from tamis.matching.patterns import like as programs
from tamis.matching.patterns.like import program_of
from tests.matching.patterns.reference import like_regex, like_texts, values

LONG_PIECE = "a_" * 430 + "b_"
TILED = ("a" * 997 + "cab") * 1_000
both_ways = pytest.mark.parametrize("way", ["compiled", "interpreted"])


def kernel(name: str, way: str) -> Any:
    compiled = getattr(programs, name)
    return compiled if way == "compiled" else compiled.py_func


def as_bytes(data: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.frombuffer(bytearray(data), np.uint8) if data else np.zeros(0, np.uint8)


def decided(pattern: str, value: str, way: str = "compiled") -> tuple[bool, int]:
    program, data = program_of(pattern), value.encode()
    held, steps = kernel("holds", way)(as_bytes(data), 0, len(data), as_bytes(program), 0, len(program))
    return bool(held), int(steps)


@both_ways
@given(like_texts, values)
def test_a_program_holds_where_the_pattern_does(way: str, pattern: str, value: str) -> None:
    assert decided(pattern, value, way)[0] == (like_regex(pattern).fullmatch(value) is not None)


@both_ways
@given(st.text("ab\u00e9\u20ac_", min_size=1, max_size=5), st.integers(1, 40), values, st.integers(0, 3))
def test_a_piece_is_found_by_words_where_it_is_place_by_place(
    way: str, unit: str, times: int, value: str, n: int
) -> None:
    """Pieces of up to four words, in values made of them and of what is almost one."""
    piece = (unit * times)[:200]
    whole = value + piece.replace("_", "a")[n:] + value + piece.replace("_", "\u20ac") + value
    found = like_regex(piece).search(whole)
    assert found is not None
    program, data = as_bytes(program_of(piece)), whole.encode()
    end, _ = kernel("find_by_words", way)(as_bytes(data), 0, len(data), program, 0, len(program))
    assert end == len(whole[: found.end()].encode())
    short = data[: end - 1] if whole[found.end() - 1].isascii() else data[:0]
    assert kernel("find_by_words", way)(as_bytes(short), 0, len(short), program, 0, len(program))[0] == -1


@given(st.integers(1, 300), st.integers(0, 900), st.integers(0, 900), st.sampled_from(["a_", "_a", "a_b", "aab", "é_"]))
def test_a_long_piece_far_into_a_long_value(times: int, before: int, after: int, unit: str) -> None:
    """Far enough for the places to be taken by words, with a find where `before` repeats of a near miss have ended."""
    piece = unit * times + "c"
    near_miss = unit.replace("_", "x") * (times + 3)
    value = near_miss * min(before, 40) + "y" * 3 + piece.replace("_", "é") + "z" * after
    for pattern in (f"%{piece}%", f"%{piece}z%", f"%{piece}%c", f"a%{piece}%z", f"%{piece}%{piece}%"):
        assert decided(pattern, value)[0] == (like_regex(pattern).fullmatch(value) is not None)


@pytest.mark.parametrize(
    "pattern", [f"%{LONG_PIECE}%", f"a%{LONG_PIECE}%{LONG_PIECE}%", f"%{LONG_PIECE}", "%a" * 40 + "%d"]
)
@pytest.mark.parametrize("value", [TILED, "a" * 1_000_000, "ab" * 500_000, "aé" * 400_000])
def test_the_steps_for_a_program_are_few_for_each_byte(pattern: str, value: str) -> None:
    assert decided(pattern, value)[1] <= 32 * len(value.encode())


def test_twice_the_value_takes_no_more_than_twice_the_steps() -> None:
    once, twice = decided(f"%{LONG_PIECE}%", TILED)[1], decided(f"%{LONG_PIECE}%", TILED * 2)[1]
    assert once < twice < 2.1 * once


@pytest.mark.parametrize("ignore_case", [False, True])
def test_a_value_of_a_megabyte_under_many_long_patterns_is_decided(ignore_case: bool) -> None:
    patterns = [Like("title", "%" + "a_" * (430 + i) + "b_%", ignore_case) for i in range(20)]
    hits = PatternSet.build(patterns).hits(pa.array([TILED]))
    assert hits.programs_run == 20
    assert hits.numbers.tolist() == []
