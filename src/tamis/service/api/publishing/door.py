"""The check at the door: which of the incoming texts are events of the schema, and why the others are not.

What gets in is JSON that every parser reads alike, however strict: later stages need not ask again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from tamis.schema import Schema
from tamis.schema.json_lines import MalformedJsonError, parse_json
from tamis.schema.reading import check_view, read_event
from tamis.service.api.nesting import DEEPEST, deepest

# Looking at a batch as a whole costs as much as at this many events one by one.
FEW: Final = 100
_TOO_DEEP: Final = f"the event is nested more than {DEEPEST} deep"
# What Python or Arrow may take and another parser not: halves of characters, NaN, numbers beyond all floats.
_ODD: Final = r"\\u[dD][89a-fA-F]|NaN|Infinity|[0-9][eE]|[0-9]{200}"

_ODD_TEXT: Final = re.compile(_ODD)


@dataclass(frozen=True, slots=True)
class Judged:
    """`rows` are the places of the events that are let in; `reasons` has the others', each with the first reason."""

    rows: pa.Array
    reasons: dict[int, str]


def judge(schema: Schema, texts: pa.Array, *, ignore_unknown: bool, event_bytes: int) -> Judged:
    """Checks the texts against the limits and the schema."""
    if len(texts) <= FEW:
        reasons = _one_by_one(schema, texts, ignore_unknown, event_bytes)
    else:
        reasons = _together(schema, texts, ignore_unknown, event_bytes)
    return Judged(_others(len(texts), reasons), dict(sorted(reasons.items())))


def _one_by_one(schema: Schema, texts: pa.Array, ignore_unknown: bool, event_bytes: int) -> dict[int, str]:
    reasons = {}
    for row, text in enumerate(texts.to_pylist()):
        reason = _fault(schema, text, ignore_unknown, event_bytes)
        if reason is not None:
            reasons[row] = reason
    return reasons


def _fault(schema: Schema, text: str, ignore_unknown: bool, event_bytes: int) -> str | None:
    if len(text) > event_bytes or len(text.encode()) > event_bytes:
        return _too_large(event_bytes)
    if deepest(text.encode()) > DEEPEST:
        return _TOO_DEEP
    if _ODD_TEXT.search(text) is not None and (reason := _unreadable(text)) is not None:
        return reason
    try:
        reading = read_event(schema, parse_json(text), 0)
    except MalformedJsonError as error:
        return str(error)
    if not reading.malformed:
        check_view(schema, reading, ignore_unknown)
    return reading.violations[0].message if reading.violations else None


def _together(schema: Schema, texts: pa.Array, ignore_unknown: bool, event_bytes: int) -> dict[int, str]:
    """The same by passes over all texts at once; only what looks odd is looked at by itself."""
    large = _where(pc.greater(pc.binary_length(texts), event_bytes))
    reasons = dict.fromkeys(large, _too_large(event_bytes))
    brackets = pc.add(pc.count_substring(texts, "{"), pc.count_substring(texts, "["))
    deep = [row for row in _where(pc.greater(brackets, DEEPEST)) if deepest(texts[row].as_py().encode()) > DEEPEST]
    reasons |= dict.fromkeys(deep, _TOO_DEEP)
    for row in _where(pc.match_substring_regex(texts, _ODD)):
        if row not in reasons and (reason := _unreadable(texts[row].as_py())) is not None:
            reasons[row] = reason
    rows = _others(len(texts), reasons)
    violations = schema.check_json(texts.take(rows) if reasons else texts, ignore_unknown=ignore_unknown).violations
    for place, message in zip(violations["event"].to_pylist(), violations["message"].to_pylist(), strict=True):
        reasons.setdefault(rows[place].as_py(), message)
    return reasons


def _others(count: int, reasons: dict[int, str]) -> pa.Array:
    """The rows that have no reason against them."""
    kept = np.ones(count, np.bool_)
    kept[list(reasons)] = False
    return pa.array(np.flatnonzero(kept))


def _where(mask: pa.Array) -> list[int]:
    found: list[int] = np.flatnonzero(np.asarray(mask)).tolist()
    return found


def _too_large(event_bytes: int) -> str:
    return f"the event has more than {event_bytes:,} bytes"


def _unreadable(text: str) -> str | None:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return f"malformed JSON: {error.msg}, character {error.pos + 1}"
    return None
