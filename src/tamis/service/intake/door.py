"""Door: publish bodies split into one JSON text per event, by content type, and each checked against schema and limits.

JSON is split by passes over the bytes: no Python object is made for one event among many. An array becomes lines: the
commas between its elements are turned into line ends, and the existing line ends, which mean nothing between tokens,
into spaces. The check then decides if each line is an event at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from types import MappingProxyType
from typing import Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from tamis.schema import EVENT_TYPE, Schema
from tamis.schema.json_lines import parse_json
from tamis.schema.reading import check_view, read_event
from tamis.service.base.events import MARK, parted_body
from tamis.service.base.offering import CONTEXT_ATTRIBUTES, serving_schema
from tamis.service.intake.arrow_rows import read_arrow
from tamis.service.intake.cloudevents import CloudEventError, read_batch, read_binary, read_structured
from tamis.service.intake.problems import Problem
from tamis.strict_json import DEEPEST, StrictJsonError, depth_of, depths, in_strings, read_json

JSON: Final = "application/json"
LINES: Final = ("application/x-ndjson", "application/ndjson", "application/jsonl")
ARROW: Final = "application/vnd.apache.arrow.stream"
CLOUD_EVENT: Final = "application/cloudevents+json"
CLOUD_EVENTS: Final = "application/cloudevents-batch+json"

TYPES: Final = (JSON, *LINES, ARROW, CLOUD_EVENT, CLOUD_EVENTS)

_LINE_END, _RETURN, _SPACE, _COMMA = b"\n\r ,"
_NO_CHARACTER: Final = 1  # a control character, which no JSON string may hold
_BLANKS: Final = b" \t\r\n"
_BLANK_TEXT: Final = " \t\r"


@dataclass(frozen=True, slots=True)
class Incoming:
    """Events of one request as JSON texts without line ends, in order, not checked yet.

    `ids` are the publisher's own, or None where it gave none. `faults` has the events that could not be read, by place,
    each with its reason.
    """

    texts: pa.Array
    ids: pa.Array | None = None
    faults: Mapping[int, str] = field(default_factory=dict)


def read(headers: Mapping[str, str], body: bytes, most: int, most_bytes: int, event_types: Collection[str]) -> Incoming:
    """Splits a body into events; a `Problem` if it cannot be read, or holds more than `most`, or unpacks to too much.

    A CloudEvent whose type is one of the schema's `event_types` is an event of that type.
    """
    content_type = _content_type(headers)
    if content_type == CLOUD_EVENTS:
        incoming = _batch(body, event_types)
    elif "ce-specversion" in headers:
        incoming = _cloud_events(read_binary(headers, body, event_types))
    elif content_type == JSON:
        incoming = Incoming(read_document(body))
    elif content_type in LINES:
        incoming = Incoming(read_lines(body))
    elif content_type == ARROW:
        incoming = Incoming(read_arrow(body, most, most_bytes))
    elif content_type == CLOUD_EVENT:
        incoming = _cloud_events(read_structured(body, event_types))
    else:
        detail = f"events are published as {', '.join(TYPES)}, or as one CloudEvent with ce- headers"
        raise Problem(415, "content-type", detail)
    if len(incoming.texts) > most:
        raise Problem(413, "too-many", f"there are more than {most:,} events; publish fewer at a time")
    if not len(incoming.texts):
        raise Problem(422, "event", "there are no events in the body")
    return incoming


def _cloud_events(events: list[tuple[str, dict[str, object]]]) -> Incoming:
    texts = [orjson.dumps(body).decode() for _, body in events]
    return Incoming(pa.array(texts, pa.large_string()), pa.array([id for id, _ in events], pa.string()))


def _batch(body: bytes, event_types: Collection[str]) -> Incoming:
    """CloudEvents, each parsed by itself; an invalid one stays as it came, with the reason."""
    elements = read_array(body)
    events = read_batch(elements.to_pylist(), event_types)
    faults = {place: str(event) for place, event in enumerate(events) if isinstance(event, CloudEventError)}
    if not faults:
        return _cloud_events([event for event in events if not isinstance(event, CloudEventError)])
    texts, ids = elements.to_pylist(), [""] * len(events)
    for place, event in enumerate(events):
        if not isinstance(event, CloudEventError):
            ids[place], texts[place] = event[0], orjson.dumps(event[1]).decode()
    return Incoming(pa.array(texts, pa.large_string()), pa.array(ids, pa.string()), faults)


def _content_type(headers: Mapping[str, str]) -> str:
    message = Message()
    try:
        message["content-type"] = headers.get("content-type", "")
        return message.get_content_type()
    except ValueError:
        return ""


def malformed(detail: str) -> Problem:
    """Problem: the body as a whole cannot be read."""
    return Problem(400, "json", detail)


def read_lines(body: bytes) -> pa.Array:
    """Events of JSON lines; blank lines are skipped."""
    texts = _split(_utf8(body))
    return texts.filter(pc.not_equal(pc.binary_length(texts), 0))


def read_document(body: bytes) -> pa.Array:
    """Events of a JSON document: one object, or an array of them."""
    trimmed = _utf8(body).strip(_BLANKS)
    if trimmed.startswith(b"["):
        return _elements(trimmed)
    if trimmed.startswith(b"{"):
        _require_json(trimmed)
        if b"\n" in trimmed:
            return _elements(b"[" + trimmed + b"]")
        return pa.array([trimmed], pa.large_binary()).view(pa.large_string())
    raise malformed("the body must be one JSON object, or an array of objects; many lines are application/x-ndjson")


def _require_json(document: bytes) -> None:
    """Refuses a document that is not JSON as a whole; invalid events in it are found by the check."""
    try:
        read_json(document, deepest=None)
    except StrictJsonError as error:
        if error.name is None:
            raise malformed(str(error)) from None


def read_array(body: bytes) -> pa.Array:
    """Elements of a JSON array."""
    trimmed = _utf8(body).strip(_BLANKS)
    if not trimmed.startswith(b"["):
        raise malformed("the body must be an array of events")
    return _elements(trimmed)


def _elements(document: bytes) -> pa.Array:
    data = np.frombuffer(document, np.uint8)
    inside = in_strings(data)
    depth = depths(data, inside)
    if data[-1] != ord("]") or depth[-1] != 0 or inside[-1] or (len(depth) > 1 and depth[:-1].min() < 1):
        raise malformed("malformed JSON: the brackets or quotes of the body do not close each other")
    lines = data.copy()
    line_ends = (data == _LINE_END) | (data == _RETURN)
    lines[line_ends] = _SPACE
    # A line end within a string is a fault of that element, and must stay one.
    lines[line_ends & inside] = _NO_CHARACTER
    lines[(data == _COMMA) & (depth == 1) & ~inside] = _LINE_END
    texts = _split(lines[1:-1].tobytes())
    if len(texts) == 1 and texts[0].as_py() == "":
        return texts.slice(0, 0)
    if pc.any(pc.equal(pc.binary_length(texts), 0)).as_py():
        raise malformed("malformed JSON: an element of the array is empty")
    return texts


def _split(lines: bytes) -> pa.Array:
    whole = pa.array([lines], pa.large_binary()).view(pa.large_string())
    return pc.utf8_trim(pc.split_pattern(whole, "\n").flatten(), _BLANK_TEXT)


def _utf8(body: bytes) -> bytes:
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise malformed(f"the body is not UTF-8: byte {error.start} cannot be read") from None
    return body


# Check at the door: which of the incoming texts are events of the schema, and why the others are not.
#
# Accepted texts are JSON that every parser reads alike, however strict: later stages need not check again. Members
# without an attribute in the schema are put aside here, so that no later stage can judge them otherwise under a later
# schema (`parted_body`).

NO_FAULTS: Final[Mapping[int, str]] = MappingProxyType({})
_ENVELOPE: Final = "ce"
_PAYLOADS: Final = ({"data"}, {"data_base64"})
_SAMPLED: Final = 8
# Checking a batch as a whole costs as much as checking this many events one by one.
FEW: Final = 100
_TOO_DEEP: Final = f"the event is nested more than {DEEPEST} deep"
# Values that Python or Arrow accept and another parser may not: lone surrogates, NaN, numbers beyond all floats.
_ODD: Final = r"\\u[dD][89a-fA-F]|NaN|Infinity|[0-9][eE]|[0-9]{200}"

_ODD_TEXT: Final = re.compile(_ODD)
# Schema of a server without one: no part of an event is checked but the attributes of CloudEvents.
_FORMLESS: Final = serving_schema(None)


@dataclass(frozen=True, slots=True)
class Judged:
    """Result of the check: `rows` are the places of the accepted events, `bodies` their bodies for the log.

    `reasons` has the others' places, each with the first reason. `ignored` are the unknown attributes of those let in,
    with the number of events, but for those that CloudEvents may have besides a schema's.
    """

    rows: pa.Array
    bodies: pa.Array
    reasons: dict[int, str]
    ignored: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class _Verdicts:
    """Verdicts so far; `parted` are bodies that differ from the received texts."""

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
    """True if all of the first events have something unknown: then most do, and each is checked by itself."""
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
    """Checks all texts at once by passes over them; only suspicious ones are checked by themselves."""
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
    """Rows without a reason against them."""
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
