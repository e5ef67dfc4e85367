"""The time of a scan, shared out among the programs that took it by the steps that each was run for."""

from __future__ import annotations

import time
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.matching.patterns.kernels import STEPS_LEFT
from tamis.matching.patterns.metering import Gauge, Mask
from tamis.matching.patterns.texts import Texts

Metering: TypeAlias = tuple[npt.NDArray[np.int64], Mask, npt.NDArray[np.int64]]

# Steps of a slice: some tenths of a second. After each it may turn out that a program is to be left out.
SLICE = 1 << 28
# Fewer steps in all, a few milliseconds, are nobody's fault.
FEW = 1 << 22
_NOTHING = np.zeros(0, np.int64)
_NONE = np.zeros(0, np.bool_)


class Steps:
    """The account of one call. Without a gauge there is none, and the scan runs in one slice."""

    def __init__(self, programs: int, gauge: Gauge | None) -> None:
        self._gauge = gauge
        self._state = np.array([SLICE, -1, 0, 0], np.int64)
        self._left_out = np.zeros(programs, np.bool_) if gauge is not None else _NONE
        # Pages that are never written cost nothing.
        self._spent = np.zeros(programs, np.int64) if gauge is not None else _NOTHING
        self._began, self._row = 0.0, 0
        if gauge is not None and (mask := gauge.left_out()) is not None:
            self._left_out[:] = mask

    def begin(self) -> Metering:
        """What the kernel is handed; the clock runs from the first time, or since the last account."""
        if self._gauge is not None and not self._began:
            self._began = time.thread_time()
        return self._spent, self._left_out, self._state

    def account(self, texts: Texts, row: int) -> None:
        """Tells what was spent once it is much, when the scan has stopped at a row."""
        steps = SLICE - int(self._state[STEPS_LEFT])
        if self._gauge is None or steps < FEW:
            return
        seconds = time.thread_time() - self._began
        # Beside the programs, each byte took about a step to look for keys.
        passed = slice(self._row, row + 1)
        scanned = int(np.maximum(texts.ends[passed] - texts.starts[passed], 0).sum())
        numbers = np.flatnonzero(self._spent)
        spent = self._spent[numbers]
        self._gauge.took(numbers, spent.astype(np.float64) * (seconds / (steps + scanned)))
        self._spent[numbers] = 0
        self._began, self._row = 0.0, row
        self._state[STEPS_LEFT] = SLICE
        if (mask := self._gauge.left_out()) is not None:
            self._left_out[:] = mask
