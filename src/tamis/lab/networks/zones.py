"""Content-addressable network (CAN): zones of the subscription space, their neighbours, and routing from zone to
zone."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.arrays import Bools, Floats, Int64s
from tamis.compiled import bare_kernel, inlined_kernel
from tamis.lab.networks.links import ROOT, UNBOUNDED, Regions, SpreadTree, Way, by_node, tree_of, way_for

# Routing: greedily to the region, then from zone to zone within it.

LEAF = -1
SPLIT = np.dtype([("dimension", "i4"), ("at", "f8"), ("below", "i4"), ("above", "i4"), ("zone", "i4")])


class Zones(NamedTuple):
    """Arrays of a network of zones, for kernels.

    `neighbour[first[z]:first[z + 1]]` are the zones that share a face with zone z; the place of one in it is the number
    of the link to it. `scale` is the width of the space in each dimension. `home` has the point at which messages come
    in. `target`, `chain` and `box_of` are scratch.
    """

    cuts: npt.NDArray[np.void]
    low: Floats
    high: Floats
    first: Int64s
    neighbour: Int64s
    space_low: Floats
    space_high: Floats
    scale: Floats
    home: Floats
    target: Floats
    step: Floats
    chain: Int64s


@inlined_kernel
def zone_at(zones: Any, point: Any) -> int:
    """Zone of a point of the space."""
    here = 0
    while zones.cuts[here].dimension != LEAF:
        if point[zones.cuts[here].dimension] < zones.cuts[here].at:
            here = zones.cuts[here].below
        else:
            here = zones.cuts[here].above
    return zones.cuts[here].zone


@bare_kernel
def zones_at(zones: Any, points: Any, found: Any) -> None:
    """Zones of points; points beyond the space count as at its end."""
    for p in range(len(points)):
        for d in range(len(zones.target)):
            zones.target[d] = min(max(points[p, d], zones.space_low[d]), zones.space_high[d])
        found[p] = zone_at(zones, zones.target)


@inlined_kernel
def _reach(way: Any, zone: int, parent: int, link: int, count: int) -> int:
    way.node[count] = zone
    way.parent[count] = parent
    way.link[count] = link
    way.seen[zone] = way.stamp[0]
    way.place[zone] = count
    return count + 1


@inlined_kernel
def _link(zones: Any, zone: int, other: int) -> int:
    """Number of the link between neighbours; they are in ascending order."""
    low, high = zones.first[zone], zones.first[zone + 1]
    while high - low > 1:
        middle = (low + high) >> 1
        if zones.neighbour[middle] <= other:
            low = middle
        else:
            high = middle
    return low - zones.first[zone]


@inlined_kernel
def _distance(zones: Any, zone: int) -> float:
    """Distance of the target from a zone: the sum over dimensions, each as a share of the space."""
    total = 0.0
    for d in range(len(zones.target)):
        value = zones.target[d]
        if value < zones.low[zone, d]:
            total += (zones.low[zone, d] - value) / zones.scale[d]
        elif value >= zones.high[zone, d] and zones.high[zone, d] < zones.space_high[d]:
            # The end of a zone is not its own, though no distance away.
            total += (value - zones.high[zone, d]) / zones.scale[d] + 1e-12
    return total


@bare_kernel
def _approach(zones: Any, way: Any, zone: int, count: int) -> int:
    """Routes to the zone of the target, always to the neighbour nearest to it; zones that have the message are
    skipped."""
    goal = zone_at(zones, zones.target)
    while zone != goal:
        nearest, best = 0, np.inf
        for k in range(zones.first[zone], zones.first[zone + 1]):
            distance = _distance(zones, zones.neighbour[k])
            if distance < best:
                nearest, best = k, distance
        following = zones.neighbour[nearest]
        if way.seen[following] != way.stamp[0]:
            count = _reach(way, following, way.place[zone], nearest - zones.first[zone], count)
        zone = following
    return count


@inlined_kernel
def _before(zones: Any, zone: int, box_low: Any, box_high: Any, box: int) -> int:
    """Neighbour within the box that hands the message on to a zone: every zone of a box computes it alike.

    From the zone's point nearest to the target within the box, one step over the zone's face towards the target, in the
    dimension in which it is farthest. The step stays in the box, since box and target do, and comes nearer.
    """
    farthest, distance = 0, -1.0
    for d in range(len(zones.target)):
        value = zones.target[d]
        least, most = max(zones.low[zone, d], box_low[box, d]), min(zones.high[zone, d], box_high[box, d])
        if zones.high[zone, d] < zones.space_high[d] and most >= zones.high[zone, d]:
            most = np.nextafter(zones.high[zone, d], -np.inf)
        here = min(max(value, least), most)
        zones.step[d] = here
        if here != value and abs(value - here) / zones.scale[d] > distance:
            farthest, distance = d, abs(value - here) / zones.scale[d]
    if zones.target[farthest] > zones.step[farthest]:
        zones.step[farthest] = zones.high[zone, farthest]
    else:
        zones.step[farthest] = np.nextafter(zones.low[zone, farthest], -np.inf)
    return zone_at(zones, zones.step)


@bare_kernel
def _flood(zones: Any, way: Any, box_low: Any, box_high: Any, box: int, count: int) -> int:
    """Routes the message to all zones that a box touches; that of the target has it already."""
    depth = 1
    way.stack[0] = 0
    while depth > 0:
        depth -= 1
        cut = way.stack[depth]
        dimension = zones.cuts[cut].dimension
        if dimension != LEAF:
            if box_high[box, dimension] >= zones.cuts[cut].at:
                way.stack[depth] = zones.cuts[cut].above
                depth += 1
            if box_low[box, dimension] < zones.cuts[cut].at:
                way.stack[depth] = zones.cuts[cut].below
                depth += 1
            continue
        zone = zones.cuts[cut].zone
        length = 0
        while way.seen[zone] != way.stamp[0]:
            zones.chain[length] = zone
            length += 1
            zone = _before(zones, zone, box_low, box_high, box)
        for k in range(length - 1, -1, -1):
            following = zones.chain[k]
            count = _reach(way, following, way.place[zone], _link(zones, zone, following), count)
            zone = following
    return count


@bare_kernel
def spread(zones: Any, first: Any, low: Any, high: Any, region: int, box_low: Any, box_high: Any, way: Any) -> int:
    """Computes the tree of a message for a region, into `way`; returns the number of its places.

    `box_low` and `box_high` are room for one box, clipped to the space. A region without boxes goes nowhere.
    """
    way.stamp[0] += 1
    home = zone_at(zones, zones.home)
    count = _reach(way, home, ROOT, 0, 0)
    for box in range(first[region], first[region + 1]):
        empty = False
        for d in range(len(zones.target)):
            empty = empty or low[box, d] > high[box, d]
            box_low[0, d] = min(max(low[box, d], zones.space_low[d]), zones.space_high[d])
            box_high[0, d] = min(max(high[box, d], zones.space_low[d]), zones.space_high[d])
            zones.target[d] = min(max(zones.home[d], box_low[0, d]), box_high[0, d])
        if not empty:
            count = _approach(zones, way, home, count)
            count = _flood(zones, way, box_low, box_high, 0, count)
    return count


# Zones: the space is cut where the most subscriptions are.


@dataclass(frozen=True)
class Splits:
    """Binary tree of cuts: points with `value < at` in its dimension go below a cut, all others above.

    `cuts[0]` is the root. Zone z is all points with `low[z] <= p < high[z]`; where the space ends, its end belongs to
    the zone. `zone_of` are the zones of the points that they were made for.
    """

    cuts: npt.NDArray[np.void]
    low: Floats
    high: Floats
    zone_of: Int64s


def bounds_of(points: Floats) -> tuple[Floats, Floats]:
    """Bounds of a space with all coordinates strictly inside but infinite ones, which count as at its end."""
    finite = np.abs(points) < UNBOUNDED
    least = np.where(finite, points, np.inf).min(axis=0, initial=np.inf)
    most = np.where(finite, points, -np.inf).max(axis=0, initial=-np.inf)
    none = least > most
    least[none], most[none] = 0.0, 0.0
    margin = np.maximum(1.0, (most - least) * 1e-6)
    return least - margin, most + margin


def split(points: Floats, load: Floats, zones: int, low: Floats, high: Floats) -> Splits:
    """Cuts the space from `low` to `high` into zones of about equal load (App. A).

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
    """Dimension and place at which to cut a zone: strictly inside it."""
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
    """Value with about half of the load below it."""
    if load.min() == load.max():
        return float(np.partition(values, len(values) // 2)[len(values) // 2])
    order = np.argsort(values, kind="stable")
    below = np.cumsum(load[order])
    return float(values[order[min(len(values) - 1, int(np.searchsorted(below, below[-1] / 2, side="right")))]])


class ZoneNetwork:
    """CAN in which each node owns one zone of the space and the subscriptions in it.

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
        """Neighbours by the number of the link to each."""
        return self._zones.neighbour[self._zones.first[node] : self._zones.first[node + 1]]

    def node_at(self, points: Floats) -> Int64s:
        """Node that is responsible for subscriptions at these points."""
        found = np.empty(len(points), np.int64)
        zones_at(self._zones, np.ascontiguousarray(points, np.float64), found)
        return found

    def spread(self, regions: Regions, region: int) -> SpreadTree:
        box = np.empty((2, 1, regions.dimensions))
        return tree_of(self._way, spread(self._zones, *regions.arrays, region, box[0], box[1], self._way))

    @cached_property
    def _way(self) -> Way:
        return way_for(self.nodes)


def _neighbours(low: Floats, high: Floats) -> tuple[Int64s, Int64s]:
    """Neighbours of each zone: those that abut it in one dimension and overlap it in all others, ascending."""
    found = []
    for zone in range(len(low)):
        overlaps = (low[zone] < high) & (low < high[zone])
        abuts = (low[zone] == high) | (low == high[zone])
        found.append(np.flatnonzero((overlaps.sum(axis=1) == low.shape[1] - 1) & (abuts & ~overlaps).any(axis=1)))
    first = np.concatenate([[0], np.cumsum([len(some) for some in found])]).astype(np.int64)
    return first, np.concatenate(found).astype(np.int64)
