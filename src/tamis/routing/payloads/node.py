"""CN* payload node: forwards parcels over links with payloads by content or by name; parcels in, actions out.

No transport and no clock: a broker carries out the actions that the methods return, in order.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from tamis.routing.payloads.kernels import (
    DIRECTORY,
    LINKS_A_WORD,
    NOWHERE,
    REPOSITORY,
    acknowledged,
    arrived,
    found,
    has_gone,
    store_of,
    supplied,
)

# Parcels: what travels between CN* nodes, a body and payloads by content or by name.


def payload_id(content: bytes) -> bytes:
    """Name of a payload: a hash of its content, so that equal contents have one name wherever they come from."""
    return hashlib.blake2b(content, digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Carried:
    """Payload of a message (Chandramouli & Yang 2008, §5: ID, PayloadAttrs, Source).

    `content` is None where it goes by name only. `source` is the address of the last CN* node on the way that has a
    copy, or of whoever published it, who is bound to have one as long as the message is under way.
    """

    id: bytes
    content: bytes | None
    source: str

    @classmethod
    def of(cls, content: bytes, publisher: str) -> Carried:
        """Payload as its publisher sends it."""
        return cls(payload_id(content), content, publisher)


@dataclass(frozen=True, slots=True)
class Parcel:
    """Message of a body, by which networks route, and any number of payloads; plain CN nodes pass it on unchanged."""

    body: bytes
    payloads: tuple[Carried, ...] = ()
    publisher: str = ""

    @property
    def whole(self) -> bool:
        """True if all payloads are there with their contents."""
        return all(carried.content is not None for carried in self.payloads)

    def with_payloads(self, payloads: tuple[Carried, ...]) -> Parcel:
        return replace(self, payloads=payloads)


_Way: TypeAlias = tuple[int | None, int | None]
"""The link that parcels came by (None: published here) and the one they go over (None: to subscribers)."""


@dataclass(frozen=True, slots=True)
class Send:
    """Action: send a parcel over a link; its payloads are there or named as they should go."""

    link: int
    parcel: Parcel


@dataclass(frozen=True, slots=True)
class Deliver:
    """Action: hand a whole parcel to the node's own subscribers."""

    parcel: Parcel


