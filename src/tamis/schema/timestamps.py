"""Instants as microseconds since the epoch, UTC, read from ISO 8601 texts and from Python's own types.

A text is `YYYY-MM-DD`, then optionally `T` or a space and `hh[:mm[:ss[.fraction]]]`, then optionally `Z`, `±hh`,
`±hhmm` or `±hh:mm`. No zone means UTC; a fraction finer than microseconds is cut off. Python's own ISO reader accepts
more, and what it accepts changes between versions, so the form is fixed here.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np

MICROSECONDS_PER_DAY = 86_400_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FINE_UNITS = ("us", "ns", "ps", "fs", "as")
_TEXT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d+))?)?)?(Z|([+-])(\d\d)(?::?(\d\d))?)?)?",
    re.ASCII,
)


def parse_timestamp(text: str) -> int | None:
    """The instant that an ISO 8601 text names; None if it names none."""
    found = _TEXT.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second, fraction, zone, sign, zone_hours, zone_minutes = found.groups(default="")
    if int(zone_hours or 0) > 23 or int(zone_minutes or 0) > 59:
        return None
    offset = timedelta(hours=int(zone_hours or 0), minutes=int(zone_minutes or 0))
    try:
        instant = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0),
            int(fraction[:6].ljust(6, "0")) if fraction else 0,
            tzinfo=timezone(-offset if sign == "-" else offset) if zone else UTC,
        )  # fmt: skip
    except ValueError:
        return None
    return (instant - _EPOCH) // _MICROSECOND


def from_datetime(value: datetime) -> int | None:
    """The instant of a datetime, UTC where it has no zone; None for pandas' not-a-time."""
    zoneless = value.tzinfo is None or value.tzinfo.utcoffset(value) is None
    aware = value.replace(tzinfo=UTC) if zoneless else value
    microseconds: object = (aware - _EPOCH) // _MICROSECOND
    return microseconds if isinstance(microseconds, int) else None


def from_date(value: date) -> int:
    """Midnight, UTC."""
    return (value.toordinal() - _EPOCH.toordinal()) * MICROSECONDS_PER_DAY


def from_datetime64(value: np.datetime64) -> int | None:
    """The instant of NumPy's datetime, in UTC as NumPy has it; None for not-a-time, and beyond 64 bits."""
    if np.isnat(value):
        return None
    instant: np.datetime64 = value.astype("datetime64[us]")
    # NumPy lets an overflow pass, which there can be from a coarser unit only, and which shows on the way back.
    if np.datetime_data(value.dtype)[0] not in _FINE_UNITS and instant.astype(value.dtype) != value:
        return None
    return int(instant.astype(np.int64))


def to_datetime(microseconds: int) -> datetime | int:
    """For people to read; the number itself where Python's calendar does not reach."""
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return microseconds


def write_instant(moment: datetime) -> str:
    """ISO 8601 in UTC, with Z.

    >>> write_instant(datetime(2024, 5, 1, 10, tzinfo=UTC))
    '2024-05-01T10:00:00Z'
    """
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
