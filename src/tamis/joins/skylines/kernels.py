"""Skylines of a join key's rows, written into a message. The rows stand in the filter table's index by (key, value)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tamis.compiled import bare_kernel, inlined_kernel
from tamis.joins.kernels import IN_ORDER, LEAST_ITEM, find, following, is_entry, preceding
from tamis.joins.ranges import Floats, Integers
from tamis.joins.sending.kernels import put_number
from tamis.joins.stabbing.kernels import CLUSTERS, JOURNAL, WRITTEN, between, first_above, first_from, reaching

SPARE_GAPS, END, MISSING = range(3)
NO_GAP = -1
STRIDE = 16  # rows walked before searching


class Gaps(NamedTuple):
    """The arrays of a gap store, for kernels.

    Gap g lies between a row's value and `upper[g]`. `length[g]` disjoint intervals from `start[g]` on in `low` and
    `high`, ascending, are the union of the base intervals of those members whose filter interval lies strictly in the
    gap. It was right when the index had written `version[g]` changes. `spare` is a stack of numbers not used. In
    `counters`: how many are spare, where the intervals end, and for how many there was no room.
    """

    upper: Floats
    version: Integers
    start: Integers
    length: Integers
    low: Floats
    high: Floats
    spare: Integers
    counters: Integers


class Scratch(NamedTuple):
    """Room for kernels: as much as there are members of a group, or rows of a table and one more.

    Members have `found`, `low` and `high`, rows `points`, `rows` and `marks`; `none` is one NO_GAP.
    """

    found: Integers
    low: Floats
    high: Floats
    points: Floats
    rows: Integers
    marks: Integers
    none: Floats


@bare_kernel
def values_of_key(o: Any, key: int, points: Any) -> int:
    """The different values of a key's rows, ascending; how many."""
    count = 0
    place, offset = find(o, key, -np.inf, LEAST_ITEM)
    while place < o.counters[IN_ORDER]:
        block = o.order[place]
        for k in range(offset, o.length[block]):
            if o.keys[block, k] != key:
                return count
            if count == 0 or points[count - 1] != o.values[block, k]:
                points[count] = o.values[block, k]
                count += 1
        place += 1
        offset = 0
    return count


@bare_kernel
def joining_tuples(out: Any, o: Any, key: int) -> None:
    """Ref-SJ-Tup: all values there are."""
    last = np.nan
    place, offset = find(o, key, -np.inf, LEAST_ITEM)
    while place < o.counters[IN_ORDER]:
        block = o.order[place]
        for k in range(offset, o.length[block]):
            if o.keys[block, k] != key:
                return
            if o.values[block, k] != last:
                last = o.values[block, k]
                put_number(out, last)
        place += 1
        offset = 0


@bare_kernel
def minimum_area(out: Any, o: Any, st: Any, key: int, base: float, other: float, scratch: Any) -> None:
    """Ref-SJ-Sub: the affected members' own intervals, of those that contain each other the inner ones (Theorem 2)."""
    count = values_of_key(o, key, scratch.points)
    count = reaching(st, scratch.points, count, base, other, scratch.found, scratch.low, scratch.high)
    _sort_pairs(scratch.high, scratch.low, count)
    # By high ends, ascending: one contains an earlier one unless its low end is above all of theirs.
    highest = np.nan
    for k in range(count):
        last = k + 1 == count or scratch.high[k + 1] != scratch.high[k]
        # Of those with one high end, the last has the highest low end.
        if last and not (scratch.low[k] <= highest):
            highest = scratch.low[k]
            put_number(out, scratch.low[k])
            put_number(out, scratch.high[k])


@bare_kernel
def cluster_based(
    out: Any, o: Any, st: Any, gaps: Any, key: int, base: float, other: float, merging: bool, scratch: Any
) -> bool:
    """Ref-SJ-Clu: the nearest rows on each side of every anchor; or, merging, Ref-SJ-Clu⁺. False if gaps ran out.

    Rows and anchors are walked in leaps: from an anchor to the rows beside it, from the upper of these to the next
    anchor not below it. Merging, consecutive points whose triangle is disposable are one point (q_n, q_1): where no
    anchor lies between them no subscription does; else the gap says whether `base` or `other` selects one in it.
    """
    anchors = st.counters[CLUSTERS]
    k = 0
    run_first = run_last = last = np.nan
    place, offset = find(o, key, -np.inf, LEAST_ITEM)
    while k < anchors:
        anchor = st.anchors[k]
        place, offset = _leap(o, place, offset, key, anchor)
        there = is_entry(o, place) and o.keys[o.order[place], offset] == key
        upper = o.values[o.order[place], offset] if there else np.nan
        if upper == anchor:
            if not merging:
                put_number(out, upper)
            elif np.isnan(run_first):
                run_first = upper
            run_last = last = upper
            k = first_above(st.anchors, k, anchors, upper)
            continue
        lower, below, beside = np.nan, -1, 0
        before, at = preceding(o, place, offset)
        if is_entry(o, before) and o.keys[o.order[before], at] == key:
            below, beside = o.order[before], at
            lower = o.values[below, beside]
            if lower != last:
                if not merging:
                    put_number(out, lower)
                elif np.isnan(run_first):
                    run_first = lower
                run_last = last = lower
        if not there:
            break
        if merging:
            if below >= 0:
                gap = known_gap(gaps, st, int(o.companions[below, beside, 0]), lower, upper, scratch)
                if gap == NO_GAP:
                    return False
                o.companions[below, beside, 0] = gap
                if in_gap(gaps, gap, base) or in_gap(gaps, gap, other):
                    put_number(out, run_last)
                    put_number(out, run_first)
                    run_first = upper
            if np.isnan(run_first):
                run_first = upper
        else:
            put_number(out, upper)
        run_last = last = upper
        k = first_above(st.anchors, k, anchors, upper)
    if merging and not np.isnan(run_first):
        put_number(out, run_last)
        put_number(out, run_first)
    return True


