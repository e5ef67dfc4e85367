"""What a comparison with all rows of a table finds, however much that is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tamis.routing.standing.kernels import FOUND_COVERED, FOUND_COVERING, FULL

Int64s = npt.NDArray[np.int64]
Related = tuple[Int64s, Int64s]
"""Pairs (owner, answer): of the rows that cover a conjunction, and of those that it covers."""


class Relating:
    """Room for such pairs, kept from one comparison to the next: what was found is good until then."""

    def __init__(self, room: int) -> None:
        self.covering = np.zeros((room, 2), np.int64)
        self.covered = np.zeros((room, 2), np.int64)
        self._work = np.zeros(4, np.int64)

    def find(self, compare: Callable[[Int64s, Int64s, Int64s], object]) -> Related:
        """Compares, into pairs that cover, pairs that are covered, and counts; again with more room if it ran out."""
        while True:
            self._work[:] = 0
            compare(self.covering, self.covered, self._work)
            if not self._work[FULL]:
                found = self._work.tolist()
                return self.covering[: found[FOUND_COVERING]], self.covered[: found[FOUND_COVERED]]
            self.covering = np.zeros((4 * len(self.covering), 2), np.int64)
            self.covered = np.zeros((4 * len(self.covered), 2), np.int64)
