"""Arrow columns of times as microseconds since the epoch, UTC: the vectorised side of `timestamps`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.schema.timestamps import MICROSECONDS_PER_DAY, parse_timestamp

INSTANT = pa.timestamp("us", "UTC")
_NAIVE = pa.timestamp("us")
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_ZONED = r"[T ].*(Z|[+-]\d\d:?(\d\d)?)$"
_FEW = 32
# Arrow's calendar has a year 0, Python's has not: texts about there are left to the reader.
_EARLIEST_TEXT = parse_timestamp("0002-01-01")

Found = tuple[pa.Array, npt.NDArray[np.bool_] | None]


def instants(array: pa.Array) -> Found | None:
    """The instants of a column and which of them are doubtful; None for a type that holds no times."""
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
    """Counts of a coarser unit; what does not fit into 64 bits of microseconds is doubtful."""
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
    """Parse halves of halves until the texts that Arrow cannot read stand nearly alone."""
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
