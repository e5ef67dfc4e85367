"""How likely events are, attribute by attribute, by what past events looked like."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from tamis.language.extents import Cut, Extent
from tamis.matching.statistics import AttributeStatistics, Statistics
from tamis.schema import Attribute, EnumeratedDomain, HierarchicalDomain, Schema


class Shares:
    """The share of events that have a value of an attribute in a set, attributes taken as independent.

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
        """How many events have the attribute, with a value in the set."""
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
        """How many events do not have the attribute."""
        weights = self._known.get(name)
        return 1.0 if weights is None else max(1.0 - weights.presence, _UNSEEN)


_REMEMBERED = 200_000
_UNSEEN = 1e-12  # what no past event had may come all the same: it is not taken for impossible


class _Weights:
    """The known values of an attribute, ascending: frequent ones with their share, and those at even steps of rank,
    which share what the frequent ones leave."""

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
        """The share of values in a set; all of them in every set if no value is known."""
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
