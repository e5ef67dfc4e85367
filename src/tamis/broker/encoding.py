"""Messages as bytes: a header in JSON, and after it the events, which are Arrow already.

    4 bytes, the header's length · the header · the body

Nothing in a message is run or looked up by name: a field of another type is refused, and so is one too many.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any, Final, TypeVar

from tamis.broker import messages
from tamis.broker.messages import FilterChange, Message
from tamis.broker.settling import LinkRecord
from tamis.errors import TamisError

_LENGTH: Final = struct.Struct(">I")
_KINDS: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (
        messages.Hello,
        messages.View,
        messages.Active,
        messages.Table,
        messages.Alter,
        messages.Applied,
        messages.Settled,
        messages.Batch,
        messages.Holds,
        messages.Want,
        messages.Supply,
        messages.Delivery,
        messages.Received,
        messages.Refused,
        messages.Attach,
        messages.Attached,
        messages.Ask,
        messages.Told,
        messages.Offer,
        messages.Taken,
        messages.Leave,
    )
}
_BODY: Final = "events"

T = TypeVar("T")


class MessageError(TamisError):
    """Bytes that are no message of this protocol."""


def encode(message: Message) -> bytes:
    """A message as bytes."""
    form = {each.name: getattr(message, each.name) for each in fields(message)}
    body = form.pop(_BODY, b"")
    form = {name: _plain(value) for name, value in form.items()}
    header = json.dumps({"": type(message).__name__, **form}, ensure_ascii=False, separators=(",", ":")).encode()
    return b"".join((_LENGTH.pack(len(header)), header, body))


def decode(data: bytes) -> Message:
    """The message that the bytes are; MessageError if they are none."""
    try:
        (length,) = _LENGTH.unpack_from(data)
        if length > len(data) - _LENGTH.size:
            raise MessageError("the message ends before its header does")
        form = json.loads(data[_LENGTH.size : _LENGTH.size + length])
        kind = _KINDS[form.pop("")]
        body = data[_LENGTH.size + length :]
        return _build(kind, form, body)
    except (ValueError, KeyError, TypeError, AttributeError, struct.error, RecursionError) as error:
        raise MessageError(f"this is no message of a broker: {error}") from error


def _build(kind: type[Any], form: dict[str, Any], body: bytes | None = None) -> Any:
    """An instance, with every field of the type that it is declared with."""
    given = {}
    for each in fields(kind):
        if each.name == _BODY and body is not None:
            given[_BODY], body = body, b""
        elif each.name in form:
            given[each.name] = _READ[str(each.type)](form.pop(each.name))
    if form or body:
        raise MessageError(f"{kind.__name__} has no {', '.join(form) or 'body'}")
    return kind(**given)


def _plain(value: Any) -> Any:
    if isinstance(value, FilterChange):
        return asdict(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return asdict(value) if isinstance(value, LinkRecord) else value


def _exactly(kind: type[T]) -> Callable[[Any], T]:
    def read(value: Any) -> T:
        if type(value) is not kind:
            raise MessageError(f"{value!r:.80} is no {kind.__name__}")
        return value

    return read


def _several(read: Callable[[Any], T]) -> Callable[[Any], tuple[T, ...]]:
    return lambda value: tuple(read(each) for each in _exactly(list)(value))


def _number(value: Any) -> int:
    """Number as a database holds it."""
    if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
        raise MessageError(f"{value!r:.80} is no number")
    return value


def _text(value: Any) -> str:
    """Text that goes into a database and out again as UTF-8: JSON may have halves of characters, which do not."""
    text = _exactly(str)(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise MessageError("a text has half a character in it") from error
    return text


# By the annotations of the messages' fields.
_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "str": _text,
    "int": _number,
    "bool": _exactly(bool),
    "tuple[str, ...]": _several(_text),
    "tuple[int, ...]": _several(_number),
    "dict[str, str]": lambda value: {_text(key): _text(each) for key, each in _exactly(dict)(value).items()},
    "tuple[LinkRecord, ...]": _several(lambda value: _build(LinkRecord, dict(_exactly(dict)(value)))),
    "FilterChange": lambda value: _build(FilterChange, dict(_exactly(dict)(value))),
}
