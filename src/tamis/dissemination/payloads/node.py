"""One CN* node: parcels in, what to do out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from tamis.dissemination.payloads.kernels import (
    LINKS_A_WORD,
    NOWHERE,
    acknowledged,
    arrived,
    found,
    has_gone,
    supplied,
)
from tamis.dissemination.payloads.parcel import Carried, Parcel, payload_id
from tamis.dissemination.payloads.store import DIRECTORY, REPOSITORY, store_of

_CLIENTS = None


@dataclass(frozen=True, slots=True)
class Send:
    """Send a parcel over a link; its payloads are there or named as they should go."""

    link: int
    parcel: Parcel


@dataclass(frozen=True, slots=True)
class Deliver:
    """Hand a whole parcel to the node's own subscribers."""

    parcel: Parcel


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask another node for a payload; tell `supplied` or `refused` of the answer."""

    address: str
    id: bytes


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Tell the other end of a link that payloads have come: it need not send them again (App. H)."""

    link: int
    ids: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Lost:
    """Nobody has a payload any more that a parcel needs; the parcel goes no further. `link` is None for subscribers."""

    link: int | None
    parcel: Parcel
    id: bytes


Action: TypeAlias = Send | Deliver | Ask | Acknowledge | Lost


@dataclass(slots=True, eq=False)
class _Waiting:
    """A parcel that is to go over a link (or to subscribers), and payloads that are still on their way here."""

    parcel: Parcel
    missing: dict[bytes, Carried]
    lost: bool = False


@dataclass(slots=True)
class _Asked:
    """Where a payload has been asked for, and whom to ask next."""

    further: list[str]
    waiting: list[tuple[int | None, _Waiting]] = field(default_factory=list)


