"""Output buffers that are used again once nobody holds what was written to them."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

SLAB = 1 << 23  # words beyond what one event may need: larger answers come in several parts
KEPT = 4


def _references(slabs: list[npt.NDArray[np.int32]], number: int) -> int:
    return sys.getrefcount(slabs[number])


# What is counted of a slab that only its list refers to: measured, for it differs between interpreters.
_UNUSED = _references([np.empty(0, np.int32)], 0)


class Slabs:
    """The large buffers of one thread, a few at most.

    An answer is a view of its slab, so a slab that nothing else refers to holds no answer that somebody still has.
    Memory that was written before is written again much faster than memory fresh from the system.
    """

    def __init__(self) -> None:
        self._slabs: list[npt.NDArray[np.int32]] = []

    def take(self, words: int) -> npt.NDArray[np.int32]:
        """A slab of at least so many words that nobody uses."""
        for number in range(len(self._slabs)):
            if _references(self._slabs, number) == _UNUSED and len(self._slabs[number]) >= words:
                return self._slabs[number]
        fresh = np.empty(words, np.int32)
        self._slabs = [*self._slabs[1 - KEPT :], fresh]
        return fresh
