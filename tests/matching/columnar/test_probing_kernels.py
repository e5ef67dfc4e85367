"""The small steps of the event's way, compiled and interpreted, beside plain Python."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.matching.codes.intrinsics import has_compress
from tamis.matching.columnar.probing_kernels import (
    any_listed,
    any_within,
    search_first,
    search_last,
    without_removed,
)  # fmt: skip

ascending = st.lists(st.integers(-3, 12), max_size=40).map(sorted)


def both(function: Any) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("function", [function, function.py_func], ids=["compiled", "interpreted"])


@both(search_first)
@given(codes=ascending, value=st.integers(-4, 13))
def test_searching_counts_the_bounds_below(function: Any, codes: list[int], value: int) -> None:
    pool = np.array([99, *codes, 99], np.int32)
    assert function(pool, 1, len(codes), value) == bisect_left(codes, value)


@both(search_last)
@given(codes=ascending, value=st.integers(-4, 13))
def test_searching_counts_the_bounds_not_above(function: Any, codes: list[int], value: int) -> None:
    pool = np.array([-99, *codes, -99], np.int32)
    assert function(pool, 1, len(codes), value) == bisect_right(codes, value)


@both(any_within)
@given(codes=ascending, low=st.integers(-4, 13), high=st.integers(-4, 13))
def test_a_set_has_a_code_between_two(function: Any, codes: list[int], low: int, high: int) -> None:
    array = np.array([5, *codes, 5], np.int32)
    assert function(array, 1, len(codes) + 1, low, high) == any(low <= code <= high for code in codes)


@both(any_listed)
@given(codes=ascending, listed=ascending)
def test_a_set_has_a_code_of_a_list(function: Any, codes: list[int], listed: list[int]) -> None:
    array, others = np.array([5, *codes, 5], np.int32), np.array([7, *listed, 7], np.int32)
    assert function(array, 1, len(codes) + 1, others, 1, len(listed) + 1) == bool({*codes} & {*listed})


@pytest.mark.parametrize("compress", [False, True])
@given(numbers=st.lists(st.integers(-1, 3).map(lambda n: n if n > 0 else -1), max_size=70), begin=st.integers(0, 20))
def test_removed_numbers_are_closed_up_over(compress: bool, numbers: list[int], begin: int) -> None:
    out = np.full(begin + len(numbers) + 64, 77, np.int32)
    out[begin : begin + len(numbers)] = numbers
    # Without AVX-512 the same operations run, if slowly.
    end = without_removed(out, begin, begin + len(numbers), compress)
    assert out[begin:end].tolist() == [number for number in numbers if number >= 0]
    assert (out[:begin] == 77).all()
    assert (out[begin + len(numbers) :] == 77).all()


def test_compressing_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAMIS_NO_COMPRESS", "1")
    assert not has_compress()
    monkeypatch.delenv("TAMIS_NO_COMPRESS")
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "+sse2,-avx512f")
    assert not has_compress()
