"""Interval binary search trees: marks are set, and gathered on the way of a value."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import bare_kernel, kernel
from tamis.lab.le_subscribe.kernels import holds, load, settle
from tamis.matching.codes.codes import ABSENT
from tamis.matching.matches import BUCKETS, CANDIDATES, NODES, PREDICATES

BELOW, AT, ABOVE = 0, 1, 2  # where a node's marks are for: values less than its key, equal to it, greater
_DEEPEST = 64


@kernel
def mark(firsts: Any, trees: Any, begins: Any, stops: Any, rows: Any, starts: Any, marks: Any, fill: bool) -> None:
    """Marks the nodes of every interval: counts marks into `starts`, or, if `fill`, writes rows from there on.

    The tree of column t is the keys `firsts[t]:firsts[t + 1]`, halved again and again. Of n keys, key i is place
    2i + 1 and the gap before it place 2i; interval j is the places from `begins[j]` to `stops[j]`. It is marked where
    it covers a whole side of a node, so that the way of each of its values meets exactly one of its marks.
    """
    stack = np.empty((2 * _DEEPEST, 2), np.int64)
    for j in range(len(trees)):
        base, begin, stop = firsts[trees[j]], begins[j], stops[j]
        stack[0, 0], stack[0, 1] = 0, firsts[trees[j] + 1] - base
        depth = 1
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
    """Everything marked at a place."""
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
    """One value down the tree of its column."""
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
