"""Zones with their neighbours, owners and subscriptions."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tamis.arrays import Bools, Floats, Int64s
from tamis.lab.networks.regions import UNBOUNDED, Regions
from tamis.lab.networks.trees import Tree, Way, by_node, tree_of, way_for
from tamis.lab.networks.zone_kernels import LEAF, SPLIT, Zones, spread, zones_at

# The space cut into zones, the zone with the most subscriptions next.


@dataclass(frozen=True)
class Splits:
    """A tree of cuts: points with `value < at` in its dimension go below a cut, all others above.

    `cuts[0]` is the root. Zone z is all points with `low[z] <= p < high[z]`; where the space ends, its end belongs to
    the zone. `zone_of` are the zones of the points that they were made for.
    """

    cuts: npt.NDArray[np.void]
    low: Floats
    high: Floats
    zone_of: Int64s


def bounds_of(points: Floats) -> tuple[Floats, Floats]:
    """A space with all coordinates strictly inside but those without bounds, which count as at its end."""
    finite = np.abs(points) < UNBOUNDED
    least = np.where(finite, points, np.inf).min(axis=0, initial=np.inf)
    most = np.where(finite, points, -np.inf).max(axis=0, initial=-np.inf)
    none = least > most
    least[none], most[none] = 0.0, 0.0
    margin = np.maximum(1.0, (most - least) * 1e-6)
    return least - margin, most + margin


def split(points: Floats, load: Floats, zones: int, low: Floats, high: Floats) -> Splits:
    """So many zones of the space from `low` to `high`, about as much load in each (App. A).

    `load` is what each point weighs. The zone with the greatest load is cut next, at the median in the next dimension
    that its points differ in, the dimensions taking turns as in CAN; one whose points are all alike is cut in the
    middle where it is widest.
    """
    clipped = points.clip(low, high)
    cuts = np.zeros(2 * zones - 1, SPLIT)
    cuts["dimension"] = LEAF
    boxes = [(low, high)]
    members: list[Int64s] = [np.arange(len(points))]
    turns, place_of = [0], [0]
    heap = [(-float(load.sum()), 0)]
    used = 1
    while len(boxes) < zones:
        _, zone = heapq.heappop(heap)
        start, stop = boxes[zone]
        dimension, at = _cut(clipped[members[zone]], load[members[zone]], start, stop, turns[zone])
        here, other = place_of[zone], len(boxes)
        cuts[here] = (dimension, at, used, used + 1, -1)
        middle, middle_low = stop.copy(), start.copy()
        middle[dimension] = middle_low[dimension] = at
        below = clipped[members[zone], dimension] < at
        boxes[zone] = (start, middle)
        boxes.append((middle_low, stop))
        members.append(members[zone][~below])
        members[zone] = members[zone][below]
        turns[zone] = dimension + 1
        turns.append(dimension + 1)
        place_of[zone] = used
        place_of.append(used + 1)
        used += 2
        for one in (zone, other):
            heapq.heappush(heap, (-float(load[members[one]].sum()), one))
    cuts["zone"][place_of] = np.arange(zones)
    zone_of = np.empty(len(points), np.int64)
    for zone, some in enumerate(members):
        zone_of[some] = zone
    return Splits(cuts, np.array([box[0] for box in boxes]), np.array([box[1] for box in boxes]), zone_of)


def _cut(points: Floats, load: Floats, low: Floats, high: Floats, turn: int) -> tuple[int, float]:
    """In which dimension to cut a zone, and where: strictly inside it."""
    for step in range(len(low)):
        dimension = (turn + step) % len(low)
        values = points[:, dimension]
        if not len(values):
            break
        at = _median(values, load)
        if at <= values.min():
            above = values[values > at]
            if not len(above):
                continue
            at = float(above.min())
        if low[dimension] < at < high[dimension]:
            return dimension, at
    dimension = int(np.argmax(high - low))
    return dimension, float((low[dimension] + high[dimension]) / 2)


def _median(values: Floats, load: Floats) -> float:
    """A value with about half of the load below it."""
    if load.min() == load.max():
        return float(np.partition(values, len(values) // 2)[len(values) // 2])
    order = np.argsort(values, kind="stable")
    below = np.cumsum(load[order])
    return float(values[order[min(len(values) - 1, int(np.searchsorted(below, below[-1] / 2, side="right")))]])


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

    def __init__(self, points: Floats, nodes: int, there: Bools | None = None, load: Floats | None = None) -> None:
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
        self.node_of: Int64s = np.full(len(points), -1, np.int64)
        self.node_of[wanted] = splits.zone_of
        self.points, self.numbers, self.first = by_node(points, self.node_of, nodes)

    @property
    def arrays(self) -> Zones:
        return self._zones

    @property
    def zones(self) -> tuple[Floats, Floats]:
        """Low and high corners of the zones."""
        return self._zones.low, self._zones.high

    def neighbours(self, node: int) -> Int64s:
        """By the number of the link to each."""
        return self._zones.neighbour[self._zones.first[node] : self._zones.first[node + 1]]

    def node_at(self, points: Floats) -> Int64s:
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


def _neighbours(low: Floats, high: Floats) -> tuple[Int64s, Int64s]:
    """For each zone those that abut it in one dimension and overlap it in all others, ascending."""
    found = []
    for zone in range(len(low)):
        overlaps = (low[zone] < high) & (low < high[zone])
        abuts = (low[zone] == high) | (low == high[zone])
        found.append(np.flatnonzero((overlaps.sum(axis=1) == low.shape[1] - 1) & (abuts & ~overlaps).any(axis=1)))
    first = np.concatenate([[0], np.cumsum([len(some) for some in found])]).astype(np.int64)
    return first, np.concatenate(found).astype(np.int64)
