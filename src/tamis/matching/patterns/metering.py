"""Metering of slow patterns: processor time charged to each, and patterns that are not run any more.

Metering happens only within `metered`, and only where patterns are slow: on long values, or after millions of steps.
Otherwise patterns share scans that cost about the same whichever patterns are in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from tamis.arrays import Bools, Floats, Int32s

if TYPE_CHECKING:
    from tamis.matching.patterns.pattern_set import PatternSet


class Meter(Protocol):
    """Meter of a match: is told the time that patterns took while they run, and may have some left out from then on."""

    def took(self, patterns: PatternSet, numbers: Int32s, seconds: Floats) -> None:
        """Notes seconds of processor time that patterns of a set took, each by itself."""

    def left_out(self, patterns: PatternSet) -> Bools | None:
        """Mask of the patterns of a set that are not run any more and match nothing; None: all are run.

        Another mask is another array: none is ever changed.
        """


_METER: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def metered(meter: Meter) -> Iterator[None]:
    """Context in which everything that this thread matches is told to the meter."""
    token = _METER.set(meter)
    try:
        yield
    finally:
        _METER.reset(token)


class Gauge:
    """A meter as one part of a set sees it, which numbers its own patterns from 0."""

    def __init__(self, meter: Meter, patterns: PatternSet, numbers: Int32s) -> None:
        self._meter = meter
        self._patterns = patterns
        self._numbers = numbers
        self._last: tuple[Bools | None, Bools | None] = (None, None)  # a mask of the whole, and what it is here

    @classmethod
    def of(cls, patterns: PatternSet, numbers: Int32s) -> Gauge | None:
        """Gauge of a part; None where nobody meters."""
        meter = _METER.get()
        return None if meter is None else cls(meter, patterns, numbers)

    def took(self, numbers: npt.NDArray[Any], seconds: Floats) -> None:
        self._meter.took(self._patterns, self._numbers[numbers], seconds)

    def took_alone(self, number: int, seconds: float) -> None:
        self.took(np.array([number]), np.array([seconds]))

    def left_out(self) -> Bools | None:
        mask = self._meter.left_out(self._patterns)
        if mask is not self._last[0]:
            self._last = mask, None if mask is None else mask[self._numbers]
        return self._last[1]
