"""Bodies of publishes cut into one JSON text an event, by their content type.

JSON is cut by passes over the bytes: no Python object is made of one event among many. An array becomes lines: the
commas between its elements are turned into line ends, and the line ends that were there, which mean nothing between
tokens, into spaces. Whether each line is an event at all is found out with the check.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from tamis.service.intake.arrow_rows import read_arrow
from tamis.service.intake.cloudevents import CloudEventError, read_batch, read_binary, read_structured
from tamis.service.intake.problems import Problem
from tamis.strict_json import StrictJsonError, depths, in_strings, read_json

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
    """The events of one request as JSON texts without line ends, in order, not checked yet.

    `ids` are the publisher's own, or None where it gave none. `faults` has the events that could not be read, by place,
    each with its reason.
    """

    texts: pa.Array
    ids: pa.Array | None = None
    faults: Mapping[int, str] = field(default_factory=dict)


def read(headers: Mapping[str, str], body: bytes, most: int, most_bytes: int, event_types: Collection[str]) -> Incoming:
    """The events in a body; a `Problem` if it cannot be read, or holds more than `most`, or unpacks to too much.

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
    """CloudEvents each read by itself; one that cannot be stays as it came, with the reason."""
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
    """The body as a whole cannot be read."""
    return Problem(400, "json", detail)


def read_lines(body: bytes) -> pa.Array:
    """The events of JSON lines; blank lines are passed over."""
    texts = _split(_utf8(body))
    return texts.filter(pc.not_equal(pc.binary_length(texts), 0))


def read_document(body: bytes) -> pa.Array:
    """The events of a JSON document: one object, or an array of them."""
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
    """Refuses a document that is not JSON as a whole; what an event may not hold is found out with the check."""
    try:
        read_json(document, deepest=None)
    except StrictJsonError as error:
        if error.name is None:
            raise malformed(str(error)) from None


def read_array(body: bytes) -> pa.Array:
    """The elements of a JSON array."""
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
