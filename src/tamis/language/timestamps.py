"""Timestamps in filters: ISO 8601 text to microseconds since the epoch and back."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from tamis.schema.timestamps import parse_timestamp

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
