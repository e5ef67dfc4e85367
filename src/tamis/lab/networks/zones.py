"""Zones with their neighbours, owners and subscriptions."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tamis.lab.networks.regions import Floats, Integers, Mask, Regions
from tamis.lab.networks.splitting import bounds_of, split
from tamis.lab.networks.trees import Tree, Way, by_node, tree_of, way_for
from tamis.lab.networks.zone_kernels import Zones, spread, zones_at


class ZoneNetwork:
    """A CAN of so many nodes, each the owner of one zone of the space and of the subscriptions in it.

    See Chandramouli & Yang 2008, App. A.

    Node z owns zone z; a node knows the zones that share a face with its own. Messages come in at `home`, the node
    whose zone has the subscription to everything (all low ends least, all high ends most), which lies in the region of
    every message that says only what ranges hold. A message goes to the region's point nearest to there greedily, then
    to every zone that the region touches, by a rule that each zone can apply alone: no zone gets it twice. Nodes know
    nothing of a message beside its region, so it comes to zones whose subscriptions do not want it, too.

    Points that are not `there` are no subscriptions, and get no node. `load` is what each weighs when the space is cut
    into zones of equal load: one, or more for those that get more messages. Zones stay as they are made.
    """

    def __init__(self, points: Floats, nodes: int, there: Mask | None = None, load: Floats | None = None) -> None:
        wanted = np.ones(len(points), np.bool_) if there is None else there
        low, high = bounds_of(points[wanted])
        weights = np.ones(len(points)) if load is None else load
        splits = split(points[wanted], weights[wanted], nodes, low, high)
        self.nodes = nodes
        first, neighbour = _neighbours(splits.low, splits.high)
        corner = np.where(np.arange(points.shape[1]) % 2 == 0, low, high)
        dimensions = points.shape[1]
        self._zones = Zones(
            splits.cuts.view(np.recarray), splits.low, splits.high, first, neighbour, low, high, high - low, corner,
            np.zeros(dimensions), np.zeros(dimensions), np.zeros(nodes, np.int64),
        )  # fmt: skip
        self.links = int(np.diff(first).max(initial=0))
        self.home = int(self.node_at(corner[None])[0])
        self.node_of: Integers = np.full(len(points), -1, np.int64)
        self.node_of[wanted] = splits.zone_of
        self.points, self.numbers, self.first = by_node(points, self.node_of, nodes)

    @property
    def arrays(self) -> Zones:
        return self._zones

    @property
    def zones(self) -> tuple[Floats, Floats]:
        """Low and high corners of the zones."""
        return self._zones.low, self._zones.high

    def neighbours(self, node: int) -> Integers:
        """By the number of the link to each."""
        return self._zones.neighbour[self._zones.first[node] : self._zones.first[node + 1]]

    def node_at(self, points: Floats) -> Integers:
        """The node that is responsible for subscriptions at these points."""
        found = np.empty(len(points), np.int64)
        zones_at(self._zones, np.ascontiguousarray(points, np.float64), found)
        return found

    def spread(self, regions: Regions, region: int) -> Tree:
        box = np.empty((2, 1, regions.dimensions))
        return tree_of(self._way, spread(self._zones, *regions.arrays, region, box[0], box[1], self._way))

    @cached_property
    def _way(self) -> Way:
        return way_for(self.nodes)


def _neighbours(low: Floats, high: Floats) -> tuple[Integers, Integers]:
    """For each zone those that abut it in one dimension and overlap it in all others, ascending."""
    found = []
    for zone in range(len(low)):
        overlaps = (low[zone] < high) & (low < high[zone])
        abuts = (low[zone] == high) | (low == high[zone])
        found.append(np.flatnonzero((overlaps.sum(axis=1) == low.shape[1] - 1) & (abuts & ~overlaps).any(axis=1)))
    first = np.concatenate([[0], np.cumsum([len(some) for some in found])]).astype(np.int64)
    return first, np.concatenate(found).astype(np.int64)
