"""Structured and batched mode: events in the JSON format (`application/cloudevents+json`, `…-batch+json`)."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Collection, Iterable
from typing import Any, Final

from tamis.service.intake.cloudevents.attributes import CloudEventError, checked_attributes
from tamis.service.intake.cloudevents.body import Read, to_body
from tamis.strict_json import DEEPEST, StrictJsonError, read_json

_DEEPEST: Final = DEEPEST + 20  # the event's own bound is held at the door


def read_structured(body: bytes, event_types: Collection[str] = ()) -> list[Read]:
    """The one event of a body."""
    return [_event(read_strictly(body), event_types)]


def read_batch(texts: Iterable[str], event_types: Collection[str] = ()) -> list[Read | CloudEventError]:
    """The events of a batch, by the texts of its elements: each is taken by itself, or is the reason why it is not."""
    events: list[Read | CloudEventError] = []
    for text in texts:
        try:
            events += read_structured(text.encode(), event_types)
        except CloudEventError as error:
            events.append(error)
    return events


def read_strictly(body: bytes, place: str = "") -> Any:
    """A JSON text that every parser reads alike; `CloudEventError` if it is none."""
    try:
        return read_json(body, deepest=_DEEPEST)
    except StrictJsonError as error:
        reason = f"this is no JSON: {error.reason}" if error.name is None else f"{error.reason} in one object"
        raise CloudEventError(reason, place) from None


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
