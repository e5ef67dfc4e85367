"""Counts by subscription and window of time, kept small while they grow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]

# Merging sorts what has come in since; now and then is often enough.
MERGE_AT = 4_000_000


class Tally:
    """How often each number was counted in each window. A cell is `window * width + number`, `width` above all numbers.

    `cells` that came in are merged when there are many, so memory follows the distinct cells, not the counts.
    """

    def __init__(self, width: int) -> None:
        self._width = max(1, width)
        self._cells: list[Int64s] = []
        self._counts: list[Int64s] = []
        self._waiting = 0

    def add(self, windows: Int64s, numbers: Int64s) -> None:
        """Counts number i once in window i."""
        cells, counts = np.unique(windows * self._width + numbers, return_counts=True)
        self._cells.append(cells)
        self._counts.append(counts)
        self._waiting += len(cells)
        if self._waiting > MERGE_AT:
            self._merge()

    def __len__(self) -> int:
        """How many distinct cells there are."""
        self._merge()
        return len(self._cells[0])

    def cells(self) -> tuple[Int64s, Int64s, Int64s]:
        """Windows, numbers and counts."""
        self._merge()
        windows, numbers = np.divmod(self._cells[0], self._width)
        return windows, numbers, self._counts[0]

    def _merge(self) -> None:
        cells, places = np.unique(np.concatenate([np.zeros(0, np.int64), *self._cells]), return_inverse=True)
        counts = np.zeros(len(cells), np.int64)
        np.add.at(counts, places, np.concatenate([np.zeros(0, np.int64), *self._counts]))
        self._cells, self._counts, self._waiting = [cells], [counts], 0


def first_of_each(numbers: Int64s, taken: npt.NDArray[np.uint8], limit: int) -> Int64s:
    """Places of numbers that were taken less than `limit` times so far, as many as are still wanted of each.

    `taken` counts them in.
    """
    open_places = np.flatnonzero(taken[numbers] < limit)
    order = open_places[np.argsort(numbers[open_places], kind="stable")]
    ordered = numbers[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, np.int64)
    lengths = np.diff(np.append(starts, len(ordered)))
    rank = np.arange(len(ordered)) - np.repeat(starts, lengths)
    chosen = rank < limit - taken[ordered]
    np.add.at(taken, ordered[chosen], 1)
    return np.sort(order[chosen])
