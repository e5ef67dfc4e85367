"""The overlay as a broker knows it, and the tree in it along which everything travels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from functools import cached_property
from hashlib import blake2b


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """What is known of one link. `one` comes before `other`; of two records of a link the higher version holds.

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
        """The link is taken away."""
        return LinkRecord(self.one, self.other, self.age, self.version + 1, standing=False)

    def renewed(self, age: int) -> LinkRecord:
        """The link is there again."""
        return LinkRecord(self.one, self.other, age, self.version + 1)


class Topology:
    """Every link that was ever told of, by its ends. Never changed: `merged` makes a new one.

    Brokers that know the same records have the same `digest`, and with it the same tree.
    """

    def __init__(self, records: Iterable[LinkRecord] = ()) -> None:
        self.records: dict[tuple[str, str], LinkRecord] = {record.ends: record for record in records}

    def merged(self, records: Iterable[LinkRecord]) -> tuple[Topology, list[LinkRecord]]:
        """With these records, and which of them say something new."""
        new: dict[tuple[str, str], LinkRecord] = {}
        for record in records:
            known = new.get(record.ends) or self.records.get(record.ends)
            if known is None or _rank(record) > _rank(known):
                new[record.ends] = record
        return (Topology({**self.records, **new}.values()) if new else self), list(new.values())

    def link(self, one: str, other: str) -> LinkRecord | None:
        """The record of a link."""
        return self.records.get((min(one, other), max(one, other)))

    def with_link(self, one: str, other: str) -> LinkRecord | None:
        """The record to tell of so that this link stands; None if it does."""
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
        """The links in use: of every cycle the youngest is not. A link that comes never takes another's place."""
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
