"""Messages between brokers and clients. `encoding` has them as bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tamis.broker.settling import LinkRecord

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
