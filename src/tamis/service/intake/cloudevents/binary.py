"""Binary mode: attributes in `ce-` headers, data in the body (CloudEvents' HTTP binding, §3.1)."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Mapping
from email.message import Message
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from tamis.service.intake.cloudevents.attributes import CloudEventError, checked_attributes
from tamis.strict_json import DEEPEST, StrictJsonError, read_json

# A CloudEvent as the service's own JSON object, and back.
#
# `{"ce": attributes, **members}` where the data is a JSON object, `{"ce": attributes, "data": value}` where it is
# another value, `{"ce": attributes, "data_base64": text}` where it is bytes, and `{"ce": attributes}` where there is
# none. What comes back is what went in, with one exception: an `event_type` in the data that only repeats the event's
# `type`.

Read = tuple[str, dict[str, object]]
"""An event as it was read: its id, which is its own within its source, and its body."""

CONTEXT: Final = "ce"
EVENT_TYPE: Final = "event_type"


def to_body(attributes: Mapping[str, Any], data: Mapping[str, Any], event_types: Collection[str]) -> Read:
    """The body of an event; `data` has `data` or `data_base64`, or nothing.

    Where the event's `type` is one of the schema's event types, and its data does not say otherwise, it is that one.
    """
    members = _members(data)
    if attributes["type"] in event_types and EVENT_TYPE not in members:
        members[EVENT_TYPE] = [attributes["type"]]
    return f"{attributes['source']} {attributes['id']}", {CONTEXT: dict(attributes), **members}


def to_structured(body: Mapping[str, Any]) -> dict[str, Any]:
    """The CloudEvent that a body was made from, in the JSON format. Leaves the body as it is."""
    attributes = body[CONTEXT]
    members = {name: value for name, value in body.items() if name != CONTEXT}
    if members.get(EVENT_TYPE) == [attributes.get("type")]:
        del members[EVENT_TYPE]
    if not members:
        return dict(attributes)
    return {**attributes, **(members if _stands_alone(members) else {"data": members})}


def _members(data: Mapping[str, Any]) -> dict[str, Any]:
    value = data.get("data")
    if not isinstance(value, dict) or not value:
        return dict(data)
    if CONTEXT in value:
        message = f"the data has a member {CONTEXT!r}, which is where the context attributes go; call it otherwise"
        raise CloudEventError(message, f"data.{CONTEXT}")
    if _stands_alone({name: given for name, given in value.items() if name != EVENT_TYPE}):
        message = "an object with this member alone cannot be told from data that is no object; add another"
        raise CloudEventError(message, "data")
    return dict(value)


def _stands_alone(members: Mapping[str, Any]) -> bool:
    """True if the members are data that is no object of several members, rather than an object's own."""
    if members.keys() == {"data"}:
        return not isinstance(members["data"], dict) or not members["data"]
    return members.keys() == {"data_base64"}


# Structured and batched mode: events in the JSON format (`application/cloudevents+json`, `…-batch+json`).

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


_PREFIX: Final = "ce-"
_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PRINTABLE: Final = re.compile(r"[\x20-\x7e]*")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_CHARSETS: Final = ("utf-8", "us-ascii", "iso-8859-1")
_STRUCTURED: Final = "application/cloudevents"


def read_binary(headers: Mapping[str, str], body: bytes, event_types: Collection[str] = ()) -> list[Read]:
    """The event of a request. By the binding, a content type of CloudEvents' own means structured mode."""
    content_type = headers.get("content-type", "")
    if content_type.lower().startswith(_STRUCTURED):
        return read_structured(body, event_types)
    given: dict[str, Any] = {}
    for header, value in headers.items():
        name = header.lower().removeprefix(_PREFIX)
        if not header.lower().startswith(_PREFIX):
            continue
        if name in given:
            raise CloudEventError("this header is there twice", header)
        if name in ("datacontenttype", "data"):
            raise CloudEventError("the content type is in Content-Type and the data in the body, not here", header)
        given[name] = decoded(value, header)
    if content_type:
        given["datacontenttype"] = content_type
    return [to_body(checked_attributes(given), _data(content_type, body), event_types)]


def decoded(value: str, header: str) -> str:
    """Value of a header: quotes are taken off, then percent-encoding, once."""
    value = value.strip(" \t")
    if _PRINTABLE.fullmatch(value) is None:
        raise CloudEventError("a header has printable ASCII only; percent-encode the rest (%C3%A9 is é)", header)
    if value.startswith('"'):
        quoted = _QUOTED.fullmatch(value)
        if quoted is None:
            raise CloudEventError("the quotes of this header do not close", header)
        value = re.sub(r"\\(.)", r"\1", quoted[1])
    if _PERCENT.search(value) is not None:
        raise CloudEventError("a % is followed by two hexadecimal digits; write %25 for the sign itself", header)
    try:
        return unquote_to_bytes(value).decode()
    except UnicodeDecodeError:
        raise CloudEventError("what is percent-encoded is not UTF-8", header) from None


def _data(content_type: str, body: bytes) -> dict[str, Any]:
    """The data by its type: JSON as it is, text as a string, and anything else as bytes in base64.

    Where no type is given it is JSON if it reads as JSON: the official SDK leaves the type out where it sends JSON.
    """
    if not body:
        return {}
    if not content_type:
        return _untyped(body)
    message = Message()
    try:
        message["content-type"] = content_type
        kind, charset = message.get_content_type(), message.get_content_charset("utf-8")
    except ValueError:
        kind, charset = "", ""
    if kind == "application/json" or kind.endswith("+json"):
        return {"data": read_strictly(body, "data")}
    if kind.startswith("text/") and charset in _CHARSETS:
        try:
            return {"data": body.decode(charset)}
        except UnicodeDecodeError:
            # The content type says one thing and the bytes another: they are kept as they are.
            return {"data_base64": b64encode(body).decode()}
    return {"data_base64": b64encode(body).decode()}


def _untyped(body: bytes) -> dict[str, Any]:
    try:
        return {"data": read_strictly(body, "data")}
    except CloudEventError as error:
        remedy = "it has no Content-Type and is read as JSON then; name its type, such as application/octet-stream"
        raise CloudEventError(f"{error.message}; {remedy}", error.place) from None
