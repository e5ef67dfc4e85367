"""The formats that events come in, by content type."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from email.message import Message
from typing import Final

import orjson
import pyarrow as pa

from tamis.service.api.problems import Problem
from tamis.service.api.publishing.arrow_rows import read_arrow
from tamis.service.api.publishing.incoming import Incoming
from tamis.service.api.publishing.json_text import read_array, read_document, read_lines
from tamis.service.cloudevents import CloudEventError, read_batch, read_binary, read_structured

JSON: Final = "application/json"
LINES: Final = ("application/x-ndjson", "application/ndjson", "application/jsonl")
ARROW: Final = "application/vnd.apache.arrow.stream"
CLOUD_EVENT: Final = "application/cloudevents+json"
CLOUD_EVENTS: Final = "application/cloudevents-batch+json"

TYPES: Final = (JSON, *LINES, ARROW, CLOUD_EVENT, CLOUD_EVENTS)


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
