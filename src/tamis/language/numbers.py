"""Numbers and moments in filters: comparisons with a number that a type may not have, and ISO 8601 texts.

Comparisons are exact; moments are microseconds since the epoch.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar

from tamis.schema.timestamps import parse_timestamp

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


_FORM = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)

EARLIEST = (datetime.min - _EPOCH) // _MICROSECOND
LATEST = (datetime.max - _EPOCH) // _MICROSECOND


def read_timestamp(text: str) -> int | None:
    """Microseconds since the epoch, UTC where the text names no zone; None if the text is no timestamp.

    >>> read_timestamp("1970-01-01 00:00:01"), read_timestamp("1970-01-01T02:00+02:00"), read_timestamp("soon")
    (1000000, 0, None)

    No zone has a minute 75, as none has in events:

    >>> read_timestamp("1970-01-01T02:00+00:75")
    """
    microseconds = parse_timestamp(text) if _FORM.fullmatch(text) else None
    # A zone may lead out of the calendar, next to the years 1 and 9999.
    return microseconds if microseconds is not None and EARLIEST <= microseconds <= LATEST else None


def write_timestamp(microseconds: int) -> str:
    """The shortest text that reads back as this moment, which lies between EARLIEST and LATEST.

    >>> write_timestamp(1000000), write_timestamp(86400000000)
    ('1970-01-01 00:00:01', '1970-01-02')
    """
    moment = _EPOCH + timedelta(microseconds=microseconds)
    if moment.time() == datetime.min.time():
        return moment.date().isoformat()
    return moment.replace(tzinfo=UTC).isoformat(sep=" ").removesuffix("+00:00")
