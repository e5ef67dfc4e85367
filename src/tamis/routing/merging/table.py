"""Merging table: a covering table whose forwarded filters include mergers of similar ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tamis.language.extents import Extent, everything, without
from tamis.language.forms import Filter
from tamis.language.predicates import sort_key
from tamis.matching.base.statistics import Statistics
from tamis.routing.covering.exact_values import settled
from tamis.routing.covering.summary import Said
from tamis.routing.merging.likelihood import Likelihood, Shares, Side
from tamis.routing.merging.rules import GroupKey, Groups, Merged, MergePolicy, Part, Rules, merge_group
from tamis.routing.standing import CoveringTable
from tamis.routing.standing.forwarding import Change, Telling
from tamis.schema import Schema


@dataclass(slots=True)
class Merger:
    """Filter that stands for its parts, which are standing filters that no other one covers.

    `vain`, what the threshold is held against: the share of events that match it and none of its parts, as far as is
    known beforehand; never too small. `degree`, how imperfect it is: the same as a share of the events that match it.
    """

    filter: Filter
    parts: dict[str, None]
    vain: float
    degree: float


class MergingTable:
    """Covering table in which mergers stand before their parts (Li, Hou and Jacobsen 2005, §5).

    A merger is a filter like the others, under an id that begins with `prefix`: what it covers stands behind it. It is
    cancelled when one of its parts is removed, which brings the others back, and when another filter covers it. Between
    two mergings new filters are forwarded as they are. Not for several threads at once.
    """

    def __init__(
        self,
        schema: Schema,
        policy: MergePolicy | None = None,
        statistics: Statistics | None = None,
        prefix: str = "merger-",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.schema, self.policy = schema, policy if policy is not None else MergePolicy()
        self.table = CoveringTable(schema)
        self.mergers: dict[str, Merger] = {}
        self.mergings = 0
        self._part_of: dict[str, str] = {}
        self._groups = Groups(self.table.index, self.policy.order, self.policy.every_side)
        self._prefix, self._made = prefix, 0
        self._shares = Shares(schema, statistics)
        self._advertised: list[Filter] | None = None
        self._likelihood = Likelihood(schema, self._shares)
        self._clock, self._last_time = clock, clock()
        self._changes = self._roots_after = 0

    def insert(self, id: str, filter: Filter) -> Change:
        """Inserts a filter; merging follows if the policy asks for it."""
        if id.startswith(self._prefix):
            raise ValueError(f"{id!r} could be a merger: ids that begin with {self._prefix!r} are kept for these")
        telling = Telling()
        self._put(id, filter, telling)
        self._changed(telling)
        return telling.change()

    def remove(self, id: str) -> Change:
        """Removes a filter; a merger that it is part of is cancelled, unless an equal filter takes its place."""
        if id in self.mergers:
            raise KeyError(id)
        telling = Telling()
        merger, twin = self._part_of.pop(id, None), self.table.twin(id)
        if merger is not None and twin is not None:
            del self.mergers[merger].parts[id]
            self.mergers[merger].parts[twin] = None
            self._part_of[twin] = merger
        elif merger is not None:
            self._cancel(merger, telling)
        self._take(id, telling)
        self._changed(telling)
        return telling.change()

    def merge(self) -> Change:
        """Merges now, regardless of the policy."""
        telling = Telling()
        self._merge(telling)
        return telling.change()

    def adopt(self, policy: MergePolicy) -> None:
        """Sets threshold, rules and times from the next merging on; existing mergers stay."""
        if (tuple(policy.order), policy.every_side) != (tuple(self.policy.order), self.policy.every_side):
            raise ValueError("which filters are compared with each other is fixed when a table is made")
        self.policy = policy
        self._groups.change_all()

    def learn(self, statistics: Statistics | None) -> None:
        """Sets the expected statistics of events from the next merging on; existing mergers stay."""
        self._shares = Shares(self.schema, statistics)
        self._expect()

    def advertise(self, filters: Iterable[Filter] | None) -> None:
        """Sets the advertisements expected from the next merging on (None: any event); existing mergers stay."""
        self._advertised = None if filters is None else list(filters)
        self._expect()

    def forwarded(self) -> Iterator[tuple[str, Filter]]:
        """Mergers, and filters that neither a merger nor another filter stands for."""
        return self.table.roots()

    @property
    def forwarded_count(self) -> int:
        return self.table.root_count

    def __contains__(self, id: object) -> bool:
        return id in self.table and id not in self.mergers

    def __len__(self) -> int:
        return len(self.table) - len(self.mergers)

    def _expect(self) -> None:
        self._likelihood = Likelihood(self.schema, self._shares, self._advertised)
        self._groups.change_all()

    def _changed(self, telling: Telling) -> None:
        self._changes += 1
        elapsed = self._clock() - self._last_time if self.policy.period is not None else 0.0
        if self.policy.asks(self._changes, elapsed, self.table.root_count, self._roots_after):
            self._merge(telling)

    def _put(self, id: str, filter: Filter, telling: Telling) -> bool:
        """Inserts a filter or a merger; returns True if it is a root."""
        told = self.table.insert(id, filter)
        if not told.root:
            return False
        self._appear(id, telling)
        for covered in told.covers:
            self._disappear(covered, telling)
            if covered in self.mergers:
                self._cancel(covered, telling)
        return True

    def _take(self, id: str, telling: Telling) -> None:
        told = self.table.remove(id)
        if told.root:
            self._disappear(id, telling)
        for uncovered in told.uncovered:
            self._appear(uncovered, telling)

    def _appear(self, id: str, telling: Telling) -> None:
        telling.subscribe(id, self.table[id])
        terms = self.table.terms(id)
        if terms is not None:
            self._groups.add(id, terms)

    def _disappear(self, id: str, telling: Telling) -> None:
        telling.unsubscribe(id)
        self._groups.remove(id)

    def _cancel(self, id: str, telling: Telling) -> None:
        for part in self.mergers.pop(id).parts:
            self._part_of.pop(part, None)
        self._take(id, telling)

    def _merge(self, telling: Telling) -> None:
        while self._groups.changed:
            key = next(iter(self._groups.changed))
            del self._groups.changed[key]
            for merged in self._mergers_of(key):
                self._make(key, merged, telling)
        self.mergings += 1
        self._changes, self._roots_after, self._last_time = 0, self.table.root_count, self._clock()

    def _mergers_of(self, key: GroupKey) -> list[Merged]:
        index, members = self.table.index, self._groups.members(key)
        parts = []
        for name, term in members.items():
            said = index[term].said
            assert said is not None
            extent = _mergeable(said)
            if extent is not None:
                parts.append(Part(name, extent, self.mergers[name].vain if name in self.mergers else 0.0))
            attribute = said.attribute
        if len(parts) < 2:
            return []
        if not self.policy.imt and self._advertised is None:
            return merge_group(parts, attribute, self.policy.rules & Rules.LISTS, 0.0, _all, _all)
        box = self._likelihood.box([literal for term in key[1] for literal in index[term].literals])
        whole = settled(everything(attribute), attribute)

        def vain(extent: Extent) -> float:
            # Of several values each may be the one: what is known of values says little of events.
            admitted = whole if attribute.multiple and extent else extent
            return self._likelihood.of(self._likelihood.narrowed(box, attribute.name, admitted))

        def outside(extent: Extent) -> float:
            side = Side(whole if attribute.multiple else without(whole, extent), absent=True)
            return self._likelihood.of({**box, attribute.name: side})

        return merge_group(parts, attribute, self.policy.rules, self.policy.imt, vain, outside)

    def _make(self, key: GroupKey, merged: Merged, telling: Telling) -> None:
        """Puts a merger before its parts; parts that are mergers themselves give way to their own parts."""
        index = self.table.index
        literals = [literal for term in key[1] for literal in index[term].literals]
        if merged.leaf is not None:
            literals.append(merged.leaf)
        filter = Filter((tuple(sorted(literals, key=sort_key)),))
        parts: dict[str, None] = {}
        for name in merged.names:
            if name in self.mergers:
                parts |= self.mergers[name].parts
            else:
                parts[name] = None
        self._made += 1
        id = f"{self._prefix}{self._made}"
        # What it covers is cancelled on its way in, older mergers among its parts included.
        if not self._put(id, filter, telling):
            self.table.remove(id)
            return
        matched = self._likelihood.of(self._likelihood.box(literals)) if merged.vain else 1.0
        degree = min(1.0, merged.vain / matched) if matched else 0.0
        self.mergers[id] = Merger(filter, parts, merged.vain, degree)
        self._part_of.update(dict.fromkeys(parts, id))


def _mergeable(said: Said) -> Extent | None:
    """Values that a predicate admits; None if it has other conditions as well."""
    if said.absent or said.patterns:
        return None
    if not said.attribute.multiple:
        return said.values
    whole = settled(everything(said.attribute), said.attribute)
    return said.some[0] if said.values == whole and len(set(said.some)) == 1 else None


def _all(_: Extent) -> float:
    return 1.0
