"""Answers for the values seen last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int32]
# What an entry weighs beside its bytes: the objects and their place in the table.
_ENTRY_BYTES = 200


class Recent:
    """Value → numbers, the least recently used forgotten first, up to a number of bytes in all.

    Threads share it: a call holds the lock for a whole batch, and never while anything is computed.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._entries: OrderedDict[bytes, Numbers] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, values: Sequence[bytes]) -> list[Numbers | None]:
        with self._lock:
            found = [self._entries.get(value) for value in values]
            for value, numbers in zip(values, found, strict=True):
                if numbers is not None:
                    self._entries.move_to_end(value)
        return found

    def keep(self, values: Sequence[bytes], answers: Sequence[Numbers]) -> None:
        with self._lock:
            for value, numbers in zip(values, answers, strict=True):
                weight = _weight(value, numbers)
                # A value that would push out a good part of the others is not worth it.
                if value not in self._entries and 16 * weight <= self._most_bytes:
                    self._entries[value] = numbers
                    self._bytes += weight
            while self._bytes > self._most_bytes:
                value, numbers = self._entries.popitem(last=False)
                self._bytes -= _weight(value, numbers)

    def __len__(self) -> int:
        return len(self._entries)


def _weight(value: bytes, numbers: Numbers) -> int:
    return _ENTRY_BYTES + len(value) + numbers.nbytes
