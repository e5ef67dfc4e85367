"""Stabbing-set index of a group of subscriptions: intervals in clusters, each with an anchor; members come and go."""

from __future__ import annotations

import numpy as np

from tamis.arrays import Floats, Int64s
from tamis.joins.index.ranges import Records
from tamis.joins.index.stabbing_kernels import AHEAD, CLUSTER, CLUSTERS, JOURNAL, WRITTEN, Stabbing, partition
from tamis.joins.index.tables import OrderedIndex, entries_of

_SLACK = 16
_BOUNDS = 4096


class StabbingIndex:
    """Members (subscriptions of a group), rectangles in clusters by filter interval (Chandramouli & Yang 2008, §3.1.1).

    Departs: a cluster's rectangles are not in an R-tree. They stand in order of their low ends, and again of their high
    ends: those that a point reaches are the first ones, whatever the order of the rest, and of these a fixed share
    holds the row's base value. Members whose intervals are empty can never be affected and are left out.

    A member that comes joins a cluster whose anchor it holds, else founds one. When there are twice as many clusters as
    the last partition needed, or as many changes as members, all are partitioned anew.
    """

    def __init__(self) -> None:
        self._filter_low = self._filter_high = self._base_low = self._base_high = np.empty(0)
        self._cluster: Int64s = np.empty(0, np.int64)  # of each number; -1: not a member
        self._count: Int64s = np.empty(0, np.int64)  # of members, by cluster
        self._free: list[int] = []
        self._anchors = np.empty(0)
        self._clusters: Records = np.recarray(0, CLUSTER)
        self._counters: Int64s = np.zeros(2, np.int64)
        self._journal = np.zeros((JOURNAL, 5))
        self._written = 0
        self._build()

    def __len__(self) -> int:
        return self._members

    @property
    def clusters(self) -> int:
        """Number of clusters (τ)."""
        return int(self.arrays.counters[CLUSTERS])

    def cluster_of(self, number: int) -> float:
        """Anchor of a member's cluster."""
        position = np.flatnonzero(self.arrays.clusters["there"][: self.clusters] == self._cluster[number])
        return float(self.arrays.anchors[position[0]])

    def add(self, numbers: Int64s, filters: tuple[Floats, Floats], bases: tuple[Floats, Floats]) -> None:
        """Adds members: numbers, filter intervals and base intervals, low and high ends."""
        there = (filters[0] <= filters[1]) & (bases[0] <= bases[1])
        numbers = numbers[there]
        if not len(numbers):
            return
        self._make_room(int(numbers.max()) + 1)
        self._filter_low[numbers], self._filter_high[numbers] = filters[0][there], filters[1][there]
        self._base_low[numbers], self._base_high[numbers] = bases[0][there], bases[1][there]
        self._note(numbers, 1.0)
        self._members += len(numbers)
        if len(numbers) > self._members // 4:
            self._cluster[numbers] = 0  # until they are partitioned
            self._build()
            return
        for number in numbers.tolist():
            self._cluster[number] = self._cluster_for(self._filter_low[number], self._filter_high[number])
            self._look_ahead(self._filter_low[number], self._filter_high[number])
        self._enter(numbers)
        self._repartition_if_due(len(numbers))

    def remove(self, numbers: Int64s) -> None:
        numbers = numbers[numbers < len(self._cluster)]
        numbers = numbers[self._cluster[numbers] >= 0]
        if not len(numbers):
            return
        self._note(numbers, 0.0)
        clusters = self._cluster[numbers]
        self._by_low.remove(entries_of(clusters, self._filter_low[numbers], numbers))
        self._by_high.remove(entries_of(clusters, -self._filter_high[numbers], numbers))
        self._cluster[numbers] = -1
        self._members -= len(numbers)
        np.subtract.at(self._count, clusters, 1)
        for cluster in np.unique(clusters).tolist():
            if self._count[cluster] == 0:
                self._dissolve(cluster)
        self._expose()
        self._repartition_if_due(len(numbers))

    def _cluster_for(self, low: float, high: float) -> int:
        count = self.clusters
        position = int(np.searchsorted(self._anchors[:count], low))
        if position < count and self._anchors[position] <= high:
            cluster = int(self._clusters["there"][position])
        else:
            cluster = self._found(position, high)
        self._count[cluster] += 1
        lowest, highest = self._clusters["lowest"], self._clusters["highest"]
        lowest[cluster], highest[cluster] = min(lowest[cluster], low), max(highest[cluster], high)
        return cluster

    def _look_ahead(self, low: float, high: float) -> None:
        """Notes one more member that ends at `high`, for all bounds that it lies above. Removals are not noticed."""
        bounds, least = self._ahead["bound"], self._ahead["least"]
        stop = int(np.searchsorted(bounds, low, side="right"))
        # Ends ascend with the bounds, so those above `high` are the last ones.
        start = int(np.searchsorted(least[:stop], high))
        least[start:stop] = high

    def _found(self, position: int, anchor: float) -> int:
        """Founds a new cluster, with its anchor at a position among the others."""
        count = self.clusters
        if count == len(self._anchors):
            more = count + _SLACK
            self._anchors = np.concatenate([self._anchors, np.zeros(more)])
            self._clusters = np.concatenate([self._clusters, np.zeros(more, CLUSTER)]).view(np.recarray)
            self._free += range(len(self._count) + more - 1, len(self._count) - 1, -1)
            self._count = np.concatenate([self._count, np.zeros(more, np.int64)])
        cluster = self._free.pop()
        there = self._clusters["there"]
        self._anchors[position + 1 : count + 1] = self._anchors[position:count]
        there[position + 1 : count + 1] = there[position:count]
        self._anchors[position], there[position], self._count[cluster] = anchor, cluster, 0
        self._clusters["lowest"][cluster], self._clusters["highest"][cluster] = np.inf, -np.inf
        self._counters[CLUSTERS] = count + 1
        self._expose()
        return cluster

    def _dissolve(self, cluster: int) -> None:
        count = self.clusters
        there = self._clusters["there"]
        position = int(np.flatnonzero(there[:count] == cluster)[0])
        self._anchors[position : count - 1] = self._anchors[position + 1 : count]
        there[position : count - 1] = there[position + 1 : count]
        self._counters[CLUSTERS] = count - 1
        self._free.append(cluster)

    def _enter(self, numbers: Int64s) -> None:
        low, high = self._entries(numbers)
        self._by_low.insert(low)
        self._by_high.insert(high)
        self._expose()

    def _entries(self, numbers: Int64s) -> tuple[Records, Records]:
        bases = self._base_low[numbers], self._base_high[numbers]
        low, high, clusters = self._filter_low[numbers], self._filter_high[numbers], self._cluster[numbers]
        return entries_of(clusters, low, numbers, high, *bases), entries_of(clusters, -high, numbers, low, *bases)

    def _repartition_if_due(self, changes: int) -> None:
        self._changes += changes
        if self._changes > self._members + JOURNAL or self.clusters > 2 * self._partitioned + _SLACK:
            self._build()

    def _build(self) -> None:
        """Partitions all members."""
        numbers = np.flatnonzero(self._cluster >= 0)
        low, high = self._filter_low[numbers], self._filter_high[numbers]
        anchors, clusters = np.empty(len(numbers)), np.empty(len(numbers), np.int64)
        count = int(partition(low, high, np.argsort(high, kind="stable"), clusters, anchors))
        self._members, self._changes, self._partitioned = len(numbers), 0, count
        self._cluster[numbers] = clusters
        room = count + _SLACK
        self._anchors = np.concatenate([anchors[:count], np.zeros(_SLACK)])
        self._clusters = np.recarray(room, CLUSTER)
        self._clusters["there"] = np.arange(room)
        self._clusters["lowest"], self._clusters["highest"] = np.inf, -np.inf
        np.minimum.at(self._clusters["lowest"], clusters, low)
        np.maximum.at(self._clusters["highest"], clusters, high)
        self._count = np.bincount(clusters, minlength=room).astype(np.int64)
        self._free = list(range(room - 1, count - 1, -1))
        self._by_low, self._by_high = (OrderedIndex.of(entries) for entries in self._entries(numbers))
        self._ahead = _ahead(low, high)
        self._counters = np.array([count, self._written], np.int64)
        self._expose()

    def _expose(self) -> None:
        self._counters[WRITTEN] = self._written
        self.arrays = Stabbing(
            self._anchors, self._clusters, self._by_low.arrays, self._by_high.arrays, self._ahead, self._journal,
            self._counters,
        )  # fmt: skip

    def _note(self, numbers: Int64s, added: float) -> None:
        """Writes changes into the journal; if there are more than it holds, only their count."""
        last = numbers[-JOURNAL:]
        places = (self._written + len(numbers) - len(last) + np.arange(len(last))) % JOURNAL
        self._journal[places, 0], self._journal[places, 1] = self._filter_low[last], self._filter_high[last]
        self._journal[places, 2], self._journal[places, 3] = self._base_low[last], self._base_high[last]
        self._journal[places, 4] = added
        self._written += len(numbers)

    def _make_room(self, numbers: int) -> None:
        more = max(numbers, len(self._cluster) * 3 // 2) - len(self._cluster)
        if numbers <= len(self._cluster):
            return
        self._cluster = np.concatenate([self._cluster, np.full(more, -1, np.int64)])
        for name in ("_filter_low", "_filter_high", "_base_low", "_base_high"):
            setattr(self, name, np.concatenate([getattr(self, name), np.zeros(more)]))


def _ahead(low: Floats, high: Floats) -> Records:
    """Bounds that cut the members into parts of about one size, by their low ends."""
    order = np.argsort(low, kind="stable")
    starts = np.linspace(0, len(low), min(_BOUNDS, len(low)) + 1, dtype=np.int64)[:-1]
    ahead = np.recarray(max(1, len(starts)), AHEAD)
    ahead["bound"], ahead["least"] = -np.inf, np.inf
    if len(starts):
        least = np.minimum.accumulate(high[order][::-1])[::-1]
        # Several members may have one low end: the first of them stands for all.
        bounds = low[order][starts]
        ahead["bound"], ahead["least"] = bounds, least[np.searchsorted(low[order], bounds)]
        ahead["bound"][0] = -np.inf
    return ahead
