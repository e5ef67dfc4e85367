"""Search in a part of an array whose numbers ascend, for kernels."""

from __future__ import annotations

from typing import Any

from tamis.compiled import inlined_kernel


@inlined_kernel
def first_from(numbers: Any, start: int, stop: int, bound: float) -> int:
    """The first position from start on whose number is the bound or above; `stop` if there is none."""
    while start < stop:
        middle = (start + stop) >> 1
        if numbers[middle] < bound:
            start = middle + 1
        else:
            stop = middle
    return start


@inlined_kernel
def first_above(numbers: Any, start: int, stop: int, bound: float) -> int:
    """The first position from start on whose number is above the bound; `stop` if there is none."""
    while start < stop:
        middle = (start + stop) >> 1
        if numbers[middle] <= bound:
            start = middle + 1
        else:
            stop = middle
    return start


@inlined_kernel
def is_listed(numbers: Any, start: int, stop: int, number: int) -> bool:
    """Whether a number is among those from start on."""
    at = first_from(numbers, start, stop, number)
    return bool(at < stop and numbers[at] == number)
