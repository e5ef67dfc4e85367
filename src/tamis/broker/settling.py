"""Settling of filter changes (which have reached every broker concerned), and the overlay: link records and spanning
tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from functools import cached_property
from hashlib import blake2b

Sent = tuple[str, int]
"""A change that was sent on: the link, and its number there."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Change that a client or neighbour requested, by its own number; `upto`: and all its requests before."""

    hop: str
    number: int
    upto: bool = False


class Settling:
    """For each requested change, the changes sent on because of it that are not settled yet.

    It is settled when there are none left. Kept in memory only: whoever asked asks again over a new connection.
    """

    def __init__(self) -> None:
        self._waiting: dict[Asked, set[Sent]] = {}
        self._sent: dict[Sent, set[Asked]] = {}

    def begin(self, asked: Asked, sent: Iterable[Sent]) -> bool:
        """Records a requested change; returns True if it is settled at once."""
        waits = set(sent)
        if not waits:
            return True
        self._waiting[asked] = waits
        for each in waits:
            self._sent.setdefault(each, set()).add(asked)
        return False

    def settled(self, link: str, number: int, upto: bool) -> list[Asked]:
        """Records that a change sent over a link is settled; returns the requests settled by that."""
        ended = [s for s in self._sent if s[0] == link and s[1] <= number] if upto else [(link, number)]
        done: list[Asked] = []
        for each in ended:
            for asked in self._sent.pop(each, ()):
                waits = self._waiting.get(asked)
                if waits is None:
                    continue
                waits.discard(each)
                if not waits:
                    del self._waiting[asked]
                    done.append(asked)
        return done

    def forget(self, hop: str) -> None:
        """Forgets a requester that is gone and will request again."""
        for asked in [asked for asked in self._waiting if asked.hop == hop]:
            for each in self._waiting.pop(asked):
                self._sent[each].discard(asked)

    def outstanding(self, *, but: str) -> set[Sent]:
        """Unsettled changes that were sent over links other than this one."""
        return {sent for sent, asked in self._sent.items() if sent[0] != but and asked}

    def over(self, link: str) -> int:
        """Number of unsettled changes sent over a link."""
        return sum(sent[0] == link and bool(asked) for sent, asked in self._sent.items())


# Overlay: all links as a broker knows them, and the spanning tree in them along which messages travel.


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """Record of one link. `one` comes before `other`; of two records of a link the higher version holds.

    `age` is higher than that of every link that was known when this one was made, so that a link that closes a cycle
    is the youngest of it.
    """

    one: str
    other: str
    age: int
    version: int = 1
    standing: bool = True

    @property
    def ends(self) -> tuple[str, str]:
        return self.one, self.other

    def ended(self) -> LinkRecord:
        """Record of the link's removal."""
        return LinkRecord(self.one, self.other, self.age, self.version + 1, standing=False)

    def renewed(self, age: int) -> LinkRecord:
        """Record of the link's return."""
        return LinkRecord(self.one, self.other, age, self.version + 1)


class Topology:
    """Records of all links ever announced, by their ends. Immutable: `merged` makes a new one.

    Brokers that know the same records have the same `digest`, and with it the same tree.
    """

    def __init__(self, records: Iterable[LinkRecord] = ()) -> None:
        self.records: dict[tuple[str, str], LinkRecord] = {record.ends: record for record in records}

    def merged(self, records: Iterable[LinkRecord]) -> tuple[Topology, list[LinkRecord]]:
        """Topology with these records added, and those of them that are new."""
        new: dict[tuple[str, str], LinkRecord] = {}
        for record in records:
            known = new.get(record.ends) or self.records.get(record.ends)
            if known is None or _rank(record) > _rank(known):
                new[record.ends] = record
        return (Topology({**self.records, **new}.values()) if new else self), list(new.values())

    def link(self, one: str, other: str) -> LinkRecord | None:
        """Record of a link."""
        return self.records.get((min(one, other), max(one, other)))

    def with_link(self, one: str, other: str) -> LinkRecord | None:
        """Record to announce so that this link exists; None if it does already."""
        known = self.link(one, other)
        age = max((record.age for record in self.records.values()), default=0) + 1
        if known is None:
            return LinkRecord(min(one, other), max(one, other), age)
        return None if known.standing else known.renewed(age)

    @cached_property
    def digest(self) -> str:
        told = repr(sorted(astuple(record) for record in self.records.values()))
        return blake2b(told.encode(), digest_size=16).hexdigest()

    @cached_property
    def tree(self) -> frozenset[tuple[str, str]]:
        """Links in use, a spanning tree: the youngest of every cycle is left out. A new link never displaces an old
        one."""
        parent: dict[str, str] = {}

        def root(name: str) -> str:
            while parent.setdefault(name, name) != name:
                parent[name] = name = parent[parent[name]]
            return name

        chosen = []
        for record in sorted(self.records.values(), key=lambda each: (each.age, each.ends)):
            if record.standing and (a := root(record.one)) != (b := root(record.other)):
                parent[a] = b
                chosen.append(record.ends)
        return frozenset(chosen)

    def is_in_use(self, one: str, other: str) -> bool:
        return (min(one, other), max(one, other)) in self.tree


def _rank(record: LinkRecord) -> tuple[int, int, bool]:
    return record.version, record.age, not record.standing
