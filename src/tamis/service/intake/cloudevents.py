"""CloudEvents 1.0 over HTTP: parsed in structured, batched and binary mode, and rendered in structured mode.

Within the service an event is one JSON object, its *body*: the context attributes are in `ce`, and the data's members
stand beside them, so that filters reach both.

Binary mode: attributes in `ce-` headers, data in the body (CloudEvents' HTTP binding, §3.1).
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Mapping
from email.message import Message
from typing import Any, Final, NoReturn
from urllib.parse import unquote_to_bytes

from tamis.errors import TamisError, shown
from tamis.strict_json import DEEPEST, StrictJsonError, read_json

# Context attributes: their names, their types, and what each of the core ones must be (CloudEvents 1.0, §3).

REQUIRED: Final = ("specversion", "id", "source", "type")
MOST_ATTRIBUTES: Final = 100
LONGEST_NAME: Final = 100
LONGEST_VALUE: Final = 16_384

_NAME: Final = re.compile(r"[a-z0-9]+", re.ASCII)
# Control characters, halves of surrogate pairs, and code points that are no characters.
_FORBIDDEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})", re.ASCII
)
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+([ \t]*;.*)?", re.ASCII)
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+", re.ASCII)
_REFERENCE: Final = re.compile(r"\S+")


class CloudEventError(TamisError):
    """Invalid CloudEvent. `place` is the part at fault: an attribute, or a header."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message, place)
        self.message = message
        self.place = place

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def checked_attributes(given: Mapping[str, Any]) -> dict[str, str | bool | int]:
    """Validates the attributes of one event; null ones are left out."""
    present = {name: value for name, value in given.items() if value is not None}
    for name in REQUIRED:
        if name not in present:
            _refuse("every CloudEvent has this attribute, and this one has not", name)
    if len(present) > MOST_ATTRIBUTES:
        _refuse(f"there are more than {MOST_ATTRIBUTES} attributes", "")
    for name, value in present.items():
        _check_name(name)
        _check_value(name, value)
    _check_core(present)
    return present


def _check_name(name: str) -> None:
    if _NAME.fullmatch(name) is None or len(name) > LONGEST_NAME:
        message = (
            f"no attribute can be called {shown(name, 110)}: names are lower-case letters and digits, and not long"
        )
        _refuse(message, "")


def _check_value(name: str, value: object) -> None:
    match value:
        case bool():
            return
        case int():
            if not -(1 << 31) <= value < 1 << 31:
                _refuse(f"{value} is no integer of 32 bits; send it as a string", name)
        case str():
            if len(value) > LONGEST_VALUE:
                _refuse(f"a value has at most {LONGEST_VALUE:,} characters", name)
            if _FORBIDDEN.search(value) is not None:
                _refuse("a value has no control characters, unpaired surrogates or noncharacters", name)
        case _:
            _refuse("a value is a string, an integer, true or false", name)


def _check_core(attributes: Mapping[str, Any]) -> None:
    for name, (pattern, expected) in _CORE.items():
        value = attributes.get(name)
        if value is not None and (not isinstance(value, str) or pattern.fullmatch(value) is None):
            _refuse(f"{expected} is expected here, not {shown(value, 100)}", name)


_CORE: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "specversion": (re.compile(r"1\.0"), "the version '1.0'"),
    "id": (re.compile(".+", re.DOTALL), "a string that is not empty"),
    "type": (re.compile(".+", re.DOTALL), "a string that is not empty"),
    "subject": (re.compile(".+", re.DOTALL), "a string that is not empty"),
    "source": (_REFERENCE, "a URI reference"),
    "dataschema": (_ABSOLUTE, "an absolute URI"),
    "datacontenttype": (_MEDIA_TYPE, "a media type"),
    "time": (_TIME, "a time as in RFC 3339 (2018-04-05T17:31:00Z)"),
}


def _refuse(message: str, name: str) -> NoReturn:
    raise CloudEventError(message, name)


# Conversion of a CloudEvent to the service's own JSON object, and back.
#
# `{"ce": attributes, **members}` where the data is a JSON object, `{"ce": attributes, "data": value}` where it is
# another value, `{"ce": attributes, "data_base64": text}` where it is bytes, and `{"ce": attributes}` where there is
# none. The conversion is lossless, with one exception: an `event_type` in the data that only repeats the event's
# `type`.

Read = tuple[str, dict[str, object]]
"""An event as it was read: its id, which is its own within its source, and its body."""

CONTEXT: Final = "ce"
EVENT_TYPE: Final = "event_type"


def to_body(attributes: Mapping[str, Any], data: Mapping[str, Any], event_types: Collection[str]) -> Read:
    """Body of an event; `data` has `data` or `data_base64`, or nothing.

    Where the event's `type` is one of the schema's event types, and its data does not say otherwise, it is that one.
    """
    members = _members(data)
    if attributes["type"] in event_types and EVENT_TYPE not in members:
        members[EVENT_TYPE] = [attributes["type"]]
    return f"{attributes['source']} {attributes['id']}", {CONTEXT: dict(attributes), **members}


def to_structured(body: Mapping[str, Any]) -> dict[str, Any]:
    """CloudEvent that a body was made from, in the JSON format. Leaves the body as it is."""
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


# Structured and batched mode (`application/cloudevents+json`, `…-batch+json`).

_DEEPEST: Final = DEEPEST + 20  # the event's own bound is held at the door


def read_structured(body: bytes, event_types: Collection[str] = ()) -> list[Read]:
    """Parses the one event of a body."""
    return [_event(read_strictly(body), event_types)]


def read_batch(texts: Iterable[str], event_types: Collection[str] = ()) -> list[Read | CloudEventError]:
    """Parses the events of a batch, each by itself; an invalid one gives its error."""
    events: list[Read | CloudEventError] = []
    for text in texts:
        try:
            events += read_structured(text.encode(), event_types)
        except CloudEventError as error:
            events.append(error)
    return events


def read_strictly(body: bytes, place: str = "") -> Any:
    """Parses a JSON text that every parser reads alike; `CloudEventError` if it is not one."""
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
    """Parses the event of a request in binary mode. By the binding, a content type of CloudEvents' own means structured
    mode.
    """
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
    """Value of a header: quotes are removed, then percent-encoding, once."""
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
    """Data by its content type: JSON as it is, text as a string, and anything else as bytes in base64.

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
