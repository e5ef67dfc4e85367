"""Structured and batched mode: events in the JSON format (`application/cloudevents+json`, `…-batch+json`)."""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from collections.abc import Collection, Iterable
from typing import Any

import orjson

from tamis.service.cloudevents.attributes import CloudEventError, checked_attributes
from tamis.service.cloudevents.body import Read, to_body


def read_structured(body: bytes, event_types: Collection[str] = ()) -> list[Read]:
    """The one event of a body."""
    return [_event(read_json(body), event_types)]


def read_batch(texts: Iterable[str], event_types: Collection[str] = ()) -> list[Read | CloudEventError]:
    """The events of a batch, by the texts of its elements: each is taken by itself, or is the reason why it is not."""
    events: list[Read | CloudEventError] = []
    for text in texts:
        try:
            events += read_structured(text.encode(), event_types)
        except CloudEventError as error:
            events.append(error)
    return events


def read_json(body: bytes, place: str = "") -> Any:
    """A JSON text as every parser reads it: in UTF-8, without NaN, and with no name twice in an object."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise CloudEventError(f"this is no JSON: {error.msg}, character {error.pos + 1}", place) from None
    try:
        json.loads(body, object_pairs_hook=_unique)
    except _RepeatedError as error:
        raise CloudEventError(f"the name {error.args[0]!r:.100} is there twice in one object", place) from None
    except (ValueError, RecursionError):
        raise CloudEventError("this is no JSON: its numbers or its nesting go too far", place) from None
    return value


class _RepeatedError(Exception):
    """A name that one object has twice."""


def _unique(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise _RepeatedError(name)
        seen.add(name)


def _event(event: object, event_types: Collection[str]) -> Read:
    if not isinstance(event, dict):
        raise CloudEventError("an event is a JSON object")
    data = {name: event.pop(name) for name in ("data", "data_base64") if name in event}
    if data.get("data_base64", "") is None:
        del data["data_base64"]
    if len(data) > 1:
        raise CloudEventError("an event has data or data_base64, not both")
    attributes = checked_attributes(event)
    if "data_base64" in data:
        _require_base64(data["data_base64"])
    return to_body(attributes, data, event_types)


def _require_base64(text: object) -> None:
    try:
        if isinstance(text, str):
            b64decode(text, validate=True)
            return
    except (binascii.Error, ValueError):
        pass
    raise CloudEventError("bytes in base64 are expected here", "data_base64")
