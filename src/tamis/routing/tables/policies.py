"""How much of a set of filters is forwarded: all of it, what nothing else covers, or what that is merged into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from tamis.routing.covering import Relation, relate
from tamis.routing.tables.change import Change
from tamis.routing.tables.routed_filter import RoutedFilter
from tamis.schema import Schema


class Reduction(Protocol):
    """A set of filters, and the part of it, or what stands for it, that is forwarded.

    Whatever matches a filter of the set matches one that is forwarded. What is forwarded depends on the set alone, not
    on the order in which it came about.
    """

    @property
    def forwarded(self) -> Mapping[str, RoutedFilter]:
        """By text."""

    def change(self, added: Iterable[RoutedFilter], removed: Iterable[RoutedFilter]) -> Change:
        """Takes filters in that are not in the set, and those out that are; returns what is forwarded differently."""


Policy = Callable[[Schema], Reduction]


class Simple:
    """Everything is forwarded."""

    def __init__(self, schema: Schema) -> None:
        self._filters: dict[str, RoutedFilter] = {}

    @property
    def forwarded(self) -> Mapping[str, RoutedFilter]:
        return self._filters

    def change(self, added: Iterable[RoutedFilter], removed: Iterable[RoutedFilter]) -> Change:
        new, gone = tuple(added), tuple(filter.text for filter in removed)
        for text in gone:
            del self._filters[text]
        self._filters.update((filter.text, filter) for filter in new)
        return Change(new, gone)


class Covering:
    """Only what nothing else in the set covers; of filters that cover each other the one whose text comes first.

    `_below` has, for each filter that is not forwarded, those of the set seen to cover it.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._filters: dict[str, RoutedFilter] = {}
        self._above: dict[str, set[str]] = {}
        self._roots: dict[str, RoutedFilter] = {}

    @property
    def forwarded(self) -> Mapping[str, RoutedFilter]:
        return self._roots

    def change(self, added: Iterable[RoutedFilter], removed: Iterable[RoutedFilter]) -> Change:
        before = self._roots
        gone = {filter.text for filter in removed}
        for text in gone:
            del self._filters[text], self._above[text]
        for above in self._above.values():
            above -= gone
        for filter in added:
            self._insert(filter)
        self._roots = {text: filter for text, filter in self._filters.items() if not self._above[text]}
        gained = tuple(filter for text, filter in self._roots.items() if text not in before)
        return Change(gained, tuple(text for text in before if text not in self._roots))

    def _insert(self, new: RoutedFilter) -> None:
        over: set[str] = set()
        for text, filter in self._filters.items():
            relation = relate(new.form, filter.form, self._schema)
            if relation == Relation.EQUAL:
                relation = Relation.COVERED if text < new.text else Relation.COVERS
            if relation & Relation.COVERED:
                over.add(text)
            elif relation & Relation.COVERS:
                self._above[text].add(new.text)
        self._filters[new.text] = new
        self._above[new.text] = over


POLICIES: Final[Mapping[str, Policy]] = {"simple": Simple, "covering": Covering}
