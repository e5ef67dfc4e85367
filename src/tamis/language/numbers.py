"""Exact comparisons of an attribute with a number that its type may not have."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Generic, TypeVar

INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bounds(Generic[T]):
    """Two ends of a range; None where there is no end."""

    low: T | None
    high: T | None
    low_closed: bool = True
    high_closed: bool = True

    @classmethod
    def of(cls, operator: str, value: T) -> Bounds[T]:
        """The values that compare with `value` by =, <, <=, > or >=."""
        if operator == "=":
            return cls(value, value)
        if operator in (">", ">="):
            return cls(value, None, low_closed=operator == ">=")
        return cls(None, value, high_closed=operator == "<=")


def integer_bounds(bounds: Bounds[int | float]) -> Bounds[int] | None:
    """The 64-bit integers within the bounds, as a closed range; None if there are none.

    >>> integer_bounds(Bounds.of(">", 2.5)), integer_bounds(Bounds.of("=", 2.5))
    (Bounds(low=3, high=None, low_closed=True, high_closed=True), None)
    """
    low: int | None = None
    high: int | None = None
    if bounds.low is not None:
        low = math.floor(bounds.low) + 1 if not bounds.low_closed else math.ceil(bounds.low)
        if low > INT_MAX:
            return None
    if bounds.high is not None:
        high = math.ceil(bounds.high) - 1 if not bounds.high_closed else math.floor(bounds.high)
        if high < INT_MIN:
            return None
    low = None if low is not None and low < INT_MIN else low
    high = None if high is not None and high > INT_MAX else high
    return None if low is not None and high is not None and low > high else Bounds(low, high)


def float_bounds(bounds: Bounds[int | float]) -> Bounds[float] | None:
    """The doubles within the bounds, whose ends may be integers that are no doubles; None if there are none.

    >>> float_bounds(Bounds.of(">", 2**53 + 1))
    Bounds(low=9007199254740994.0, high=None, low_closed=True, high_closed=True)
    """
    low, low_closed = (None, True) if bounds.low is None else _float_low(bounds.low, bounds.low_closed)
    high, high_closed = None, True
    if bounds.high is not None:
        mirrored, high_closed = _float_low(-bounds.high, bounds.high_closed)
        high = -mirrored
    if low is not None and high is not None and (low > high or (low == high and not (low_closed and high_closed))):
        return None
    return Bounds(None if low is None else low + 0.0, None if high is None else high + 0.0, low_closed, high_closed)


def _float_low(value: int | float, closed: bool) -> tuple[float, bool]:
    """The doubles above a value, as the lowest of them, or as the largest finite one, which is left out."""
    try:
        nearest = float(value)
    except OverflowError:
        return (sys.float_info.max, False) if value > 0 else (-sys.float_info.max, True)
    if nearest == value:
        return nearest, closed
    above = nearest if nearest > value else math.nextafter(nearest, math.inf)
    return (sys.float_info.max, False) if above == math.inf else (above, True)
