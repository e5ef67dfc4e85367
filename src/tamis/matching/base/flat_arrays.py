"""Room in arrays that grow: at least twice as much each time, so that growing costs little a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.compiled import inlined_kernel


def extended(array: npt.NDArray[Any], rows: int) -> npt.NDArray[Any]:
    """The array, or one at least twice as long with the same beginning, then zeros, so that it has so many rows."""
    if rows <= len(array):
        return array
    longer = np.zeros((max(rows, 2 * len(array)), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def doubled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Twice the array's rows, the new ones zeros."""
    return extended(array, len(array) + 1)


# Search in a part of an array whose numbers ascend, for kernels.


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
    """True if a number is among those from start on."""
    at = first_from(numbers, start, stop, number)
    return bool(at < stop and numbers[at] == number)


# Arrays that grow as numbers are given, without being copied each time.


def reaching(array: npt.NDArray[Any], place: int, empty: int) -> npt.NDArray[Any]:
    """The array, with room for this place and half as many more; what is new is `empty`."""
    if place < len(array):
        return array
    return np.concatenate([array, np.full(place + 1 + place // 2 - len(array), empty, array.dtype)])


def run_starts(numbers: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Positions at which runs of equal numbers begin."""
    changes = np.flatnonzero(numbers[1:] != numbers[:-1])
    return np.concatenate([_FIRST[: len(numbers)], changes + 1])


_FIRST = np.zeros(1, np.int64)


class NumberSet:
    """A set of numbers as an array, in no order; one comes or goes in constant time."""

    def __init__(self) -> None:
        self._numbers = np.zeros(8, np.int64)
        self._place: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._place)

    @property
    def array(self) -> npt.NDArray[np.int64]:
        """Valid until the next change."""
        return self._numbers[: len(self._place)]

    def add(self, number: int) -> None:
        """One that is not there yet."""
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
