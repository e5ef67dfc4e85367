"""How much of a set of filters is forwarded: all of it, what nothing else covers, or what that is merged into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tamis.language import Filter, print_filter
from tamis.matching.base.statistics import Statistics
from tamis.routing.covering.summary import Summary
from tamis.routing.forwarding import CoveringForwarding, Forwarding, SimpleForwarding
from tamis.routing.merging import MergePolicy, MergingTable
from tamis.routing.tables.routed_filter import RoutedFilter
from tamis.schema import Schema

# A change of a set of filters.


@dataclass(frozen=True, slots=True)
class RowChange:
    """What comes to a set of filters and what leaves it, at once: nothing is in both, and neither without the other."""

    added: tuple[RoutedFilter, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


Policy = Callable[[Schema], Forwarding]

_SIMPLE: Final = "simple"
_COVERING: Final = "covering"
_MERGING: Final = "merging"
POLICIES: Final = (_SIMPLE, _COVERING, _MERGING)


def policy(name: str, merging: MergePolicy | None = None) -> Policy:
    """One of `POLICIES`; `merging` says when filters are merged and how far, where they are."""
    if name == _SIMPLE:
        return lambda schema: SimpleForwarding()
    if name == _COVERING:
        return CoveringForwarding
    if name == _MERGING:
        return lambda schema: MergingTable(schema, merging)
    raise ValueError(f"there is no policy {name!r}; there are {', '.join(POLICIES)}")


class Reduction:
    """A set of filters by their texts, and what is forwarded of it, or stands for it, by text too.

    Whatever matches a filter of the set matches one that is forwarded.
    """

    def __init__(self, schema: Schema, policy: Policy) -> None:
        self._schema = schema
        self._forwarding = policy(schema)
        self._texts: dict[str, str] = {}  # of what is forwarded, by its id: a filter's text, or a merger's name
        self._counts: dict[str, int] = {}
        self.forwarded: dict[str, RoutedFilter] = {}

    def change(self, added: Iterable[RoutedFilter], removed: Iterable[RoutedFilter]) -> RowChange:
        """Takes filters in that are not in the set, and those out that are; returns what is forwarded differently."""
        known: dict[str, RoutedFilter] = {}
        before: dict[str, bool] = {}
        changes = [self._forwarding.insert(filter.text, filter.form) for filter in added]
        changes += [self._forwarding.remove(filter.text) for filter in removed]
        for change in changes:
            for id, form in change.subscribe:
                # A merger may say in the same words what a filter said before it.
                text = self._texts[id] = id if id in self._forwarding else print_filter(form, self._schema)
                before.setdefault(text, text in self._counts)
                known[text] = RoutedFilter(text, form)
                self._counts[text] = self._counts.get(text, 0) + 1
            for id in change.unsubscribe:
                text = self._texts.pop(id)
                before.setdefault(text, text in self._counts)
                self._counts[text] -= 1
                if not self._counts[text]:
                    del self._counts[text]
        gained = tuple(known[text] for text, was in before.items() if not was and text in self._counts)
        lost = tuple(text for text, was in before.items() if was and text not in self._counts)
        for text in lost:
            del self.forwarded[text]
        self.forwarded.update((filter.text, filter) for filter in gained)
        return RowChange(gained, lost)

    def learn(self, statistics: Statistics) -> None:
        """Events are expected to be so: from the next merging on."""
        if isinstance(self._forwarding, MergingTable):
            self._forwarding.learn(statistics)

    def expect(self, gates: Mapping[str, RoutedFilter]) -> None:
        """Only events that match one of these will come from where the filters are forwarded to."""
        if isinstance(self._forwarding, MergingTable):
            self._forwarding.advertise([gate.form for gate in gates.values()])


# Whether some event could satisfy two filters: which subscriptions are worth telling to whoever advertises.


def intersects(a: Filter, b: Filter, schema: Schema) -> bool:
    """False only if no event satisfies both; True also where patterns or comparisons of attributes hide that.

    A subscription that is forwarded in vain costs a row; one that is not forwarded would cost events.
    """
    if () in a.conjuncts or () in b.conjuncts:  # TRUE
        return bool(a.conjuncts) and bool(b.conjuncts)
    return any(not Summary((*one, *other), schema).impossible for one in a.conjuncts for other in b.conjuncts)
