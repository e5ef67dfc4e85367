"""Gap cache of Ref-SJ-Clu⁺: which base values select a subscription between two rows, and skylines merged by it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tamis.arrays import Floats, Int64s
from tamis.compiled import bare_kernel, inlined_kernel
from tamis.joins.index.edge import NO_GAP
from tamis.joins.index.envelopes import leap, sort_by_high
from tamis.joins.index.kernels import LEAST_ITEM, find, is_entry, preceding
from tamis.joins.index.outbox import put_number
from tamis.joins.index.ranges import Records
from tamis.joins.index.stabbing_kernels import CLUSTERS, JOURNAL, WRITTEN, between, soon_above
from tamis.matching.base.flat_arrays import first_from

# Skylines merged over gaps between rows. Arrays are `Gaps`.

SPARE_GAPS, END, MISSING = range(3)
GAP = np.dtype([("upper", "f8"), ("version", "i8"), ("start", "i8"), ("length", "i8"), ("spare", "i8")])


class Gaps(NamedTuple):
    """Arrays of a gap store, for kernels.

    Gap g lies between a row's value and `gaps[g].upper`. `length` disjoint intervals from `start` on in `low` and
    `high`, ascending, are the union of the base intervals of those members whose filter interval lies strictly in the
    gap. It was right when the index had written `version` changes. The `spare` fields are a stack of free numbers. In
    `counters`: how many are spare, where the intervals end, and for how many there was no room.
    """

    gaps: Records
    low: Floats
    high: Floats
    counters: Int64s


@bare_kernel
def merged_tuples(
    out: Any, o: Any, st: Any, gaps: Any, key: int, base: float, other: float, scratch: Any
) -> bool:  # fmt: skip
    """Writes Ref-SJ-Clu⁺'s description: points of the nearest rows around every anchor, merged; False if gaps ran out.

    Rows and anchors are walked as in `nearest_tuples`. Consecutive points whose triangle is disposable are one point
    (q_n, q_1): where no anchor lies between them no subscription does; else the gap says if `base` or `other` selects
    one in it.
    """
    # The run is the points merged so far, from `run_first` to `run_last`; it is written as one point when it ends.
    # `last` keeps a row from being taken twice, once as the upper and once as the lower neighbour of an anchor.
    anchors = st.counters[CLUSTERS]
    k = 0
    run_first = run_last = last = np.nan
    place, offset = find(o, key, -np.inf, LEAST_ITEM)
    while k < anchors:
        # The first row at or above the anchor; rows between two anchors that are nobody's neighbours are leapt over.
        anchor = st.anchors[k]
        place, offset = leap(o, place, offset, key, anchor)
        there = is_entry(o, place) and o.entries[o.places[place].block, offset].key == key
        upper = o.entries[o.places[place].block, offset].value if there else np.nan
        if upper == anchor:
            # A row on the anchor goes on with the run.
            if np.isnan(run_first):
                run_first = upper
            run_last = last = upper
            k = soon_above(st.anchors, k, anchors, upper)
            continue
        # No row on the anchor: the row below it, if the key has one, joins the run.
        lower, below, beside = np.nan, -1, 0
        before, at = preceding(o, place, offset)
        if is_entry(o, before) and o.entries[o.places[before].block, at].key == key:
            below, beside = o.places[before].block, at
            lower = o.entries[below, beside].value
            if lower != last:
                if np.isnan(run_first):
                    run_first = lower
                run_last = last = lower
        if not there:
            break
        if below >= 0:
            # The anchor lies in the gap between two rows: the run ends there if a subscription does.
            gap = known_gap(gaps, st, int(o.entries[below, beside].end), lower, upper, scratch)
            if gap == NO_GAP:
                return False
            o.entries[below, beside].end = gap
            if in_gap(gaps, gap, base) or in_gap(gaps, gap, other):
                put_number(out, run_last)
                put_number(out, run_first)
                run_first = upper
        if np.isnan(run_first):
            run_first = upper
        run_last = last = upper
        k = soon_above(st.anchors, k, anchors, upper)
    if not np.isnan(run_first):
        put_number(out, run_last)
        put_number(out, run_first)
    return True


@inlined_kernel
def in_gap(gaps: Any, gap: int, base: float) -> bool:
    """True if a base value (NaN: none) selects a member that lies in the gap."""
    start = gaps.gaps[gap].start
    stop = start + gaps.gaps[gap].length
    k = first_from(gaps.high, start, stop, base)
    return k < stop and gaps.low[k] <= base <= gaps.high[k]


@inlined_kernel
def known_gap(gaps: Any, st: Any, gap: int, lower: float, upper: float, scratch: Any) -> int:
    """Number of a gap, up to date; NO_GAP if there is no room to find out."""
    if gap != NO_GAP and gaps.gaps[gap].upper == upper and _still_right(gaps, st, gap, lower, upper):
        return gap
    return _find_out(gaps, st, gap, lower, upper, scratch)


@bare_kernel
def _still_right(gaps: Any, st: Any, gap: int, lower: float, upper: float) -> bool:
    """True if nothing written since matters here: no member in the gap that went, or came and is not in the union."""
    written = st.counters[WRITTEN]
    if gaps.gaps[gap].version == written:
        return True
    if written - gaps.gaps[gap].version > JOURNAL:
        return False
    for number in range(gaps.gaps[gap].version, written):
        line = number % JOURNAL
        if st.journal[line, 0] > lower and st.journal[line, 1] < upper:
            low, high = st.journal[line, 2], st.journal[line, 3]
            start = gaps.gaps[gap].start
            stop = start + gaps.gaps[gap].length
            k = first_from(gaps.high, start, stop, high)
            if st.journal[line, 4] == 0.0 or k == stop or gaps.low[k] > low:
                return False
    gaps.gaps[gap].version = written
    return True


@bare_kernel
def _find_out(gaps: Any, st: Any, gap: int, lower: float, upper: float, scratch: Any) -> int:
    """Collects the members in the gap and stores the union of their base intervals."""
    found = scratch.found
    count = between(st, lower, upper, np.nan, found, len(found))
    count = _union(found, count)
    if gap == NO_GAP and gaps.counters[SPARE_GAPS] == 0:
        return NO_GAP
    start = gaps.counters[END]
    if gap != NO_GAP and count <= gaps.gaps[gap].length:
        start = gaps.gaps[gap].start
    elif start + count > len(gaps.low):
        gaps.counters[MISSING] = count
        return NO_GAP
    else:
        gaps.counters[END] = start + count
    if gap == NO_GAP:
        gaps.counters[SPARE_GAPS] -= 1
        gap = gaps.gaps[gaps.counters[SPARE_GAPS]].spare
    for k in range(count):
        gaps.low[start + k] = found[k].low
        gaps.high[start + k] = found[k].high
    gaps.gaps[gap].start = start
    gaps.gaps[gap].length = count
    gaps.gaps[gap].upper = upper
    gaps.gaps[gap].version = st.counters[WRITTEN]
    return int(gap)


@bare_kernel
def forget_gap(gaps: Any, gap: int) -> None:
    """Frees the gap above a row that goes."""
    if gap != NO_GAP:
        gaps.gaps[gap].length = 0
        gaps.gaps[gaps.counters[SPARE_GAPS]].spare = gap
        gaps.counters[SPARE_GAPS] += 1


@bare_kernel
def _union(found: Any, count: int) -> int:
    """Merges intervals into disjoint ones, ascending, in place; returns how many are left."""
    if count == 0:
        return 0
    # Most overlap with one another: what meets the interval gathered so far goes into it, and few are left to sort.
    low, high = found[0].low, found[0].high
    kept = 0
    for k in range(1, count):
        if found[k].low <= high and found[k].high >= low:
            low, high = min(low, found[k].low), max(high, found[k].high)
        else:
            found[kept] = found[k]
            kept += 1
    found[kept].low, found[kept].high = low, high
    kept += 1
    sort_by_high(found, kept)
    # From the highest end down: who reaches down to the next takes it in.
    last = kept - 1
    for k in range(kept - 2, -1, -1):
        if found[k].high >= found[last].low:
            found[last].low = min(found[last].low, found[k].low)
        else:
            last -= 1
            found[last] = found[k]
    for k in range(last, kept):
        found[k - last] = found[k]
    return kept - last


class GapStore:
    """Cache of the gaps between neighbouring rows of a join key: base values that select an unreached subscription.

    Serves one group. A gap's number stands beside the row below it in the filter table's index, and is given at the
    first query. `arrays` are changed by kernels; when they run out of room, `grow` gives them more.
    """

    def __init__(self) -> None:
        self.arrays = _arrays(64, 256)

    def grow(self) -> None:
        """Doubles the gaps if none is spare, makes room for the intervals that did not fit, and drops unused ones."""
        old = self.arrays
        gaps, spare, length = len(old.gaps), int(old.counters[SPARE_GAPS]), old.gaps["length"]
        used = int(length.sum())
        more = gaps if spare == 0 else 0
        new = _arrays(gaps + more, max(len(old.low), 2 * (used + int(old.counters[MISSING]))))
        new.gaps[:gaps] = old.gaps
        starts = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        new.gaps["start"][:gaps] = starts[:-1]
        moved = np.repeat(old.gaps["start"] - starts[:-1], length) + np.arange(used)
        new.low[:used], new.high[:used] = old.low[moved], old.high[moved]
        new.gaps["spare"][:more] = np.arange(gaps + more - 1, gaps - 1, -1)
        new.gaps["spare"][more : more + spare] = old.gaps["spare"][:spare]
        new.counters[:] = more + spare, used, 0
        self.arrays = new


def _arrays(gaps: int, intervals: int) -> Gaps:
    records = np.zeros(gaps, GAP).view(np.recarray)
    records["spare"] = np.arange(gaps - 1, -1, -1)
    return Gaps(records, np.zeros(intervals), np.zeros(intervals), np.array([gaps, 0, 0], np.int64))
