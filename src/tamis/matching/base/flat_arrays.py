"""Growing arrays, binary search and sets of numbers over flat NumPy arrays, for the kernels of all rooms.

Arrays at least double when they grow, so that a row costs constant time on average.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.compiled import inlined_kernel


def extended(array: npt.NDArray[Any], rows: int) -> npt.NDArray[Any]:
    """The array, or one at least twice as long with the same beginning and then zeros, with at least this many rows."""
    if rows <= len(array):
        return array
    longer = np.zeros((max(rows, 2 * len(array)), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def doubled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array followed by as many rows of zeros."""
    return extended(array, len(array) + 1)


# Binary search within a range of an ascending array, for kernels.


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
    """True if an ascending array has a number from position `start` on."""
    at = first_from(numbers, start, stop, number)
    return bool(at < stop and numbers[at] == number)


# Arrays that grow with the numbers put in, without a copy at each growth.


def reaching(array: npt.NDArray[Any], place: int, empty: int) -> npt.NDArray[Any]:
    """The array with room for this position and half as many more; `empty` makes the new part."""
    if place < len(array):
        return array
    return np.concatenate([array, np.full(place + 1 + place // 2 - len(array), empty, array.dtype)])


def run_starts(numbers: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Positions at which runs of equal numbers begin."""
    changes = np.flatnonzero(numbers[1:] != numbers[:-1])
    return np.concatenate([_FIRST[: len(numbers)], changes + 1])


_FIRST = np.zeros(1, np.int64)


class NumberSet:
    """A set of numbers kept in an unordered array; adding and removing take constant time."""

    def __init__(self) -> None:
        self._numbers = np.zeros(8, np.int64)
        self._place: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._place)

    @property
    def array(self) -> npt.NDArray[np.int64]:
        """The numbers as an array, valid until the next change."""
        return self._numbers[: len(self._place)]

    def add(self, number: int) -> None:
        """Adds a number that is not in the set yet."""
        place = len(self._place)
        self._numbers = reaching(self._numbers, place, 0)
        self._numbers[place] = number
        self._place[number] = place

    def discard(self, number: int) -> None:
        place = self._place.pop(number, None)
        if place is not None and place < len(self._place):
            last = int(self._numbers[len(self._place)])
            self._numbers[place] = last
            self._place[last] = place