@dataclass(frozen=True, slots=True)
class Ask:
    """Action: ask another node for a payload, and report the answer with `supplied` or `refused`."""

    address: str
    id: bytes


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Action: tell the other end of a link that payloads have come: it need not send them again (App. H)."""

    link: int
    ids: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Lost:
    """Action: drop a parcel that needs a payload which nobody has any more. `link` is None for subscribers."""

    link: int | None
    parcel: Parcel
    id: bytes


Action: TypeAlias = Send | Deliver | Ask | Acknowledge | Lost


@dataclass(slots=True, eq=False)
class _Waiting:
    """Parcel on its way whose payloads are incomplete."""

    way: _Way
    parcel: Parcel
    missing: dict[bytes, Carried]


@dataclass(slots=True)
class _Question:
    """Request for a payload that parcels of one link lack: the node asked now, those to ask next, and what waits."""

    number: int
    further: list[str]
    address: str = ""
    waiting: list[_Waiting] = field(default_factory=list)


class PayloadNode:
    """Payload node: directory, repository, and forwarding by Algorithm 1 (Chandramouli & Yang 2008, App. G).

    Without transport: every method gives what is to be done now, in order. What comes by one link and goes over another
    (or to subscribers) keeps its order: a parcel that has to wait for a payload holds up those behind it on that way,
    and no others. So each link by which parcels come asks questions of its own: that one neighbour does not answer
    delays nothing that came from another. All that it holds beside parcels that wait is soft state: a node that starts
    empty loses nothing but savings.

    A link's bit is set when the other end acknowledges a payload, so a plain node, which never does, gets all payloads
    each time (App. H). Whoever publishes answers for its payloads from its own keeping if `asked` has forgotten them.
    Links are numbered from 0 up to `links`. Not safe for several threads at once.
    """

    def __init__(self, address: str, links: int, *, directory: int = DIRECTORY, repository: int = REPOSITORY) -> None:
        self.address = address
        self._store = store_of(1, links, directory, repository)
        self._contents: list[tuple[bytes, bytes] | None] = [None] * repository
        self._queues: dict[_Way, deque[_Waiting]] = {}
        self._questions: dict[bytes, dict[int | None, _Question]] = {}
        self._count = 0

    def receive(
        self, parcel: Parcel, links: Iterable[int], *, came_by: int | None = None, deliver: bool = False
    ) -> list[Action]:
        """Takes in a parcel (or a publication): forwards it over links, and delivers it to subscribers if `deliver`.

        `links` are those that match as in any content-driven network; `came_by` is the one it came by.
        """
        actions: list[Action] = []
        brought = tuple(carried.id for carried in parcel.payloads if carried.content is not None)
        if came_by is not None and brought:
            actions.append(Acknowledge(came_by, brought))
        held = tuple(self._held(carried, deliver) for carried in parcel.payloads)
        if deliver:
            missing = tuple(carried for carried in held if carried.content is None)
            actions += self._enqueue((came_by, None), parcel.with_payloads(held), missing)
        for link in links:
            named = tuple(self._as_it_goes(carried, link) for carried in held)
            actions += self._enqueue((came_by, link), parcel.with_payloads(named), self._wanted(held, link))
        return actions

    def acknowledged(self, link: int, ids: Iterable[bytes]) -> None:
        """Records that the other end of a link, a CN* node, has got payloads."""
        for id in ids:
            acknowledged(self._store, 0, _key(id), link)

    def asked(self, id: bytes) -> bytes | None:
        """Content of a payload for another node that asks; None if it is not here any more."""
        slot = found(self._store.repository, 0, _key(id))
        there = None if slot == NOWHERE else self._contents[slot]
        return there[1] if there is not None and there[0] == id else None

    def supplied(self, id: bytes, content: bytes, address: str) -> list[Action]:
        """Takes in a payload that was asked for; one whose content does not match its name counts as a refusal."""
        if payload_id(content) != id:
            return self.refused(id, address)
        if (questions := self._questions.pop(id, None)) is None:
            return []
        kept = supplied(self._store, 0, _key(id))
        self._keep(id, content)
        ways: dict[_Way, None] = {}
        for waiting in [waiting for question in questions.values() for waiting in question.waiting]:
            carried = waiting.missing.pop(id)
            whole = replace(carried, content=content, source=self.address if kept else carried.source)
            waiting.parcel = waiting.parcel.with_payloads(
                tuple(whole if one.id == id else one for one in waiting.parcel.payloads)
            )
            ways[waiting.way] = None
        return self._flushed(ways)

    def refused(self, id: bytes, address: str) -> list[Action]:
        """Handles a refusal (or a timeout): the publisher is asked next, after that nobody.

        What needs a payload that nobody has goes no further, and waits for none of its others either.
        """
        actions: list[Action] = []
        for came_by, question in list(self._questions.get(id, {}).items()):
            if question.address == address:
                actions += self._ask_next(id, came_by, question)
        return actions

    def unanswered(self, came_by: int) -> tuple[int, ...]:
        """Numbers of the questions whose answers parcels of a link wait for; no number is used twice."""
        return tuple(asked[came_by].number for asked in self._questions.values() if came_by in asked)

    def gone(self, link: int) -> None:
        """Handles a lost neighbour: what came by its link and waits is dropped, as it will come again."""
        self._queues = {way: queue for way, queue in self._queues.items() if way[0] != link}
        for id, questions in list(self._questions.items()):
            questions.pop(link, None)
            if not questions:
                del self._questions[id]

    def forget(self, link: int) -> None:
        """Forgets what has gone over a link: its neighbour is another one, or came back empty."""
        bit = np.uint64(1) << np.uint64(link % LINKS_A_WORD)
        self._store.gone[0, :, link // LINKS_A_WORD] &= ~bit

    @property
    def waiting(self) -> int:
        """Number of parcels that wait for payloads, or behind one that does."""
        return sum(len(queue) for queue in self._queues.values())

    def _held(self, carried: Carried, wanted: bool) -> Carried:
        """Payload as this node has it: with its content if possible, and under its own address then."""
        here = arrived(self._store, 0, _key(carried.id), carried.content is not None, wanted)
        if carried.content is not None:
            self._keep(carried.id, carried.content)
            return replace(carried, source=self.address) if here else carried
        content = self.asked(carried.id) if here else None
        return carried if content is None else replace(carried, content=content, source=self.address)

    def _keep(self, id: bytes, content: bytes) -> None:
        """Keeps the content beside its slot, if the repository has one; two names with one key take turns in it."""
        slot = found(self._store.repository, 0, _key(id))
        if slot != NOWHERE:
            self._contents[slot] = (id, content)

    def _as_it_goes(self, carried: Carried, link: int) -> Carried:
        """Payload as it goes over a link: by name where the link has carried it, else with its content, asked for if
        need be."""
        return replace(carried, content=None) if has_gone(self._store, 0, _key(carried.id), link) else carried

    def _wanted(self, held: tuple[Carried, ...], link: int) -> tuple[Carried, ...]:
        """Payloads that have to go with their content, and are not here."""
        return tuple(
            carried
            for carried in held
            if carried.content is None and not has_gone(self._store, 0, _key(carried.id), link)
        )

    def _enqueue(self, way: _Way, parcel: Parcel, missing: tuple[Carried, ...]) -> list[Action]:
        waiting = _Waiting(way, parcel, {carried.id: carried for carried in missing})
        self._queues.setdefault(way, deque()).append(waiting)
        actions: list[Action] = []
        came_by = way[0]
        for id, carried in list(waiting.missing.items()):
            if id not in waiting.missing:
                break  # it is lost already, for the sake of another payload
            whom = [
                each for each in dict.fromkeys((carried.source, parcel.publisher)) if each not in ("", self.address)
            ]
            questions = self._questions.setdefault(id, {})
            if (question := questions.get(came_by)) is not None:
                question.waiting.append(waiting)
                question.further += [each for each in whom if each not in (question.address, *question.further)]
                continue
            self._count += 1
            questions[came_by] = question = _Question(self._count, whom, waiting=[waiting])
            actions += self._ask_next(id, came_by, question)
        return actions + self._flushed([way])

    def _ask_next(self, id: bytes, came_by: int | None, question: _Question) -> list[Action]:
        """Sends a question to the next candidate; when nobody is left, what waits for the answer is lost."""
        if question.further:
            question.address = question.further.pop(0)
            return [Ask(question.address, id)]
        actions: list[Action] = [Lost(each.way[1], each.parcel, id) for each in question.waiting]
        ways = dict.fromkeys(each.way for each in question.waiting)
        for lost in list(question.waiting):
            self._let_go(lost, came_by)
        return actions + self._flushed(ways)

    def _let_go(self, lost: _Waiting, came_by: int | None) -> None:
        """Removes a parcel from its queue, and from the questions that it waits for."""
        self._queues[lost.way].remove(lost)
        for id in lost.missing.keys() & self._questions.keys():
            questions = self._questions[id]
            if (question := questions.get(came_by)) is not None:
                question.waiting = [each for each in question.waiting if each is not lost]
                if not question.waiting:
                    del questions[came_by]
            if not questions:
                del self._questions[id]
        lost.missing = {}

    def _flushed(self, ways: Iterable[_Way]) -> list[Action]:
        """Parcels that need not wait any longer, in the order of each way."""
        actions: list[Action] = []
        for way in ways:
            queue = self._queues.get(way)
            while queue and not queue[0].missing:
                waiting = queue.popleft()
                actions.append(Deliver(waiting.parcel) if way[1] is None else Send(way[1], waiting.parcel))
        return actions


def _key(id: bytes) -> int:
    """Integer key of a name in the store; two names of one key cost a question, never more."""
    return int(np.frombuffer(id[:8], np.int64)[0])
