from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.matching.patterns import kernels
from tamis.matching.patterns.like import program_of
from tamis.matching.patterns.like_set import LikeSet, Steps
from tamis.matching.patterns.texts import Texts

both_ways = pytest.mark.parametrize("way", ["compiled", "interpreted"])


def kernel(name: str, way: str) -> Any:
    compiled = getattr(kernels, name)
    return compiled if way == "compiled" else compiled.py_func


@both_ways
def test_a_code_point_is_counted_once_whatever_its_length(way: str) -> None:
    data = np.frombuffer(bytearray("aé€\U0001f600".encode()), np.uint8)
    assert kernel("count_code_points", way)(data, 0, len(data)) == 4


@both_ways
@given(st.lists(st.integers(0, 99), unique=True, max_size=60))
def test_a_run_is_sorted_and_its_surroundings_left_alone(way: str, run: list[int]) -> None:
    numbers = np.array([100, *run, -1], np.int32)
    kernel("sort_run", way)(numbers, 1, len(run) + 1)
    assert numbers.tolist() == [100, *sorted(run), -1]


@both_ways
@given(st.lists(st.tuples(st.sets(st.integers(0, 9)), st.sets(st.integers(10, 19))), max_size=4))
def test_merging_interleaves_row_by_row(way: str, rows: list[tuple[set[int], set[int]]]) -> None:
    # Odd and even numbers, so that the two lists interleave.
    pairs = [(sorted(2 * n for n in one), sorted(2 * n - 19 for n in other)) for one, other in rows]
    columns = []
    for side in (0, 1):
        offsets = np.cumsum([0, *(len(pair[side]) for pair in pairs)])
        columns += [offsets, np.array([n for pair in pairs for n in pair[side]], np.int32)]
    merged = np.zeros(len(columns[1]) + len(columns[3]), np.int32)
    offsets = np.zeros(len(rows) + 1, np.int64)
    kernel("merge", way)(*columns, offsets, merged)
    assert [merged[offsets[r] : offsets[r + 1]].tolist() for r in range(len(rows))] == [sorted(a + b) for a, b in pairs]


@both_ways
def test_gathering_repeats_lists_and_leaves_out_the_negative(way: str) -> None:
    gathered = np.zeros(5, np.int32)
    lists = np.array([1, -1, 0, 1], np.int32)
    kernel("gather", way)(
        lists, np.array([0, 1, 3]), np.array([7, 8, 9], np.int32), np.array([0, 2, 2, 3, 5]), gathered
    )
    assert gathered.tolist() == [8, 9, 7, 8, 9]


@both_ways
@pytest.mark.parametrize("character", ["a", "é", "€", "\U0001f600", "\0"])
def test_code_points_are_written_in_utf_8(way: str, character: str) -> None:
    data = np.zeros(4, np.uint8)
    end = kernel("write_code_point", way)(data, 0, ord(character))
    assert data[:end].tobytes() == character.encode()


@both_ways
def test_scanning_stops_before_a_row_that_might_not_fit(way: str) -> None:
    patterns = LikeSet.build([program_of(pattern) for pattern in ("%a%", "a%", "_", "%", "%x_y%")])
    texts = Texts.of(pa.array(["a", "xay", None, "b"]))
    offsets, numbers = np.zeros(5, np.int64), np.full(6, -1, np.int32)
    marks = np.zeros(3, np.int64)
    scan = kernel("scan", way)
    unmetered = Steps(5, None).begin()
    assert scan(texts, patterns._automaton, patterns._rules, 5, 0, marks, offsets, numbers, unmetered) == (1, 0)
    assert numbers[: offsets[1]].tolist() == [0, 1, 2, 3]
    larger = np.append(numbers, np.zeros(9, np.int32))
    assert scan(texts, patterns._automaton, patterns._rules, 5, 1, marks, offsets, larger, unmetered) == (4, 1)
    assert offsets.tolist() == [0, 4, 7, 7, 9]
    assert larger[4:9].tolist() == [0, 3, 4, 2, 3]
