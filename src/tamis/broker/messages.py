"""Messages as bytes: a header in JSON, and after it the events, which are Arrow already.

    4 bytes, the header's length · the header · the body

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

# Messages between brokers and clients. `encoding` has them as bytes.

PROTOCOL: Final = 1


@dataclass(frozen=True, slots=True)
class FilterChange:
    """Filters that come and filters that go, at once, as texts."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


@dataclass(frozen=True, slots=True)
class Hello:
    """The first message of a link, from both ends. `epoch` is new whenever a broker begins without its state."""

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
    """Knowledge of this end: the overlay, and what it has from the other end.

    The link is open when both ends have last said the same `view`. Then each sends what the other lacks.
    """

    view: str
    advertisements: str
    subscriptions: str
    position: int


@dataclass(frozen=True, slots=True)
class Table:
    """Filters forwarded over a link when it opens, all of them, in place of what was before.

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
    """Changes up to this one are in the table of the broker that says so."""

    number: int


@dataclass(frozen=True, slots=True)
class Settled:
    """A change is in the tables of all brokers that it concerns; `upto`: all before it too."""

    number: int
    upto: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Events on their way over a link, the `position`th message of its queue.

    They are some of the batch that the broker `origin` numbered `number`; `events` has them as `carrying.pack` made
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
    """Values have come: the other end may send their names from now on."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Want:
    """A value is not here any more: its name was sent, and its content is wanted."""

    id: str


@dataclass(frozen=True, slots=True)
class Supply:
    """The content of a value that was wanted."""

    id: str
    events: bytes


@dataclass(frozen=True, slots=True)
class Delivery:
    """Events for a client, like a Batch; beside each are those of its subscriptions that it satisfies."""

    position: int
    origin: str
    epoch: str
    number: int
    count: int
    events: bytes


@dataclass(frozen=True, slots=True)
class Received:
    """Everything up to this position is safe with the one that says so, and need not be sent again."""

    position: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Why the other end is not spoken to; the link or session ends with it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Attach:
    """The first message of a client. What it asked for and what waits for it is kept under its name.

    `echo`: whether it gets what it publishes itself, where that satisfies its subscriptions.
    """

    client: str
    echo: bool = True


@dataclass(frozen=True, slots=True)
class Attached:
    """The broker's answer: its name, the last publish taken from this client, and what the client has here."""

    broker: str
    published: int
    advertisements: dict[str, str]
    subscriptions: dict[str, str]
    schema: str
    epoch: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A client's wishes, all at once: filters by the ids that it gives them, and ids to be withdrawn."""

    number: int
    advertise: dict[str, str] = field(default_factory=dict)
    subscribe: dict[str, str] = field(default_factory=dict)
    unadvertise: tuple[str, ...] = ()
    unsubscribe: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """Result of an Ask at this broker; `refused` says why not, by id. Settled follows."""

    number: int
    refused: dict[str, str]


@dataclass(frozen=True, slots=True)
class Offer:
    """Events to be published. The same number again is the same publish, and is not published again."""

    number: int
    events: bytes


@dataclass(frozen=True, slots=True)
class Taken:
    """Result of an Offer: what was accepted is safe. `refused` says why not, by row."""

    number: int
    accepted: int
    refused: dict[str, str]
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Leave:
    """The client goes for good: all that it asked for is withdrawn, and what waits for it is let go."""


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
