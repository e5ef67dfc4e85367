"""Timestamps as microseconds since the epoch, UTC: read from ISO 8601 texts, Python's types and Arrow columns.

A text is `YYYY-MM-DD`, then optionally `T` or a space and `hh[:mm[:ss[.fraction]]]`, then optionally `Z`, `±hh`,
`±hhmm` or `±hh:mm`. No zone means UTC; a fraction finer than microseconds is cut off. Python's own ISO reader accepts
more, and differs between versions, so the form is fixed here. `instants` reads whole Arrow columns.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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
    """Instant that an ISO 8601 text names; None if it names none."""
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
    """Instant of a datetime, UTC where it has no zone; None for pandas' not-a-time."""
    zoneless = value.tzinfo is None or value.tzinfo.utcoffset(value) is None
    aware = value.replace(tzinfo=UTC) if zoneless else value
    microseconds: object = (aware - _EPOCH) // _MICROSECOND
    return microseconds if isinstance(microseconds, int) else None


def from_date(value: date) -> int:
    """Instant of a date: midnight, UTC."""
    return (value.toordinal() - _EPOCH.toordinal()) * MICROSECONDS_PER_DAY


def from_datetime64(value: np.datetime64) -> int | None:
    """Instant of NumPy's datetime, in UTC as NumPy has it; None for not-a-time, and beyond 64 bits."""
    if np.isnat(value):
        return None
    instant: np.datetime64 = value.astype("datetime64[us]")
    # NumPy lets an overflow pass, which there can be from a coarser unit only, and which shows on the way back.
    if np.datetime_data(value.dtype)[0] not in _FINE_UNITS and instant.astype(value.dtype) != value:
        return None
    return int(instant.astype(np.int64))


def to_datetime(microseconds: int) -> datetime | int:
    """Datetime of an instant, to be shown; the number itself where Python's calendar does not reach."""
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


INSTANT = pa.timestamp("us", "UTC")
_NAIVE = pa.timestamp("us")
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_ZONED = r"[T ].*(Z|[+-]\d\d:?(\d\d)?)$"
_FEW = 32
# Arrow's calendar has a year 0, Python's has not: texts about there are left to the reader.
_EARLIEST_TEXT = parse_timestamp("0002-01-01")

Found = tuple[pa.Array, npt.NDArray[np.bool_] | None]


def instants(array: pa.Array) -> Found | None:
    """Instants of a column and which of them are doubtful; None for a type that holds no times."""
    kind = array.type
    if kind == INSTANT:
        return array, None
    if pa.types.is_timestamp(kind):
        counts = array.view(pa.int64())
        return _truncated(counts) if kind.unit == "ns" else _scaled(counts, _MICROSECONDS[kind.unit])
    if pa.types.is_date32(kind):
        return _scaled(array.view(pa.int32()).cast(pa.int64()), MICROSECONDS_PER_DAY)
    if pa.types.is_date64(kind):
        return _scaled(array.view(pa.int64()), 1_000)
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return array.cast(pa.int64()).view(INSTANT), None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _texts(array.cast(pa.string()))
    return None


def _scaled(counts: pa.Array, times: int) -> Found:
    """Instants from counts of a coarser unit; doubtful where they do not fit into 64 bits of microseconds."""
    if times == 1:
        return counts.view(INSTANT), None
    numbers, missing = _numbers(counts)
    largest = (2**63 - 1) // times
    doubtful = (numbers > largest) | (numbers < -largest)
    return pa.array(numbers * times, mask=missing).view(INSTANT), doubtful if doubtful.any() else None


def _truncated(nanoseconds: pa.Array) -> Found:
    numbers, missing = _numbers(nanoseconds)
    return pa.array(numbers // 1_000, mask=missing).view(INSTANT), None


def _numbers(counts: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_] | None]:
    missing = np.asarray(counts.is_null()) if counts.null_count else None
    return np.asarray(pc.fill_null(counts, 0), dtype=np.int64), missing


def _texts(array: pa.Array) -> Found:
    whole = _parsed(array)
    if whole is None and len(array) > _FEW:
        zoned = pc.fill_null(pc.match_substring_regex(array, _ZONED), False)
        some = np.asarray(zoned)
        if some.any() and not some.all():
            with_zone = pc.if_else(zoned, array, pa.scalar(None, pa.string()))
            without = pc.if_else(zoned, pa.scalar(None, pa.string()), array)
            return _joined(_bisected(with_zone), _bisected(without))
        return _bisected(array)
    return (pa.nulls(len(array), INSTANT), _every(array)) if whole is None else _trusted(whole)


def _bisected(array: pa.Array) -> Found:
    """Parses halves of halves until the texts that Arrow cannot read stand nearly alone."""
    parsed = _parsed(array)
    if parsed is not None:
        return _trusted(parsed)
    if len(array) <= _FEW:
        return pa.nulls(len(array), INSTANT), _every(array)
    middle = len(array) // 2
    (first, first_doubtful), (second, second_doubtful) = _bisected(array[:middle]), _bisected(array[middle:])
    doubtful = np.zeros(len(array), dtype=np.bool_)
    for part, part_doubtful in ((slice(0, middle), first_doubtful), (slice(middle, None), second_doubtful)):
        if part_doubtful is not None:
            doubtful[part] = part_doubtful
    return pa.concat_arrays([first, second]), doubtful


def _joined(left: Found, right: Found) -> Found:
    values = pc.coalesce(left[0], right[0])
    masks = [mask for mask in (left[1], right[1]) if mask is not None]
    return values, np.logical_or.reduce(masks) if masks else None


def _parsed(array: pa.Array) -> pa.Array | None:
    for kind in (INSTANT, _NAIVE):
        try:
            return array.cast(kind).cast(pa.int64()).cast(INSTANT)
        except pa.ArrowInvalid:
            continue
    return None


def _trusted(parsed: pa.Array) -> Found:
    early = pc.less(parsed.cast(pa.int64()), _EARLIEST_TEXT)
    if not pc.any(early).as_py():
        return parsed, None
    return parsed, np.asarray(pc.fill_null(early, False))


def _every(array: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(array.is_valid())
