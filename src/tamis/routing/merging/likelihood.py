"""Likelihood: estimated share of events that match a conjunction, given statistics and advertisements."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from tamis.language.extents import NOTHING, Cut, Extent, everything, intersection, without
from tamis.language.forms import Filter
from tamis.language.predicates import Literal
from tamis.matching.base.statistics import AttributeStatistics, Statistics
from tamis.routing.covering.exact_values import settled
from tamis.routing.covering.summary import Summary
from tamis.schema import Attribute, EnumeratedDomain, HierarchicalDomain, Schema

# Selectivity of sets of values, attribute by attribute, estimated from past events.


class Shares:
    """Estimated share of events that have a value of an attribute in a set; attributes are taken as independent.

    Of an attribute that nothing is known of every event may have any value: a share that is too large makes no merger
    that forwards more than it may.
    """

    def __init__(self, schema: Schema, statistics: Statistics | None = None) -> None:
        known: Mapping[str, AttributeStatistics] = statistics.attributes if statistics is not None else {}
        self._known = {
            name: _Weights(about, schema.attributes[name]) for name, about in known.items() if name in schema.attributes
        }
        self._found: dict[tuple[str, Extent], float] = {}

    def of(self, name: str, extent: Extent) -> float:
        """Share of the events that have the attribute with a value in the set."""
        weights = self._known.get(name)
        if weights is None:
            return 1.0 if extent else 0.0
        key = (name, extent)
        found = self._found.get(key)
        if found is None:
            if len(self._found) > _REMEMBERED:
                self._found.clear()
            found = self._found[key] = weights.presence * weights.within(extent)
        return found

    def absent(self, name: str) -> float:
        """Share of the events that lack the attribute."""
        weights = self._known.get(name)
        return 1.0 if weights is None else max(1.0 - weights.presence, _UNSEEN)


_REMEMBERED = 200_000
_UNSEEN = 1e-12  # what no past event had may come all the same: it is not taken for impossible


class _Weights:
    """Known values of an attribute, ascending: frequent ones with their share, and others at even steps of rank, which
    share the remainder."""

    def __init__(self, about: AttributeStatistics, attribute: Attribute) -> None:
        self.presence = about.presence
        light = [value for value in about.quantiles if value not in about.heavy]
        left = max(0.0, 1.0 - sum(about.heavy.values()))
        weighed = [(_cut(value, attribute), share) for value, share in about.heavy.items()]
        weighed += [(_cut(value, attribute), left / len(light)) for value in light]
        weighed.sort()
        self._cuts = [cut for cut, _ in weighed]
        self._sums = [0.0, *accumulate(share for _, share in weighed)]

    def within(self, extent: Extent) -> float:
        """Share of values in a set; 1 for every set if no value is known."""
        if not self._cuts:
            return 1.0 if extent else 0.0
        cuts, sums = self._cuts, self._sums
        found = sum(sums[bisect_left(cuts, end)] - sums[bisect_left(cuts, start)] for start, end in extent)
        return min(1.0, max(found, _UNSEEN)) if extent else 0.0


def _cut(value: Any, attribute: Attribute) -> Cut:
    domain = attribute.domain
    if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
        position = domain.position(str(value))
        return (1, -1 if position is None else position, 0)
    return (1, int(value) if domain.kind in ("integer", "timestamp", "boolean") else value, 0)


MOST_BOXES = 2_000


@dataclass(frozen=True, slots=True)
class Side:
    """Condition of a box on one attribute: a value in the set; or, if `absent`, that or no value at all."""

    extent: Extent
    absent: bool = False


Box = Mapping[str, Side]


class Likelihood:
    """Estimated share of all events that satisfy a conjunction and match an advertisement.

    Without advertisements all of them come; with them, those that match one of them (Li, Hou and Jacobsen 2005, §5.4).
    Conditions that are no sets of values of a single-valued attribute are taken to hold: a share is never too small.
    """

    def __init__(self, schema: Schema, shares: Shares, advertised: Iterable[Filter] | None = None) -> None:
        self._schema, self._shares = schema, shares
        self._boxes: list[Box] | None = None
        if advertised is not None:
            self._boxes = [self.box(conjunct) for filter in advertised for conjunct in filter.conjuncts]

    def box(self, conjunct: Sequence[Literal]) -> Box:
        """Box of a conjunction: its condition on each attribute."""
        sides = {}
        for name, said in Summary(conjunct, self._schema).said.items():
            attribute = said.attribute
            if said.absent:
                sides[name] = Side(NOTHING, absent=True)
            elif not attribute.multiple:
                sides[name] = Side(said.values)
            else:
                sides[name] = Side(settled(everything(attribute), attribute))
        return sides

    def of(self, box: Box) -> float:
        """Share of the events that match an advertisement and lie in a box."""
        if self._boxes is None:
            return self._measure(box)
        return min(1.0, self._common(box, self._boxes, [MOST_BOXES]))

    def narrowed(self, box: Box, name: str, extent: Extent) -> Box:
        """Box with another set of values of one attribute."""
        return {**box, name: Side(extent)}

    def _measure(self, box: Box) -> float:
        share = 1.0
        for name, side in box.items():
            share *= self._shares.of(name, side.extent) + (self._shares.absent(name) if side.absent else 0.0)
            if not share:
                return 0.0
        return min(1.0, share)

    def _common(self, box: Box, boxes: Sequence[Box], left: list[int]) -> float:
        """Share of a box in the union of others: its part in the first, plus what lies outside that and in the rest."""
        left[0] -= 1
        if not boxes:
            return 0.0
        if left[0] < 0:
            return self._measure(box)
        first, rest = boxes[0], boxes[1:]
        inside = self._met(box, first)
        if inside is None:
            return self._common(box, rest, left)
        total = self._measure(inside)
        if not rest:
            return total
        outside = dict(box)
        for name, side in first.items():
            ours = outside.get(name, self._free(name))
            beyond = Side(without(ours.extent, side.extent), ours.absent and not side.absent)
            if beyond.extent or beyond.absent:
                total += self._common({**outside, name: beyond}, rest, left)
            outside[name] = Side(intersection(ours.extent, side.extent), ours.absent and side.absent)
        return total

    def _met(self, box: Box, other: Box) -> Box | None:
        met = dict(box)
        for name, side in other.items():
            ours = met.get(name, self._free(name))
            both = Side(intersection(ours.extent, side.extent), ours.absent and side.absent)
            if not both.extent and not both.absent:
                return None
            met[name] = both
        return met

    def _free(self, name: str) -> Side:
        attribute = self._schema.attributes[name]
        return Side(settled(everything(attribute), attribute), absent=True)
