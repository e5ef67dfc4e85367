"""Search in ascending numbers is what `bisect` does, compiled or not."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.compiled import kernel
from tamis.matching.base import flat_arrays as searching


@kernel
def compiled_search(numbers: Any, start: int, stop: int, number: int) -> tuple[int, int, bool]:
    return (
        searching.first_from(numbers, start, stop, number),
        searching.first_above(numbers, start, stop, number),
        searching.is_listed(numbers, start, stop, number),
    )


@pytest.mark.parametrize("search", [compiled_search, compiled_search.py_func], ids=["compiled", "not"])
@given(numbers=st.lists(st.integers(-9, 9), max_size=12).map(sorted), number=st.integers(-10, 10), data=st.data())
def test_searches_find_what_bisect_does_and_look_nowhere_else(
    search: Callable[..., tuple[int, int, bool]], numbers: list[int], number: int, data: Any
) -> None:
    start = data.draw(st.integers(0, len(numbers)))
    stop = data.draw(st.integers(start, len(numbers)))
    found = search(np.array(numbers, np.int64), start, stop, number)
    assert found == (
        bisect_left(numbers, number, start, stop),
        bisect_right(numbers, number, start, stop),
        number in numbers[start:stop],
    )
