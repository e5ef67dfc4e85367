"""Links between brokers, and payload caching on them: a bulky value goes over a link once, then by name (CN*).

The queue to a neighbour has every value; which values go by name is decided when a message is sent. A broker that lacks
a value asks the neighbour that sent its name: the message it belongs to is in that neighbour's queue until it is
acknowledged, so that the answer is always there. Directory and repository are those of the simulator's nodes
(routing/payloads; Chandramouli and Yang 2008, §5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from tamis.broker.messages import Active, Batch, Holds, MessageError, Supply, Table, Want, decode, encode
from tamis.routing.payloads import (
    Acknowledge,
    Action,
    Ask,
    Carried,
    Deliver,
    Lost,
    Parcel,
    PayloadNode,
    Send,
    payload_id,
)

_LINKS: Final = 1_024
_NUMBER_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Whole:
    """Message all of whose values are there."""

    link: str
    batch: Batch
    size: int
    contents: dict[bytes, bytes]


@dataclass(slots=True)
class Answers:
    """Consequences of an arrival: messages to neighbours, by link, and batches that can go on, in order."""

    messages: list[tuple[str, Holds | Want]] = field(default_factory=list)
    whole: list[Whole] = field(default_factory=list)


class LinkPayloads:
    """Payload node of a broker, and the messages under way over its links.

    A link's batches wait for values that the same link is asked for, and for nothing else: they go on in order when
    these have come, or end with the session.
    """

    def __init__(self, name: str, repository: int) -> None:
        self._node = PayloadNode(f"broker:{name}", _LINKS, repository=repository)  # which is no link's address
        self._numbers: dict[str, int] = {}
        self._under_way: dict[str, dict[int, dict[bytes, bytes]]] = {}
        self._arrived: dict[bytes, tuple[str, Batch, int]] = {}
        self._count = 0
        self.named = 0

    def begin(self, link: str) -> None:
        """Begins a session: values that the neighbour had may be gone."""
        self._node.forget(self._number(link))
        self._under_way[link] = {}

    def end(self, link: str) -> None:
        """Ends a session: incomplete messages are dropped, as the next session sends them again."""
        self._under_way.pop(link, None)
        self._node.gone(self._number(link))
        self._arrived = {ticket: came for ticket, came in self._arrived.items() if came[0] != link}

    def unanswered(self, link: str) -> tuple[int, ...]:
        """Numbers of the questions to a neighbour whose answers its batches wait for."""
        return self._node.unanswered(self._number(link))

    # Sending.

    def outgoing(self, link: str, body: bytes) -> bytes:
        """Message of the queue as it goes over a link: without values that the neighbour has."""
        batch = decode(body)
        assert isinstance(batch, Batch)
        if not batch.payloads:
            return body
        contents = _contents(batch)
        payloads = tuple(Carried(id, content, self._node.address) for id, content in contents.items())
        actions = self._node.receive(Parcel(b"", payloads), [self._number(link)])
        (sent,) = (action for action in actions if isinstance(action, Send))
        going = {carried.id: carried.content for carried in sent.parcel.payloads if carried.content is not None}
        if len(going) == len(contents):
            return body
        self.named += len(contents) - len(going)
        self._under_way.setdefault(link, {})[batch.position] = contents
        return encode(with_contents(batch, batch.events[: batch.slim], contents, going))

    def acknowledged(self, link: str, position: int) -> None:
        """Records that the neighbour has everything up to this position."""
        waiting = self._under_way.get(link, {})
        for each in [each for each in waiting if each <= position]:
            del waiting[each]

    def held(self, link: str, ids: Iterable[str]) -> None:
        """Records that the neighbour has these values now."""
        self._node.acknowledged(self._number(link), [_id(text) for text in ids])

    def wanted(self, link: str, want: Want) -> Supply:
        """Answer to a neighbour that has forgotten a value it was sent the name of."""
        id = _id(want.id)
        for contents in self._under_way.get(link, {}).values():
            if id in contents:
                return Supply(want.id, contents[id])
        content = self._node.asked(id)
        if content is None:
            raise MessageError("a value was asked for that was not sent")
        return Supply(want.id, content)

    # Receiving.

    def arrived(self, link: str, batch: Batch, size: int) -> Answers:
        """Takes in a message, which is whole now, or when the values that it lacks have come."""
        answers = Answers()
        self._count += 1
        ticket = self._count.to_bytes(_NUMBER_BYTES, "big")
        self._arrived[ticket] = (link, batch, size)
        there = _contents(batch)
        if any(payload_id(content) != id for id, content in there.items()):
            raise MessageError("a value is not what it is called")
        ids = dict.fromkeys(map(_id, batch.payloads))
        payloads = tuple(Carried(id, there.get(id), link) for id in ids)
        number = self._number(link)
        self._do(self._node.receive(Parcel(ticket, payloads), (), came_by=number, deliver=True), answers)
        return answers

    def supplied(self, link: str, supply: Supply) -> Answers:
        """Takes in a value that was asked for."""
        answers, id = Answers(), _id(supply.id)
        if payload_id(supply.events) != id:
            raise MessageError("a value is not what it is called")
        self._do(self._node.supplied(id, supply.events, link), answers)
        return answers

    def _do(self, actions: Iterable[Action], answers: Answers) -> None:
        for action in actions:
            match action:
                case Acknowledge():
                    name = next(name for name, number in self._numbers.items() if number == action.link)
                    answers.messages.append((name, Holds(tuple(id.hex() for id in action.ids))))
                case Ask():
                    answers.messages.append((action.address, Want(action.id.hex())))
                case Deliver():
                    payloads = action.parcel.payloads
                    contents = {each.id: each.content for each in payloads if each.content is not None}
                    answers.whole.append(Whole(*self._arrived.pop(action.parcel.body), contents))
                case Send() | Lost():
                    # What is sent was asked for by `outgoing`. A neighbour answers or its session ends, so that
                    # nothing is refused.
                    raise AssertionError(f"{type(action).__name__} follows from nothing that a link brings")

    def _number(self, link: str) -> int:
        if link not in self._numbers and len(self._numbers) == _LINKS:
            raise MessageError(f"a broker has {_LINKS:,} links at most")
        return self._numbers.setdefault(link, len(self._numbers))


def with_contents(batch: Batch, slim: bytes, contents: dict[bytes, bytes], going: dict[bytes, bytes]) -> Batch:
    """Message with these of its values."""
    sizes = tuple(len(going[id]) if id in going else -1 for id in contents)
    names = tuple(id.hex() for id in contents)
    return replace(batch, slim=len(slim), payloads=names, sizes=sizes, events=b"".join((slim, *going.values())))


def _contents(batch: Batch) -> dict[bytes, bytes]:
    """Values that came with a message, by name."""
    if len(batch.sizes) != len(batch.payloads) or not 0 <= batch.slim <= len(batch.events):
        raise MessageError("the values of this message are not said rightly")
    place, found = batch.slim, {}
    for text, size in zip(batch.payloads, batch.sizes, strict=True):
        if size >= 0:
            found[_id(text)] = batch.events[place : place + size]
            place += size
    return found


def _id(text: str) -> bytes:
    """Name of a value as messages spell it."""
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise MessageError(f"{text!r:.80} names no value") from error


# Link: the state of one link to a neighbour, which outlives its sessions.

Owed: TypeAlias = tuple[Literal["change", "value"], int]
"""What a neighbour has to answer: the change after so many, or the question of this number."""


@dataclass(slots=True)
class Link:
    """Link to a neighbour. `connection` is the one in use now, None while there is none.

    The link is open while both ends have last told the same view of the overlay (`told` and `active.view`); only then
    filters and events go over it. `number` counts the changes of what is forwarded, whether sent or not.
    """

    name: str
    connection: int | None = None
    told: str | None = None
    active: Active | None = None
    open: bool = False
    number: int = 0
    applied: int = 0  # of ours, by the neighbour
    owed: dict[Owed, float] = field(default_factory=dict)  # and since when
    received: int = 0  # position of the last events that came
    epoch: str = ""
    heard: int | None = None  # number of the last change that came; None until the table did
    parts: list[Table] = field(default_factory=list)  # of a table that is not complete yet
    resets: int = 0
    sessions: int = 0
    address: str | None = None

    @property
    def hop(self) -> str:
        return f"link:{self.name}"

    def disconnect(self) -> None:
        self.connection = self.told = self.active = self.heard = None
        self.open = False
        self.parts.clear()
        self.owed.clear()


def neighbour(hop: str) -> str:
    """Name of the neighbour at the other end of a hop."""
    return hop.partition(":")[2]
