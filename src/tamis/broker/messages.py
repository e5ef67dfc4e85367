"""Wire protocol of the broker network: messages between brokers and clients, and their encoding as bytes.

    4 bytes, the header's length · the header, in JSON · the body, events in Arrow

Nothing in a message is run or looked up by name: a field of another type is refused, and so is one too many.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final, TypeVar

from tamis.broker.settling import LinkRecord
from tamis.errors import TamisError

# Message types; `encode` and `decode` below turn them into bytes and back.

PROTOCOL: Final = 1


@dataclass(frozen=True, slots=True)
class FilterChange:
    """Filters, as texts, that are added and removed at once."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


@dataclass(frozen=True, slots=True)
class Hello:
    """First message of a link, from both ends. `epoch` is new whenever a broker begins without its state."""

    name: str
    epoch: str
    schema: str
    records: tuple[LinkRecord, ...]
    protocol: int = PROTOCOL


@dataclass(frozen=True, slots=True)
class View:
    """Links that the other end may not know of yet."""

    records: tuple[LinkRecord, ...]


@dataclass(frozen=True, slots=True)
class Active:
    """Sender's view of the overlay, and the version of the other end's table that it has.

    The link is open when both ends have last said the same `view`. Then each sends what the other lacks.
    """

    view: str
    advertisements: str
    subscriptions: str
    position: int


@dataclass(frozen=True, slots=True)
class Table:
    """All filters forwarded over a link when it opens; replaces the earlier ones.

    Large ones come in several parts; the `last` makes it count. `same`: the other end has it already, by its digests.
    Everything changed up to `number` is in it.
    """

    number: int
    advertisements: tuple[str, ...] = ()
    subscriptions: tuple[str, ...] = ()
    same: bool = False
    last: bool = True


@dataclass(frozen=True, slots=True)
class Alter:
    """Changes of the filters forwarded over an open link. Applied as a whole; answered by Applied and later Settled."""

    number: int
    advertisements: FilterChange = field(default_factory=FilterChange)
    subscriptions: FilterChange = field(default_factory=FilterChange)


@dataclass(frozen=True, slots=True)
class Applied:
    """Acknowledgement of changes: those up to this one are in the sender's table."""

    number: int


@dataclass(frozen=True, slots=True)
class Settled:
    """Acknowledgement of a change by all brokers that it concerns; `upto`: of all before it too."""

    number: int
    upto: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Events on their way over a link, the `position`th message of its queue.

    They are some of the batch that the broker `origin` numbered `number`; `events` has them as `events.pack` made
    them. Bulky values may be taken out: then the first `slim` bytes are the events without them, and after these come
    the values that `payloads` names, each of so many bytes as `sizes` says; of -1: it goes by its name alone.
    """

    position: int
    origin: str
    epoch: str
    number: int
    count: int
    events: bytes
    slim: int = 0
    payloads: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Holds:
    """Acknowledgement of values: from now on the other end may send their names."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Want:
    """Request for a value whose name was sent and whose content is not here any more."""

    id: str


@dataclass(frozen=True, slots=True)
class Supply:
    """Content of a value that was requested."""

    id: str
    events: bytes


@dataclass(frozen=True, slots=True)
class Delivery:
    """Events for a client, like a Batch, each with the ids of its subscriptions that it matches."""

    position: int
    origin: str
    epoch: str
    number: int
    count: int
    events: bytes


@dataclass(frozen=True, slots=True)
class Received:
    """Acknowledgement of a queue: everything up to this position is safe, and need not be sent again."""

    position: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Refusal of a connection, with the reason; the link or session ends with it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Attach:
    """First message of a client. Its subscriptions and undelivered events are kept under its name.

    `echo`: whether it gets what it publishes itself, where that satisfies its subscriptions.
    """

    client: str
    echo: bool = True


@dataclass(frozen=True, slots=True)
class Attached:
    """Broker's answer to Attach: its name, the last publication taken from this client, and the client's state here."""

    broker: str
    published: int
    advertisements: dict[str, str]
    subscriptions: dict[str, str]
    schema: str
    epoch: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Requests of a client, applied at once: filters to add, by id, and ids to withdraw."""

    number: int
    advertise: dict[str, str] = field(default_factory=dict)
    subscribe: dict[str, str] = field(default_factory=dict)
    unadvertise: tuple[str, ...] = ()
    unsubscribe: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """Result of an Ask at this broker; `refused` has the reasons by id. Settled follows."""

    number: int
    refused: dict[str, str]


@dataclass(frozen=True, slots=True)
class Offer:
    """Publication of events. A repeated number is the publication sent again, and is not published twice."""

    number: int
    events: bytes


@dataclass(frozen=True, slots=True)
class Taken:
    """Result of an Offer: accepted events are safe; `refused` has the reasons by row."""

    number: int
    accepted: int
    refused: dict[str, str]
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Leave:
    """Farewell of a client: its subscriptions are withdrawn, its undelivered events discarded."""


LinkMessage = (
    Hello | View | Active | Table | Alter | Applied | Settled | Batch | Holds | Want | Supply | Received | Refused
)
ClientMessage = Attach | Attached | Ask | Told | Offer | Taken | Delivery | Received | Settled | Refused | Leave
Message = LinkMessage | ClientMessage


_LENGTH: Final = struct.Struct(">I")
_KINDS: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (
        Hello,
        View,
        Active,
        Table,
        Alter,
        Applied,
        Settled,
        Batch,
        Holds,
        Want,
        Supply,
        Delivery,
        Received,
        Refused,
        Attach,
        Attached,
        Ask,
        Told,
        Offer,
        Taken,
        Leave,
    )
}
_BODY: Final = "events"

T = TypeVar("T")


class MessageError(TamisError):
    """Bytes that are no message of this protocol."""


def encode(message: Message) -> bytes:
    """Bytes of a message."""
    form = {each.name: getattr(message, each.name) for each in fields(message)}
    body = form.pop(_BODY, b"")
    form = {name: _plain(value) for name, value in form.items()}
    header = json.dumps({"": type(message).__name__, **form}, ensure_ascii=False, separators=(",", ":")).encode()
    return b"".join((_LENGTH.pack(len(header)), header, body))


def decode(data: bytes) -> Message:
    """Message of the bytes; MessageError if they are none."""
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
    """Instance of a dataclass, every field of its declared type."""
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
    """Integer in the range of a database column."""
    if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
        raise MessageError(f"{value!r:.80} is no number")
    return value


def _text(value: Any) -> str:
    """Text that a database can store as UTF-8: JSON may have lone surrogates, which it cannot."""
    text = _exactly(str)(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise MessageError("a text has half a character in it") from error
    return text


# Readers of fields, by the annotation in the message class.
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
