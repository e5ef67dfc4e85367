"""The check at the door: which of the incoming texts are events of the schema, and why the others are not.

What gets in is JSON that every parser reads alike, however strict: later stages need not ask again. What the schema has
no attribute for is put aside here, so that none of them can judge it otherwise under a later schema (`event_body`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.schema import EVENT_TYPE, Schema
from tamis.schema.json_lines import parse_json
from tamis.schema.reading import check_view, read_event
from tamis.service.base.event_body import MARK, parted_body
from tamis.service.base.serving_schema import CONTEXT_ATTRIBUTES, serving_schema
from tamis.strict_json import DEEPEST, StrictJsonError, depth_of, read_json

NO_FAULTS: Final[Mapping[int, str]] = MappingProxyType({})
_ENVELOPE: Final = "ce"
_PAYLOADS: Final = ({"data"}, {"data_base64"})
_SAMPLED: Final = 8
# Looking at a batch as a whole costs as much as at this many events one by one.
FEW: Final = 100
_TOO_DEEP: Final = f"the event is nested more than {DEEPEST} deep"
# What Python or Arrow may take and another parser not: halves of characters, NaN, numbers beyond all floats.
_ODD: Final = r"\\u[dD][89a-fA-F]|NaN|Infinity|[0-9][eE]|[0-9]{200}"

_ODD_TEXT: Final = re.compile(_ODD)
# The schema of a server that has none: no part of an event is held to it but the attributes of CloudEvents.
_FORMLESS: Final = serving_schema(None)


@dataclass(frozen=True, slots=True)
class Judged:
    """`rows` are the places of the events that are let in, `bodies` what goes on the log of each.

    `reasons` has the others' places, each with the first reason. `ignored` are the unknown attributes of those let in,
    with the number of events, but for those that CloudEvents may have besides a schema's.
    """

    rows: pa.Array
    bodies: pa.Array
    reasons: dict[int, str]
    ignored: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class _Verdicts:
    """Verdicts so far; `parted` are bodies that are not the texts as they came."""

    reasons: dict[int, str] = field(default_factory=dict)
    parted: dict[int, str] = field(default_factory=dict)
    ignored: Counter[str] = field(default_factory=Counter)


def judge(
    schema: Schema, texts: pa.Array, *, ignore_unknown: bool, event_bytes: int, faults: Mapping[int, str] = NO_FAULTS
) -> Judged:
    """Checks the texts against the limits and the schema. `faults` are known before: reasons by place."""
    verdicts = _Verdicts(reasons=dict(faults))
    if len(texts) <= FEW or schema == _FORMLESS or _all_unusual(schema, texts):
        others = ((row, text) for row, text in enumerate(texts.to_pylist()) if row not in faults)
        _one_by_one(schema, others, ignore_unknown, event_bytes, verdicts)
    else:
        _together(schema, texts, ignore_unknown, event_bytes, verdicts)
        verdicts.reasons |= faults
    rows, bodies = pa.array(np.arange(len(texts))), texts
    if verdicts.reasons:
        rows = _others(len(texts), verdicts.reasons)
        bodies = texts.take(rows)
    if verdicts.parted:
        listed = zip(rows.to_pylist(), bodies.to_pylist(), strict=True)
        bodies = pa.array([verdicts.parted.get(row, text) for row, text in listed], texts.type)
    return Judged(rows, bodies, dict(sorted(verdicts.reasons.items())), verdicts.ignored)


def _all_unusual(schema: Schema, texts: pa.Array) -> bool:
    """True if all of the first events have something unknown: then so have most, and each is looked at by itself."""
    for text in texts.slice(0, _SAMPLED).to_pylist():
        try:
            reading = read_event(schema, parse_json(text), 0)
        except StrictJsonError:
            return False
        if reading.given.keys() <= schema.attributes.keys():
            return False
    return True


def _one_by_one(
    schema: Schema, texts: Iterable[tuple[int, str]], ignore_unknown: bool, event_bytes: int, verdicts: _Verdicts
) -> None:
    for row, text in texts:
        reason = _fault(schema, row, text, ignore_unknown, event_bytes, verdicts)
        if reason is not None:
            verdicts.reasons[row] = reason


def _fault(
    schema: Schema, row: int, text: str, ignore_unknown: bool, event_bytes: int, verdicts: _Verdicts
) -> str | None:
    if len(text) > event_bytes or len(text.encode()) > event_bytes:
        return _too_large(event_bytes)
    if depth_of(text.encode()) > DEEPEST:
        return _TOO_DEEP
    if _ODD_TEXT.search(text) is not None and (reason := _unreadable(text)) is not None:
        return reason
    try:
        event = parse_json(text)
    except StrictJsonError as error:
        return str(error)
    reading = read_event(schema, event, row)
    if reading.malformed or not isinstance(event, Mapping):
        return reading.violations[0].message
    unknown = [name for name in reading.given if name not in schema.attributes]
    carried = {name for name in unknown if _is_carried(name, event)}
    for name in carried:
        del reading.given[name]
    check_view(schema, reading, ignore_unknown)
    if reading.violations:
        return reading.violations[0].message
    formless = schema == _FORMLESS
    if unknown or formless or MARK in text:
        known = CONTEXT_ATTRIBUTES if formless else schema.attributes
        verdicts.parted[row] = parted_body(event, known, schema.solitary, always=formless)
        verdicts.ignored.update(name for name in unknown if name not in carried)
    return None


def _is_carried(name: str, event: Mapping[str, object]) -> bool:
    """True if a CloudEvent may have this beside a schema's attributes: extension attributes, data that is no object."""
    if name.startswith(f"{_ENVELOPE}."):
        return True
    return isinstance(event.get(_ENVELOPE), Mapping) and event.keys() - {_ENVELOPE, EVENT_TYPE} in _PAYLOADS


def _together(schema: Schema, texts: pa.Array, ignore_unknown: bool, event_bytes: int, verdicts: _Verdicts) -> None:
    """Judges all texts at once by passes over them; only what looks odd is looked at by itself."""
    reasons = verdicts.reasons
    reasons |= dict.fromkeys(_where(pc.greater(pc.binary_length(texts), event_bytes)), _too_large(event_bytes))
    brackets = pc.add(pc.count_substring(texts, "{"), pc.count_substring(texts, "["))
    deep = [row for row in _where(pc.greater(brackets, DEEPEST)) if depth_of(texts[row].as_py().encode()) > DEEPEST]
    reasons |= dict.fromkeys(deep, _TOO_DEEP)
    for row in _where(pc.match_substring_regex(texts, _ODD)):
        if row not in reasons and (reason := _unreadable(texts[row].as_py())) is not None:
            reasons[row] = reason
    rows = _others(len(texts), reasons)
    violations = schema.check_json(texts.take(rows) if reasons else texts).violations
    marked = [row for row in _where(pc.match_substring(texts, MARK)) if row not in reasons]
    suspect = pa.array(sorted({*marked, *rows.take(pc.unique(violations["event"])).to_pylist()}), rows.type)
    listed = zip(suspect.to_pylist(), texts.take(suspect).to_pylist(), strict=True)
    _one_by_one(schema, listed, ignore_unknown, event_bytes, verdicts)


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
        read_json(text)
    except StrictJsonError as error:
        return str(error)
    return None
