"""Forwarding policies: which filters of one side a neighbour is told of (all, or only uncovered ones), and the
changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from tamis.language.forms import Filter
from tamis.routing.standing import CoveringTable
from tamis.schema import Schema


@dataclass(frozen=True, slots=True)
class Change:
    """Changes of the filters a neighbour knows: first the additions, then the removals.

    In this order no event is missed in between. Ids in both parts are different.
    """

    subscribe: tuple[tuple[str, Filter], ...] = ()
    unsubscribe: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.subscribe or self.unsubscribe)


class Telling:
    """Builder of a change: a filter withdrawn before the change is complete is not announced."""

    def __init__(self) -> None:
        self._new: dict[str, Filter] = {}
        self._old: dict[str, None] = {}

    def subscribe(self, id: str, filter: Filter) -> None:
        if id in self._old:
            del self._old[id]
        else:
            self._new[id] = filter

    def unsubscribe(self, id: str) -> None:
        if self._new.pop(id, None) is None:
            self._old[id] = None

    def change(self) -> Change:
        return Change(tuple(self._new.items()), tuple(self._old))


class Forwarding(Protocol):
    """Protocol of forwarding: the standing filters of one side, and which of them are forwarded.

    At all times the forwarded filters match every event that a standing one matches, and the changes that were told,
    taken together, are what is forwarded.
    """

    def insert(self, id: str, filter: Filter) -> Change:
        """Inserts a filter under a new id."""
        ...

    def remove(self, id: str) -> Change:
        """Removes a standing filter."""
        ...

    def forwarded(self) -> Iterator[tuple[str, Filter]]: ...

    def __contains__(self, id: object) -> bool:
        """True if a filter of this id stands."""
        ...

    def __len__(self) -> int: ...


class SimpleForwarding:
    """Forwarding of every filter."""

    def __init__(self) -> None:
        self._filters: dict[str, Filter] = {}

    def insert(self, id: str, filter: Filter) -> Change:
        if id in self._filters:
            raise ValueError(f"{id!r} is in the table already: remove it first")
        self._filters[id] = filter
        return Change(((id, filter),))

    def remove(self, id: str) -> Change:
        del self._filters[id]
        return Change((), (id,))

    def forwarded(self) -> Iterator[tuple[str, Filter]]:
        return iter(self._filters.items())

    def __contains__(self, id: object) -> bool:
        return id in self._filters

    def __len__(self) -> int:
        return len(self._filters)


class CoveringForwarding:
    """Forwarding of uncovered filters only; a covered one is kept back until its covers are gone."""

    def __init__(self, schema: Schema) -> None:
        self.table = CoveringTable(schema)

    def insert(self, id: str, filter: Filter) -> Change:
        told = self.table.insert(id, filter)
        return Change(((id, filter),), told.covers) if told.root else Change()

    def remove(self, id: str) -> Change:
        told = self.table.remove(id)
        if not told.root:
            return Change()
        return Change(tuple((other, self.table[other]) for other in told.uncovered), (id,))

    def forwarded(self) -> Iterator[tuple[str, Filter]]:
        return self.table.roots()

    def __contains__(self, id: object) -> bool:
        return id in self.table

    def __len__(self) -> int:
        return len(self.table)
