"""Hanson's matcher: an interval binary search tree on each subscription's most selective predicate, the rest
verified."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.arrays import Int32s, Int64s
from tamis.compiled import bare_kernel, kernel
from tamis.lab.le_subscribe.verified import Intervals, VerifiedLevel, holds, intervals_of, load, rows_of, settle, taken
from tamis.matching.base.matcher import BUCKETS, CANDIDATES, NODES, PREDICATES
from tamis.matching.codes.columns import Encoder
from tamis.matching.codes.encoding import ABSENT, HIGHEST, LOWEST, Conjuncts
from tamis.matching.codes.levelled_matcher import LevelledMatcher
from tamis.matching.columnar.plan import Knowledge

# Kernels: marking of intervals on a tree, and the search of a value.

BELOW, AT, ABOVE = 0, 1, 2  # where a node's marks are for: values less than its key, equal to it, greater
_DEEPEST = 64


@kernel
def mark(firsts: Any, trees: Any, begins: Any, stops: Any, rows: Any, starts: Any, marks: Any, fill: bool) -> None:
    """Marks the nodes of every interval; counts marks into `starts`, or, if `fill`, writes rows from there on.

    The tree of column t is the keys `firsts[t]:firsts[t + 1]`, halved again and again. Of n keys, key i is place
    2i + 1 and the gap before it place 2i; interval j is the places from `begins[j]` to `stops[j]`. It is marked where
    it covers a whole side of a node, so that the way of each of its values meets exactly one of its marks.
    """
    stack = np.empty((2 * _DEEPEST, 2), np.int64)
    for j in range(len(trees)):
        base, begin, stop = firsts[trees[j]], begins[j], stops[j]
        stack[0, 0], stack[0, 1] = 0, firsts[trees[j] + 1] - base
        depth = 1
        # From the root down: a node's three sides (below, at, above its key) that the interval covers whole
        # are marked, those that it meets in part are descended into.
        while depth > 0:
            depth -= 1
            left, right = stack[depth, 0], stack[depth, 1]
            node = (left + right) >> 1
            for where in range(3):
                first = 2 * left if where == BELOW else 2 * node + where
                last = 2 * right if where == ABOVE else 2 * node + where
                if stop < first or last < begin:
                    continue
                if begin <= first and last <= stop:
                    place = 3 * (base + node) + where
                    if fill:
                        marks[starts[place]] = rows[j]
                    starts[place] += 1
                elif where == BELOW:
                    stack[depth, 0], stack[depth, 1] = left, node
                    depth += 1
                else:
                    stack[depth, 0], stack[depth, 1] = node + 1, right
                    depth += 1


@bare_kernel
def verify(tree: Any, place: int, intervals: Any, event: Any, out: Any, end: int, work: Any) -> int:
    """Verifies everything marked at a place."""
    start, stop = tree.starts[place], tree.starts[place + 1]
    work[CANDIDATES] += stop - start
    work[BUCKETS] += start < stop
    for i in range(start, stop):
        m = tree.marks[i]
        if holds(intervals, m, event, work):
            out[end] = tree.rows[m]
            end += 1
    return end


@bare_kernel
def search(tree: Any, column: int, code: int, intervals: Any, event: Any, out: Any, end: int, work: Any) -> int:
    """Searches one value down the tree of its column."""
    left, right = tree.firsts[column], tree.firsts[column + 1]
    while left < right:
        node = (left + right) >> 1
        key = tree.keys[node]
        work[NODES] += 1
        work[PREDICATES] += 1
        where = AT if code == key else BELOW if code < key else ABOVE
        end = verify(tree, 3 * node + where, intervals, event, out, end, work)
        if where == AT:
            break
        if where == BELOW:
            right = node
        else:
            left = node + 1
    return end


@bare_kernel
def match_by_trees(
    codes: Any, sets: Any, first: int, own: Any, rest: Any, memory: Any, seen: Any, stamp: int, room: int, event: Any,
    scratch: Any, out: Any, ends: Any, work: Any,
) -> int:  # fmt: skip
    """See `Level.run`."""
    tree, intervals = own
    set_ends, set_codes = sets
    singles = len(event) - 1
    end = ends[first]
    for e in range(first, len(codes)):
        if end + room > len(out):
            return e
        stamp += 1
        load(codes, e, event)
        for column in range(singles):
            if event[column] != ABSENT:
                end = search(tree, column, event[column], intervals, event, out, end, work)
        for s in range(len(set_ends)):
            for i in range(set_ends[s, e], set_ends[s, e + 1]):
                end = search(tree, singles + s, set_codes[i], intervals, event, out, end, work)
        work[CANDIDATES] += len(tree.loose)
        for i in range(len(tree.loose)):
            out[end] = tree.loose[i]
            end += 1
        end = settle(ends[e], end, e, event, sets, rest, memory, seen, stamp, out, work)
        ends[e + 1] = end
    return len(codes)


# Arrays and construction, over the most selective interval of each conjunction.


_EMPTY_SHARE = 1e-9  # of an interval that no known value lies in


class Trees(NamedTuple):
    """Balanced interval trees, one a column: its keys are `keys[firsts[c]:firsts[c + 1]]`, the middle one the root.

    Node n has the marks of values below, at and above its key in places 3n, 3n + 1 and 3n + 2; place p is
    `marks[starts[p]:starts[p + 1]]`. Mark m stands for conjunction `rows[m]`: marks are numbered as they first come, so
    that what one value leads to lies together. `loose`: conjunctions without any interval.
    """

    firsts: Int64s
    keys: Int32s
    starts: Int64s
    marks: Int32s
    rows: Int32s
    loose: Int32s


def trees_of(conjuncts: Conjuncts, rows: Int32s, chosen: Int64s, encoder: Encoder) -> Trees:
    """Trees of the chosen intervals, at most one a conjunction."""
    columns, lows, highs = conjuncts.columns[chosen].astype(np.int64), conjuncts.lows[chosen], conjuncts.highs[chosen]
    firsts, keys = [0], []
    begins, stops = np.zeros(len(chosen), np.int64), np.zeros(len(chosen), np.int64)
    for column in range(len(encoder.columns)):
        here = np.flatnonzero(columns == column)
        bounds = np.unique(np.concatenate([lows[here], highs[here]]))
        bounds = bounds[(bounds != LOWEST) & (bounds != HIGHEST)]
        if not len(bounds) and len(here):
            bounds = np.zeros(1, np.int32)  # whoever only asks for presence is marked on both sides of any key
        begins[here] = np.where(lows[here] == LOWEST, 0, 2 * np.searchsorted(bounds, lows[here]) + 1)
        stops[here] = np.where(highs[here] == HIGHEST, 2 * len(bounds), 2 * np.searchsorted(bounds, highs[here]) + 1)
        keys.append(bounds)
        firsts.append(firsts[-1] + len(bounds))
    ends = np.array(firsts, np.int64)
    places = 3 * firsts[-1]
    counts, nothing = np.zeros(places + 1, np.int64), np.zeros(0, np.int32)
    mark(ends, columns, begins, stops, rows[chosen], counts, nothing, False)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts[:places])])
    marked = np.empty(starts[-1], np.int32)
    mark(ends, columns, begins, stops, rows[chosen], starts.copy(), marked, True)
    order = marked[np.sort(np.unique(marked, return_index=True)[1])]
    numbers = np.full(len(conjuncts), -1, np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    return Trees(
        firsts=ends,
        keys=np.concatenate([nothing, *keys]),
        starts=starts,
        marks=numbers[marked],
        rows=order,
        loose=np.flatnonzero(numbers < 0).astype(np.int32),
    )


def most_selective(conjuncts: Conjuncts, rows: Int32s, encoder: Encoder, knowledge: Knowledge) -> Int64s:
    """For each conjunction the interval that the fewest events are expected to satisfy."""
    order = np.lexsort((shares(conjuncts, encoder, knowledge), rows))
    new = np.ones(len(order), np.bool_)
    new[1:] = rows[order][1:] != rows[order][:-1]
    return order[new]


def shares(conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> npt.NDArray[np.float64]:
    """Expected share of events that satisfy each interval."""
    found = np.empty(len(conjuncts.lows))
    for column in range(len(encoder.columns)):
        here = np.flatnonzero(conjuncts.columns == column)
        lows, highs = conjuncts.lows[here], conjuncts.highs[here]
        share = np.full(len(here), _EMPTY_SHARE)
        exact = (lows == highs) & (lows % 2 == 1)
        known = knowledge.shares[knowledge.share_starts[column] : knowledge.share_starts[column + 1]]
        if len(known):
            share[exact] = known[np.minimum(lows[exact] // 2, len(known) - 1)]
        if knowledge.edge_rows[column] >= 0:
            edges, ranges = knowledge.edges[knowledge.edge_rows[column]], lows != highs
            inside = np.searchsorted(edges, highs[ranges], "right") - np.searchsorted(edges, lows[ranges])
            share[ranges] = np.maximum(inside / len(edges), _EMPTY_SHARE)
        found[here] = share * knowledge.presence[column]
    return found


class HansonLevel(VerifiedLevel):
    """Level of the index: a tree a column, and by mark the intervals that are not in a tree."""

    parts: ClassVar[dict[str, type[Any]]] = {"trees": Trees, "intervals": Intervals}
    kernel = match_by_trees

    @classmethod
    def lay_out(cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> tuple[Trees, Intervals]:
        rows = rows_of(conjuncts)
        chosen = most_selective(conjuncts, rows, encoder, knowledge)
        others = conjuncts.columns < encoder.singles
        others[chosen] = False
        trees = trees_of(conjuncts, rows, chosen, encoder)
        return trees, taken(intervals_of(conjuncts, others), trees.rows)


class HansonMatcher(LevelledMatcher[HansonLevel]):
    """Matcher by interval binary search trees (Hanson et al. 1990, as in Fabret et al., Le Subscribe, §3.1 Fig 6).

    The most selective predicate of each subscription is in the tree of its attribute; the subscriptions whose one is
    satisfied are found on the way of the event's value, and their other predicates evaluated one by one.

    Departs: selectivity is estimated from the statistics of the stream where there are any, else from the constants
    of the subscriptions; a range of two bounds is one predicate; the trees are balanced once and frozen, and additions
    make levels (see LevelledMatcher); what is no interval is tested at the end.
    """

    name: ClassVar[str] = "hanson"
    level = HansonLevel
