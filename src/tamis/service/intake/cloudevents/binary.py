"""Binary mode: attributes in `ce-` headers, data in the body (CloudEvents' HTTP binding, §3.1)."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Collection, Mapping
from email.message import Message
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from tamis.service.intake.cloudevents.attributes import CloudEventError, checked_attributes
from tamis.service.intake.cloudevents.body import Read, to_body
from tamis.service.intake.cloudevents.structured import read_strictly, read_structured

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
    """What a header's value says: quotes are taken off, then percent-encoding, once."""
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