class PayloadNode:
    """Directory, repository, and forwarding by Algorithm 1 (Chandramouli & Yang 2008, App. G), for one node.

    Without transport: every method gives what is to be done now, in order. What goes over one link keeps its order: a
    parcel that has to wait for a payload holds up those after it on that link, and no others. All that it holds beside
    parcels that wait is soft state: a node that starts empty loses nothing but savings.

    A link's bit is set when the other end acknowledges a payload, so a plain node, which never does, gets all payloads
    each time (App. H). Whoever publishes answers for its payloads from its own keeping if `asked` has forgotten them.
    Links are numbered from 0 up to `links`. Not safe for several threads at once.
    """

    def __init__(self, address: str, links: int, *, directory: int = DIRECTORY, repository: int = REPOSITORY) -> None:
        self.address = address
        self._store = store_of(1, links, directory, repository)
        self._contents: list[tuple[bytes, bytes] | None] = [None] * repository
        self._queues: dict[int | None, deque[_Waiting]] = {}
        self._asked: dict[bytes, _Asked] = {}

    def receive(
        self, parcel: Parcel, links: Iterable[int], *, came_by: int | None = None, deliver: bool = False
    ) -> list[Action]:
        """A parcel came (or is published here): forward it over links, and to subscribers if some want it.

        `links` are those that match as in any content-driven network; `came_by` is the one it came by.
        """
        actions: list[Action] = []
        brought = tuple(carried.id for carried in parcel.payloads if carried.content is not None)
        if came_by is not None and brought:
            actions.append(Acknowledge(came_by, brought))
        held = tuple(self._held(carried, deliver) for carried in parcel.payloads)
        if deliver:
            actions += self._enqueue(_CLIENTS, parcel.with_payloads(held))
        for link in links:
            named = tuple(self._as_it_goes(carried, link) for carried in held)
            actions += self._enqueue(link, parcel.with_payloads(named), wanted=self._wanted(held, link))
        return actions

    def acknowledged(self, link: int, ids: Iterable[bytes]) -> None:
        """The other end of a link has got payloads, and is a CN* node."""
        for id in ids:
            acknowledged(self._store, 0, _key(id), link)

    def asked(self, id: bytes) -> bytes | None:
        """The content of a payload for another node that asks; None if it is not here any more."""
        slot = found(self._store.repository, 0, _key(id))
        there = None if slot == NOWHERE else self._contents[slot]
        return there[1] if there is not None and there[0] == id else None

    def supplied(self, id: bytes, content: bytes) -> list[Action]:
        """A payload came that was asked for. One that is not what it is called is taken for a refusal."""
        if payload_id(content) != id:
            return self.refused(id)
        asked = self._asked.pop(id, None)
        if asked is None:
            return []
        kept = supplied(self._store, 0, _key(id))
        self._keep(id, content)
        for _, waiting in asked.waiting:
            carried = waiting.missing.pop(id)
            whole = replace(carried, content=content, source=self.address if kept else carried.source)
            waiting.parcel = waiting.parcel.with_payloads(
                tuple(whole if one.id == id else one for one in waiting.parcel.payloads)
            )
        return self._flushed(dict.fromkeys(link for link, _ in asked.waiting))

    def refused(self, id: bytes) -> list[Action]:
        """Whoever was asked does not have a payload (or does not answer): the publisher is asked, at last nobody."""
        asked = self._asked.get(id)
        if asked is None:
            return []
        if asked.further:
            return [Ask(asked.further.pop(0), id)]
        del self._asked[id]
        actions: list[Action] = []
        for link, waiting in asked.waiting:
            del waiting.missing[id]
            if not waiting.lost:
                waiting.lost = True
                actions.append(Lost(link, waiting.parcel, id))
        return actions + self._flushed(dict.fromkeys(link for link, _ in asked.waiting))

    def forget(self, link: int) -> None:
        """Another neighbour is at a link's other end, or the same one came back empty: nothing has gone over it yet."""
        bit = np.uint64(1) << np.uint64(link % LINKS_A_WORD)
        self._store.gone[0, :, link // LINKS_A_WORD] &= ~bit

    @property
    def waiting(self) -> int:
        """How many parcels wait for payloads, or behind one that does."""
        return sum(len(queue) for queue in self._queues.values())

    def _held(self, carried: Carried, wanted: bool) -> Carried:
        """A payload as this node has it: with its content if it can, and under its own address then."""
        here = arrived(self._store, 0, _key(carried.id), carried.content is not None, wanted)
        if carried.content is not None:
            self._keep(carried.id, carried.content)
            return replace(carried, source=self.address) if here else carried
        content = self.asked(carried.id) if here else None
        return carried if content is None else replace(carried, content=content, source=self.address)

    def _keep(self, id: bytes, content: bytes) -> None:
        """The content beside its slot, if the repository has one. Two names with one key take turns in it."""
        slot = found(self._store.repository, 0, _key(id))
        if slot != NOWHERE:
            self._contents[slot] = (id, content)

    def _as_it_goes(self, carried: Carried, link: int) -> Carried:
        """By name where the link has carried the payload, else with its content, which may have to be asked for."""
        return replace(carried, content=None) if has_gone(self._store, 0, _key(carried.id), link) else carried

    def _wanted(self, held: tuple[Carried, ...], link: int) -> tuple[Carried, ...]:
        """Payloads that have to go with their content, and are not here."""
        return tuple(
            carried
            for carried in held
            if carried.content is None and not has_gone(self._store, 0, _key(carried.id), link)
        )

    def _enqueue(self, link: int | None, parcel: Parcel, wanted: tuple[Carried, ...] | None = None) -> list[Action]:
        if wanted is None:
            wanted = tuple(carried for carried in parcel.payloads if carried.content is None)
        waiting = _Waiting(parcel, {carried.id: carried for carried in wanted})
        self._queues.setdefault(link, deque()).append(waiting)
        actions: list[Action] = []
        for carried in list(waiting.missing.values()):
            asked = self._asked.get(carried.id)
            if asked is None:
                whom = list(dict.fromkeys((carried.source, parcel.publisher)))
                whom = [address for address in whom if address and address != self.address]
                asked = self._asked[carried.id] = _Asked(whom)
                asked.waiting.append((link, waiting))
                actions += self.refused(carried.id)  # that is: ask the first, or find that there is nobody to ask
            else:
                asked.waiting.append((link, waiting))
        return actions + self._flushed([link])

    def _flushed(self, links: Iterable[int | None]) -> list[Action]:
        """What need not wait any longer, in the order of each link."""
        actions: list[Action] = []
        for link in links:
            queue = self._queues.get(link)
            while queue and not queue[0].missing:
                waiting = queue.popleft()
                if not waiting.lost:
                    actions.append(Deliver(waiting.parcel) if link is None else Send(link, waiting.parcel))
        return actions


def _key(id: bytes) -> int:
    """A name as the number that the store goes by. Two names of one number cost a question, never more."""
    return int(np.frombuffer(id[:8], np.int64)[0])
