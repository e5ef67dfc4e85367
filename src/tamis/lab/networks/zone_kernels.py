"""The way of a message through zones: greedily to the region, then from zone to zone within it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.arrays import Floats, Int64s
from tamis.compiled import bare_kernel, inlined_kernel
from tamis.lab.networks.trees import ROOT

LEAF = -1
SPLIT = np.dtype([("dimension", "i4"), ("at", "f8"), ("below", "i4"), ("above", "i4"), ("zone", "i4")])


class Zones(NamedTuple):
    """The arrays of a network of zones, for kernels.

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
    """The zone that a point of the space lies in."""
    here = 0
    while zones.cuts[here].dimension != LEAF:
        if point[zones.cuts[here].dimension] < zones.cuts[here].at:
            here = zones.cuts[here].below
        else:
            here = zones.cuts[here].above
    return zones.cuts[here].zone


@bare_kernel
def zones_at(zones: Any, points: Any, found: Any) -> None:
    """The zone of each point; points beyond the space count as at its end."""
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
    """The number of the link between neighbours; they are in ascending order."""
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
    """Goes to the zone of the target, always on to the neighbour nearest to it; zones that have the message stay."""
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
    """The neighbour within the box that hands the message on to a zone: every zone of a box works it out alike.

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
    """Brings the message to all zones that a box touches; that of the target has it."""
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
    """The tree of a message for a region, written to `way`; how many places it has.

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
