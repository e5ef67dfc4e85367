"""The space cut into zones, the zone with the most subscriptions next."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.lab.networks.regions import UNBOUNDED, Floats, Integers
from tamis.lab.networks.zone_kernels import LEAF, SPLIT


@dataclass(frozen=True)
class Splits:
    """A tree of cuts: points with `value < at` in its dimension go below a cut, all others above.

    `cuts[0]` is the root. Zone z is all points with `low[z] <= p < high[z]`; where the space ends, its end belongs to
    the zone. `zone_of` are the zones of the points that they were made for.
    """

    cuts: npt.NDArray[np.void]
    low: Floats
    high: Floats
    zone_of: Integers


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
    members: list[Integers] = [np.arange(len(points))]
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
