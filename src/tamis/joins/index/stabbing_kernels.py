"""Stabbing-set kernels: greedy partition of intervals into clusters, and search for those that rows reach or miss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tamis.arrays import Floats, Int64s
from tamis.compiled import bare_kernel, inlined_kernel
from tamis.joins.index.kernels import LAST_ITEM, LEAST_ITEM, PLACES, Ordered, find
from tamis.joins.index.ranges import Records
from tamis.matching.base.flat_arrays import first_above

CLUSTERS, WRITTEN = range(2)
CLUSTER = np.dtype([("there", "i8"), ("lowest", "f8"), ("highest", "f8")])
AHEAD = np.dtype([("bound", "f8"), ("least", "f8")])
FOUND = np.dtype([("number", "i8"), ("low", "f8"), ("high", "f8")])
JOURNAL = 4096  # changes remembered; a reader further behind looks at everything again


class Stabbing(NamedTuple):
    """The arrays of a stabbing-set index of a group, for kernels.

    A member is a rectangle: its interval of the filter (what is stabbed) by its interval of the base. `anchors` are in
    order, `counters[CLUSTERS]` of them; `clusters[k].there` is the cluster of the k-th, while `lowest` and `highest`,
    by cluster, bound the filter intervals of its members. `by_low` has an entry a member: its cluster, the low end of
    its filter interval, its number; beside them the high end, and the base interval. `by_high` is the same from the
    other end: minus the high end, beside it the low end and the base interval.

    `ahead[k].least` is no more than the high end of any member whose low end is `ahead[k].bound` or above, for
    ascending bounds the first of which is minus infinity: a glance that tells most gaps to be too narrow for anybody.

    The last changes stand in `journal`, at their number modulo its length: the filter interval, the base interval, and
    1 for a member added, 0 for one removed. `counters[WRITTEN]` numbers the next.
    """

    anchors: Floats
    clusters: Records
    by_low: Ordered
    by_high: Ordered
    ahead: Records
    journal: Floats
    counters: Int64s


@bare_kernel
def partition(low: Any, high: Any, order: Any, cluster: Any, anchors: Any) -> int:
    """Partitions intervals, in `order` of their high ends, into the fewest clusters; returns how many.

    The first interval that the last anchor does not stab has its high end as the next anchor.
    """
    count = 0
    anchor = np.nan
    for k in order:
        if not (low[k] <= anchor):
            anchor = high[k]
            anchors[count] = anchor
            count += 1
        cluster[k] = count - 1
    return count


@inlined_kernel
def soon_above(numbers: Any, start: int, stop: int, bound: float) -> int:
    """As `first_above`, where the position is likely to be near the start."""
    near = min(start + 8, stop)
    while start < near:
        if numbers[start] > bound:
            return start
        start += 1
    return first_above(numbers, start, stop, bound)


@inlined_kernel
def maybe_between(st: Any, below: float, above: float) -> bool:
    """False if no member's filter interval lies strictly between two values (NaN: no bound there)."""
    low, high = 0, len(st.ahead)
    while high - low > 1:
        middle = (low + high) >> 1
        if st.ahead[middle].bound <= below:
            low = middle
        else:
            high = middle
    return not (st.ahead[low].least >= above)


