"""Conversion of one value to its domain's canonical Python form, or the reason why it has none; base64 for bytes.

These conversions are the reference of the vectorised paths. One is accepted only where it keeps the value: `1.0` is
an integer, `2**53 + 1` is no float, `True` is no number. A decimal fraction stands for the nearest double, as
it does in JSON.

Bytes are written in text as base64, as in JSON.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.schema.domains import Domain, EnumeratedDomain, HierarchicalDomain, listing
from tamis.schema.timestamps import from_date, from_datetime, from_datetime64, parse_timestamp


def read_base64(text: str) -> bytes | None:
    """The bytes that a text stands for; None if it is no base64 with its padding, in the standard alphabet.

    >>> read_base64("aGk="), read_base64("aGk"), read_base64("a-k=")
    (b'hi', None, None)
    """
    return _decoded(text)


def write_base64(value: bytes) -> str:
    """Base64 text that reads back as these bytes."""
    return base64.b64encode(value).decode("ascii")


def shown_bytes(value: bytes) -> str:
    """Text that stands for bytes where they are shown to people: their number."""
    return f"<{len(value):,} bytes>"


def decoded(texts: pa.Array) -> tuple[pa.Array, np.ndarray[tuple[int], np.dtype[np.bool_]] | None]:
    """Column of base64 decoded to bytes, and a mask of rows that are no base64; None if there are none."""
    found: list[bytes | None] = []
    wrong = np.zeros(len(texts), np.bool_)
    for row, text in enumerate(texts.cast(pa.large_binary()).to_pylist()):
        value = None if text is None else _decoded(text)
        wrong[row] = text is not None and value is None
        found.append(value)
    return pa.array(found, pa.binary()), wrong if wrong.any() else None


def _decoded(text: str | bytes) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


Value = int | float | str | bool | bytes
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
# As tuples, and tried after the exact type: these checks run for every value of every event in dict form.
_BOOLEANS = (bool, np.bool_)
_INTEGERS = (int, np.integer)
_FLOATS = (float, np.floating)


class InadmissibleError(ValueError):
    """Reason why a domain does not have a value, worded to follow the value: `'x' is not an integer`."""


class Unreadable:
    """Placeholder of a cell that has no Python value, such as a string of broken UTF-8. No domain admits it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def read_value(domain: Domain, value: object) -> Value:
    """Value in the domain's canonical form; `InadmissibleError` says why there is none."""
    return _READERS[domain.kind](domain, value)


def _integer(_: Domain, value: Any) -> int:
    if type(value) is int:
        number: int = value
    elif isinstance(value, _BOOLEANS):
        raise InadmissibleError("is a boolean, not an integer")
    elif isinstance(value, _INTEGERS):
        number = int(value)
    elif isinstance(value, _FLOATS):
        if not value.is_integer():
            raise InadmissibleError("is not a whole number")
        number = int(value)
    elif isinstance(value, Decimal):
        # The size first: an exponent in the millions would fill the memory with digits.
        if not value.is_finite() or (value and value.adjusted() > 20) or value != value.to_integral_value():
            raise InadmissibleError("is not a whole number of 64 bits")
        number = int(value)
    else:
        raise InadmissibleError("is not an integer")
    if not INT64_MIN <= number <= INT64_MAX:
        raise InadmissibleError("is beyond the 64-bit integers")
    return number


def _float(_: Domain, value: Any) -> float:
    if type(value) is float:
        number: float = value
    elif isinstance(value, _BOOLEANS):
        raise InadmissibleError("is a boolean, not a number")
    elif isinstance(value, _FLOATS):
        number = float(value)
    elif isinstance(value, _INTEGERS):
        number = _exact_float(int(value))
    elif isinstance(value, Decimal):
        if value.is_nan():
            raise InadmissibleError("is not a number")
        number = float(value)
    else:
        raise InadmissibleError("is not a number")
    if number != number:
        raise InadmissibleError("is NaN, which no comparison could use; leave the attribute out")
    return number


def _exact_float(value: int) -> float:
    try:
        number = float(value)
    except OverflowError:
        raise InadmissibleError("is beyond the range of a 64-bit float") from None
    if int(number) != value:
        raise InadmissibleError("has no exact 64-bit float; declare the attribute integer, or publish a float")
    return number


def _string(_: Domain, value: object) -> str:
    if not isinstance(value, str):
        raise InadmissibleError("is not a string")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise InadmissibleError("holds a lone surrogate, which is no character") from None
    return str(value)


def _boolean(_: Domain, value: object) -> bool:
    if not isinstance(value, _BOOLEANS):
        raise InadmissibleError("is not a boolean")
    return bool(value)


def _timestamp(_: Domain, value: object) -> int:
    microseconds: int | None
    if isinstance(value, str):
        microseconds = parse_timestamp(value)
    elif isinstance(value, datetime):
        microseconds = from_datetime(value)
    elif isinstance(value, date):
        microseconds = from_date(value)
    elif isinstance(value, np.datetime64):
        microseconds = from_datetime64(value)
    elif isinstance(value, _INTEGERS) and not isinstance(value, bool):
        microseconds = int(value)
        if not INT64_MIN <= microseconds <= INT64_MAX:
            raise InadmissibleError("is beyond the timestamps of 64 bits in microseconds")
    else:
        microseconds = None
    if microseconds is None:
        raise InadmissibleError("is not a timestamp; write ISO 8601 as in 2024-05-01T10:00:00Z")
    return microseconds


def _binary(_: Domain, value: object) -> bytes:
    if isinstance(value, str):
        found = read_base64(value)
        if found is None:
            raise InadmissibleError("is not base64, which is how bytes are written in text")
        return found
    if not isinstance(value, bytes | bytearray | memoryview):
        raise InadmissibleError("is neither bytes nor base64")
    return bytes(value)


def _listed(domain: EnumeratedDomain | HierarchicalDomain, value: object) -> str:
    if not isinstance(value, str):
        raise InadmissibleError("is not a string")
    if domain.position(value) is None:
        raise InadmissibleError(f"is not one of {listing(domain.values)}")
    return str(value)


_READERS: dict[str, Callable[[Any, Any], Value]] = {
    "integer": _integer,
    "float": _float,
    "string": _string,
    "boolean": _boolean,
    "timestamp": _timestamp,
    "binary": _binary,
    "enumerated": _listed,
    "hierarchical": _listed,
}
