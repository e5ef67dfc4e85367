"""Skylines of a join key's rows, written into a message. The rows stand in the filter table's index by (key, value)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import bare_kernel, inlined_kernel
from tamis.joins.index.edge_kernels import values_of_key
from tamis.joins.index.kernels import LEAST_ITEM, PLACES, find, is_entry, preceding
from tamis.joins.index.outbox import put_number
from tamis.joins.index.stabbing_kernels import CLUSTERS, reaching, soon_above

STRIDE = 16  # rows walked before searching


@bare_kernel
def joining_tuples(out: Any, o: Any, key: int) -> None:
    """Ref-SJ-Tup: all values there are."""
    last = np.nan
    place, offset = find(o, key, -np.inf, LEAST_ITEM)
    while place < o.counters[PLACES]:
        block = o.places[place].block
        for k in range(offset, o.heads[block].length):
            if o.entries[block, k].key != key:
                return
            if o.entries[block, k].value != last:
                last = o.entries[block, k].value
                put_number(out, last)
        place += 1
        offset = 0


@bare_kernel
def minimum_area(out: Any, o: Any, st: Any, key: int, base: float, other: float, scratch: Any) -> None:
    """Ref-SJ-Sub: the affected members' own intervals, of those that contain each other the inner ones (Theorem 2)."""
    count = values_of_key(o, key, scratch.points)
    found = scratch.found
    count = reaching(st, scratch.points, count, base, other, found)
    sort_by_high(found, count)
    # By high ends, ascending: one contains an earlier one unless its low end is above all of theirs.
    highest = np.nan
    for k in range(count):
        last = k + 1 == count or found[k + 1].high != found[k].high
        # Of those with one high end, the last has the highest low end.
        if last and not (found[k].low <= highest):
            highest = found[k].low
            put_number(out, found[k].low)
            put_number(out, found[k].high)


@bare_kernel
def nearest_tuples(out: Any, o: Any, st: Any, key: int) -> None:
    """Ref-SJ-Clu: the nearest rows on each side of every anchor.

    Rows and anchors are walked in leaps: from an anchor to the rows beside it, from the upper of these to the next
    anchor not below it.
    """
    anchors = st.counters[CLUSTERS]
    k = 0
    last = np.nan
    place, offset = find(o, key, -np.inf, LEAST_ITEM)
    while k < anchors:
        anchor = st.anchors[k]
        place, offset = leap(o, place, offset, key, anchor)
        there = is_entry(o, place) and o.entries[o.places[place].block, offset].key == key
        upper = o.entries[o.places[place].block, offset].value if there else np.nan
        if upper != anchor:
            # The row below the anchor; it may be the one above the anchor before.
            before, at = preceding(o, place, offset)
            if is_entry(o, before) and o.entries[o.places[before].block, at].key == key:
                lower = o.entries[o.places[before].block, at].value
                if lower != last:
                    put_number(out, lower)
            if not there:
                break
        put_number(out, upper)
        last = upper
        k = soon_above(st.anchors, k, anchors, upper)


@inlined_kernel
def leap(o: Any, place: int, offset: int, key: int, value: float) -> tuple[int, int]:
    """The key's first row at or above a value, from a row at or below it on; past the key's rows if there is none."""
    if place >= o.counters[PLACES]:
        return place, offset
    block = o.places[place].block
    stop = min(offset + STRIDE, o.heads[block].length)
    while offset < stop:
        if o.entries[block, offset].value >= value or o.entries[block, offset].key != key:
            return place, offset
        offset += 1
    return find(o, key, value, LEAST_ITEM)


@bare_kernel
def sort_by_high(found: Any, count: int) -> None:
    """Shell's sort of intervals by their high ends, then their low ones, in place."""
    gap = 1
    while gap < count // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, count):
            number, low, high = found[k].number, found[k].low, found[k].high
            j = k
            while j >= gap and (
                found[j - gap].high > high or (found[j - gap].high == high and found[j - gap].low > low)
            ):
                found[j] = found[j - gap]
                j -= gap
            found[j].number, found[j].low, found[j].high = number, low, high
        gap //= 3
