"""Moments as both databases hold them: whole microseconds since 1970, which sort, subtract and never change zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import BigInteger, Dialect
from sqlalchemy.types import TypeDecorator

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> datetime:
    return datetime.now(UTC)


def microseconds(moment: datetime) -> int:
    """A moment without a zone is refused: nobody knows when it is."""
    return (moment - EPOCH) // _MICROSECOND


def moment(count: int) -> datetime:
    return EPOCH + timedelta(microseconds=count)


class Moment(TypeDecorator[datetime]):
    """A datetime with a zone outside, an int64 inside."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        return None if value is None else moment(value)