@bare_kernel
def between(st: Any, below: float, above: float, reached: float, found: Any, limit: int) -> int:
    """Finds members whose filter interval lies strictly between two values and holds a third; at most `limit`.

    Their numbers and base intervals go to `found`; returns how many. NaN for `below` or `above`: no bound there; for
    `reached`: nothing needs to be held. A member's anchor lies where its interval does, so few clusters are looked at,
    and blocks none of whose intervals ends below `above` are passed over.
    """
    o = st.by_low
    count = 0
    clusters = st.counters[CLUSTERS]
    # Anchors ascend: start at the first above `below`, stop at the first not below `above`.
    k = 0 if np.isnan(below) else first_above(st.anchors, 0, clusters, below)
    while k < clusters and not (st.anchors[k] >= above):
        cluster = st.clusters[k].there
        k += 1
        # The cluster's intervals together do not hold the value: none of them does.
        if st.clusters[cluster].lowest > reached or st.clusters[cluster].highest < reached:
            continue
        # Entries of a cluster ascend by low end: begin with the first above `below`, end with the last not above
        # `reached`.
        if np.isnan(below):
            place, offset = find(o, cluster, -np.inf, LEAST_ITEM)
        else:
            place, offset = find(o, cluster, below, LAST_ITEM)
        while place < o.counters[PLACES]:
            block = o.places[place].block
            length = o.heads[block].length
            if o.entries[block, offset].key != cluster or o.entries[block, offset].value > reached:
                break
            # `least` is the lowest high end in the block: no entry ends soon enough if that does not.
            if not (o.heads[block].least >= above):
                while offset < length and o.entries[block, offset].key == cluster:
                    if o.entries[block, offset].value > reached:
                        break
                    end = o.entries[block, offset].end
                    if not (end >= above) and not (end < reached):
                        found[count].number = o.entries[block, offset].number
                        found[count].low = o.entries[block, offset].low
                        found[count].high = o.entries[block, offset].high
                        count += 1
                        if count == limit:
                            return count
                    offset += 1
                # The cluster, or the low ends not above `reached`, ended within the block: the next cluster.
                if offset < length:
                    break
            place += 1
            offset = 0
    return count


@bare_kernel
def reaching(st: Any, points: Any, count: int, base: float, other: float, found: Any) -> int:
    """Finds members that hold a point by their filter, and `base` or `other` by their base; returns how many.

    Points ascend. Of the points only the nearest on each side of a cluster's anchor matter: a member that holds any
    point holds one of these. Their numbers and filter intervals go to `found`.
    """
    if count == 0:
        return 0
    total: Any = np.int64(0)  # no literal, for which Numba would compile `_from_low` once more
    above = 0
    for k in range(st.counters[CLUSTERS]):
        anchor = st.anchors[k]
        cluster = st.clusters[k].there
        while above < count and points[above] < anchor:
            above += 1
        # The nearest at or below the anchor; NaN where there is none, which no interval holds.
        nearest = np.nan
        if above < count and points[above] == anchor:
            nearest = anchor
        elif above > 0:
            nearest = points[above - 1]
        if st.clusters[cluster].lowest <= nearest:
            total = _from_low(st, cluster, nearest, base, other, found, total)
        if nearest != anchor and above < count and st.clusters[cluster].highest >= points[above]:
            total = _from_high(st, cluster, points[above], nearest, base, other, found, total)
    return total


@inlined_kernel
def _from_low(st: Any, cluster: int, nearest: float, base: float, other: float, found: Any, total: int) -> int:
    """Finds members of a cluster whose interval reaches down to the nearest point."""
    o = st.by_low
    place, offset = find(o, cluster, -np.inf, LEAST_ITEM)
    while place < o.counters[PLACES]:
        block = o.places[place].block
        for k in range(offset, o.heads[block].length):
            if o.entries[block, k].key != cluster or o.entries[block, k].value > nearest:
                return total
            start, stop = o.entries[block, k].low, o.entries[block, k].high
            if start <= base <= stop or start <= other <= stop:
                found[total].number = o.entries[block, k].number
                found[total].low = o.entries[block, k].value
                found[total].high = o.entries[block, k].end
                total += 1
        place += 1
        offset = 0
    return total


@inlined_kernel
def _from_high(
    st: Any, cluster: int, nearest: float, below: float, base: float, other: float, found: Any,
    total: int,
) -> int:  # fmt: skip
    """Finds members whose interval reaches up to the nearest point above the anchor, and not down to the one below."""
    o = st.by_high
    place, offset = find(o, cluster, -np.inf, LEAST_ITEM)
    while place < o.counters[PLACES]:
        block = o.places[place].block
        for k in range(offset, o.heads[block].length):
            if o.entries[block, k].key != cluster or -o.entries[block, k].value < nearest:
                return total
            if o.entries[block, k].end <= below:
                continue
            start, stop = o.entries[block, k].low, o.entries[block, k].high
            if start <= base <= stop or start <= other <= stop:
                found[total].number = o.entries[block, k].number
                found[total].low = o.entries[block, k].end
                found[total].high = -o.entries[block, k].value
                total += 1
        place += 1
        offset = 0
    return total
