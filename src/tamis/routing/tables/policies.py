"""How much of a set of filters is forwarded: all of it, what nothing else covers, or what that is merged into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from tamis.routing.standing import CoveringTable
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

    def change(self, added: Iterable[RoutedFilter], removed: Sequence[RoutedFilter]) -> Change:
        """Takes filters in that are not in the set, and those out that are; returns what is forwarded differently."""


Policy = Callable[[Schema], Reduction]


class Simple:
    """Everything is forwarded."""

    def __init__(self, schema: Schema) -> None:
        self._filters: dict[str, RoutedFilter] = {}

    @property
    def forwarded(self) -> Mapping[str, RoutedFilter]:
        return self._filters

    def change(self, added: Iterable[RoutedFilter], removed: Sequence[RoutedFilter]) -> Change:
        new, gone = tuple(added), tuple(filter.text for filter in removed)
        for text in gone:
            del self._filters[text]
        self._filters.update((filter.text, filter) for filter in new)
        return Change(new, gone)


class Covering:
    """Only what nothing else in the set covers; of filters that say the same in other words, the first to come."""

    def __init__(self, schema: Schema) -> None:
        self._table = CoveringTable(schema)
        self._filters: dict[str, RoutedFilter] = {}
        self._roots: dict[str, RoutedFilter] = {}

    @property
    def forwarded(self) -> Mapping[str, RoutedFilter]:
        return self._roots

    def change(self, added: Iterable[RoutedFilter], removed: Sequence[RoutedFilter]) -> Change:
        touched: dict[str, bool] = {}  # whether it was a root before
        for filter in added:
            self._filters[filter.text] = filter
            inserted = self._table.insert(filter.text, filter.form)
            if inserted.root:
                touched.setdefault(filter.text, False)
            for text in inserted.covers:
                touched.setdefault(text, True)
        for filter in removed:
            ended = self._table.remove(filter.text)
            if ended.root:
                touched.setdefault(filter.text, True)
            for text in ended.uncovered:
                touched.setdefault(text, False)
        now = {text: self._table.is_root(text) for text in touched}
        gained = tuple(self._filters[text] for text, was in touched.items() if now[text] and not was)
        lost = tuple(text for text, was in touched.items() if was and not now[text])
        for text in lost:
            del self._roots[text]
        self._roots.update((filter.text, filter) for filter in gained)
        for filter in removed:
            del self._filters[filter.text]
        return Change(gained, lost)


POLICIES: Final[Mapping[str, Policy]] = {"simple": Simple, "covering": Covering}