@inlined_kernel
def _leap(o: Any, place: int, offset: int, key: int, value: float) -> tuple[int, int]:
    """The key's first row at or above a value, from a row at or below it on; past the key's rows if there is none."""
    for _ in range(STRIDE):
        if place >= o.counters[IN_ORDER]:
            return place, offset
        block = o.order[place]
        if o.keys[block, offset] != key or o.values[block, offset] >= value:
            return place, offset
        place, offset = following(o, place, offset)
    return find(o, key, value, LEAST_ITEM)


@inlined_kernel
def in_gap(gaps: Any, gap: int, base: float) -> bool:
    """Whether a base value (NaN: none) selects a member that lies in the gap."""
    start = gaps.start[gap]
    stop = start + gaps.length[gap]
    k = first_from(gaps.high, start, stop, base)
    return k < stop and gaps.low[k] <= base <= gaps.high[k]


@inlined_kernel
def known_gap(gaps: Any, st: Any, gap: int, lower: float, upper: float, scratch: Any) -> int:
    """The number of a gap, up to date; NO_GAP if there is no room to find out."""
    if gap != NO_GAP and gaps.upper[gap] == upper and _still_right(gaps, st, gap, lower, upper):
        return gap
    return _find_out(gaps, st, gap, lower, upper, scratch)


@bare_kernel
def _still_right(gaps: Any, st: Any, gap: int, lower: float, upper: float) -> bool:
    """Whether nothing written since matters here: no member in the gap that went, or came and is not in the union."""
    written = st.counters[WRITTEN]
    if gaps.version[gap] == written:
        return True
    if written - gaps.version[gap] > JOURNAL:
        return False
    for number in range(gaps.version[gap], written):
        line = number % JOURNAL
        if st.journal[line, 0] > lower and st.journal[line, 1] < upper:
            low, high = st.journal[line, 2], st.journal[line, 3]
            start = gaps.start[gap]
            stop = start + gaps.length[gap]
            k = first_from(gaps.high, start, stop, high)
            if st.journal[line, 4] == 0.0 or k == stop or gaps.low[k] > low:
                return False
    gaps.version[gap] = written
    return True


@bare_kernel
def _find_out(gaps: Any, st: Any, gap: int, lower: float, upper: float, scratch: Any) -> int:
    """Looks at all members in the gap and keeps the union of their base intervals."""
    low, high = scratch.low, scratch.high
    count = between(st, lower, upper, np.nan, scratch.found, low, high, len(low))
    count = _union(low, high, count)
    if gap == NO_GAP and gaps.counters[SPARE_GAPS] == 0:
        return NO_GAP
    start = gaps.counters[END]
    if gap != NO_GAP and count <= gaps.length[gap]:
        start = gaps.start[gap]
    elif start + count > len(gaps.low):
        gaps.counters[MISSING] = count
        return NO_GAP
    else:
        gaps.counters[END] = start + count
    if gap == NO_GAP:
        gaps.counters[SPARE_GAPS] -= 1
        gap = gaps.spare[gaps.counters[SPARE_GAPS]]
    for k in range(count):
        gaps.low[start + k] = low[k]
        gaps.high[start + k] = high[k]
    gaps.start[gap] = start
    gaps.length[gap] = count
    gaps.upper[gap] = upper
    gaps.version[gap] = st.counters[WRITTEN]
    return int(gap)


@bare_kernel
def forget_gap(gaps: Any, gap: int) -> None:
    """The row below a gap is gone, and its number with it."""
    if gap != NO_GAP:
        gaps.length[gap] = 0
        gaps.spare[gaps.counters[SPARE_GAPS]] = gap
        gaps.counters[SPARE_GAPS] += 1


@bare_kernel
def _union(low: Any, high: Any, count: int) -> int:
    """Intervals as disjoint ones, ascending, in place; how many are left."""
    if count == 0:
        return 0
    # Most overlap with one another: what meets the interval gathered so far goes into it, and few are left to sort.
    start, stop = low[0], high[0]
    kept = 0
    for k in range(1, count):
        if low[k] <= stop and high[k] >= start:
            start, stop = min(start, low[k]), max(stop, high[k])
        else:
            low[kept], high[kept] = low[k], high[k]
            kept += 1
    low[kept], high[kept] = start, stop
    kept += 1
    _sort_pairs(low, high, kept)
    last = 0
    for k in range(1, kept):
        if low[k] <= high[last]:
            high[last] = max(high[last], high[k])
        else:
            last += 1
            low[last], high[last] = low[k], high[k]
    return last + 1


@bare_kernel
def _sort_pairs(first: Any, second: Any, count: int) -> None:
    """Shell's sort of pairs by their first numbers, then their second, in place."""
    gap = 1
    while gap < count // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, count):
            a, b = first[k], second[k]
            j = k
            while j >= gap and (first[j - gap] > a or (first[j - gap] == a and second[j - gap] > b)):
                first[j], second[j] = first[j - gap], second[j - gap]
                j -= gap
            first[j], second[j] = a, b
        gap //= 3
