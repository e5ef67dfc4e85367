"""Matching in the tree: events walk down the edge of their value, the ranges that hold, and the *-edge (P1 §3); and
paths retraced from leaves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.arrays import Int32s, Int64s
from tamis.compiled import bare_kernel
from tamis.lab.tree.conjunctions import Conjunctions
from tamis.lab.tree.layout import (
    ANNOTATED,
    AT,
    COUNT,
    EDGE,
    FIRST,
    IN_RANGES,
    LEAF,
    LEVEL,
    LISTED,
    NEGATED,
    NEXT,
    NONE,
    OF,
    ON_VALUE,
    OTHER,
    PARENT,
    ROOT,
    SEVERAL,
    SPECIAL,
    STAR,
    SUCCESSOR,
    TEST_COUNT,
    TESTED,
    TESTS,
    find,
)
from tamis.matching.base.flat_arrays import is_listed
from tamis.matching.base.matcher import BUCKETS, CANDIDATES, NODES, PREDICATES, PROBES


@bare_kernel
def satisfies(test: Any, listed: Any, key: int) -> bool:
    if test[1] & LISTED:
        return is_listed(listed, test[2], test[3], key)
    return bool(test[2] <= key <= test[3])


@bare_kernel
def decide(test: Any, listed: Any, event: int, encoded: Any) -> bool:
    """True if some value of the test's column satisfies it, or, if it is NEGATED, none does."""
    values, present, sets, set_ends, set_keys = encoded
    column, found = test[0], False
    if sets[column] < 0:
        found = present[event, column] != 0 and satisfies(test, listed, values[event, column])
    else:
        for i in range(set_ends[sets[column], event], set_ends[sets[column], event + 1]):
            if satisfies(test, listed, set_keys[i]):
                found = True
                break
    return found != ((test[1] & NEGATED) != 0)


@bare_kernel
def is_true(number: int, checks: Any, event: int, encoded: Any, memory: Any, stamp: int, counters: Any) -> bool:
    """True if a test holds: decided once an event, and then remembered."""
    if memory[number] >> 1 != stamp:
        counters[PREDICATES] += 1
        memory[number] = 2 * stamp + decide(checks[2][number], checks[3], event, encoded)
    return bool(memory[number] & 1)


@bare_kernel
def holds(c: int, checks: Any, event: int, encoded: Any, scratch: Any, stamp: int, counters: Any) -> bool:
    """True if a special conjunction at a leaf is a match."""
    specials, test_lists, _, _ = checks
    memory, seen, _ = scratch
    of = specials[c, OF]
    if specials[c, SEVERAL] and seen[of] == stamp:
        return False
    first = specials[c, TESTS]
    for i in range(first, first + specials[c, TEST_COUNT]):
        if not is_true(test_lists[i], checks, event, encoded, memory, stamp, counters):
            return False
    seen[of] = stamp
    return True


@bare_kernel
def push(nodes: Any, sets: Any, stack: Any, top: int, node: int, child: int, annotated: bool) -> Any:
    """Pushes a node's value child and star child: together where the first's result implies the other's."""
    star = nodes[node, STAR]
    if star != NONE:
        if annotated and child != NONE and nodes[node, ANNOTATED] != 0:
            level = nodes[star, LEVEL]
            alike = nodes[child, LEVEL] == level and level != LEAF and nodes[star, FIRST] == NONE
            if alike and (level >= TESTED or sets[level] < 0):
                stack[top, 0], stack[top, 1] = child, star
                return top + 1
        stack[top, 0], stack[top, 1] = star, NONE
        top += 1
    if child != NONE:
        stack[top, 0], stack[top, 1] = child, NONE
        top += 1
    return top


@bare_kernel
def push_ranges(nodes: Any, bounds: Any, stack: Any, top: int, node: int, key: int, counters: Any) -> Any:
    """Pushes what the range nodes under a node lead to, if their test holds, and the ranges inside them."""
    node = nodes[node, FIRST]
    while node != NONE:
        counters[NODES] += 1
        counters[PREDICATES] += 1
        if bounds[node, 0] <= key <= bounds[node, 1]:
            if nodes[node, STAR] != NONE:
                stack[top, 0], stack[top, 1] = nodes[node, STAR], NONE
                top += 1
            if nodes[node, FIRST] != NONE:
                stack[top, 0], stack[top, 1] = ~node, NONE
                top += 1
        node = nodes[node, NEXT]
    return top


@bare_kernel
def match_event(
    tree: Any, root: int, event: int, encoded: Any, outs: Any, checks: Any, annotated: bool, scratch: Any, stamp: int,
    out: Any, end: int, counters: Any,
) -> Any:  # fmt: skip
    """Writes the event's matches in one tree to `out` from `end` on; returns their end."""
    nodes, bounds, keys, table, _ = tree
    values, present, sets, set_ends, set_keys = encoded
    stack = scratch[2]
    top = 0
    if nodes[root, STAR] != NONE:
        stack[0, 0], stack[0, 1], top = nodes[root, STAR], NONE, 1
    while top > 0:
        top -= 1
        node, partner = np.int64(stack[top, 0]), np.int64(stack[top, 1])
        # The stack has nodes to visit, each with a star partner that tests the same attribute; a complement
        # stands for ranges still to be tested.
        if node < 0:
            top = push_ranges(nodes, bounds, stack, top, ~node, values[event, nodes[~node, LEVEL]], counters)
            continue
        counters[NODES] += 1
        level = nodes[node, LEVEL]
        if level == LEAF:
            counters[BUCKETS] += 1
            counters[CANDIDATES] += nodes[node, COUNT]
            start = nodes[node, FIRST]
            for i in range(start, start + nodes[node, COUNT]):
                of = np.int64(outs[i])
                if of < 0:
                    if not holds(~of, checks, event, encoded, scratch, stamp, counters):
                        continue
                    of = np.int64(checks[0][~of, OF])
                out[end] = of
                end += 1
            continue
        # An attribute with several values: every value's edge is followed, so there is no partner to share a
        # result.
        if level < TESTED and sets[level] >= 0:
            star = nodes[node, STAR]
            if star != NONE:
                stack[top, 0], stack[top, 1] = star, NONE
                top += 1
            for i in range(set_ends[sets[level], event], set_ends[sets[level], event + 1]):
                counters[PROBES] += 1
                child = find(keys, table, node, set_keys[i])
                if child != NONE:
                    counters[PREDICATES] += 1
                    stack[top, 0], stack[top, 1] = child, NONE
                    top += 1
            continue
        # A single value, or a test: `child` is the node behind this result, `other` the one behind the same
        # result at the partner, read off the successor annotation where there is a child.
        child, other, key = np.int64(NONE), np.int64(NONE), np.int64(1)
        if level >= TESTED:
            known = is_true(level - TESTED, checks, event, encoded, scratch[0], stamp, counters)
        else:
            known = present[event, level] != 0
            key = values[event, level]
        if known:
            if nodes[node, COUNT] > 0:
                counters[PROBES] += 1
                child = find(keys, table, node, key)
                counters[PREDICATES] += child != NONE and level < TESTED
            if partner != NONE:
                if child != NONE:
                    other = np.int64(nodes[child, SUCCESSOR])
                else:
                    counters[NODES] += 1
                    counters[PROBES] += 1
                    other = find(keys, table, partner, key)
                    counters[PREDICATES] += other != NONE and level < TESTED
            if nodes[node, FIRST] != NONE:
                top = push_ranges(nodes, bounds, stack, top, node, key, counters)
        if partner != NONE:
            top = push(nodes, sets, stack, top, partner, other, annotated)
        top = push(nodes, sets, stack, top, node, child, annotated)
    return end


@bare_kernel
def match_events(
    tree: Any, roots: Any, factors: Any, first: int, encoded: Any, outs: Any, checks: Any, annotated: bool,
    scratch: Any, stamp: int, room: int, out: Any, ends: Any, counters: Any,
) -> int:  # fmt: skip
    """Matches events from `first` on; returns the first event that `out` had no room for.

    Factors lead each event to its tree: `roots` is by the ordinals of its index attributes' values, the last fastest;
    row (level, ordinals) of `factors` says where they stand, and value u of factor i has its ordinal under ~(edges
    table) node `-2 - i`.
    """
    present, values = encoded[1], encoded[0]
    keys, table = tree[2], tree[3]
    end = ends[first]
    for event in range(first, len(present)):
        if end + room > len(out):
            return event
        place = 0
        for i in range(len(factors)):
            ordinal = 0
            if present[event, factors[i, 0]]:
                counters[PROBES] += 1
                ordinal = max(0, find(keys, table, -2 - i - (1 << 30), values[event, factors[i, 0]]))
            place = place * factors[i, 1] + ordinal
        end = match_event(
            tree, roots[place], event, encoded, outs, checks, annotated, scratch, stamp + event, out, end, counters
        )
        ends[event + 1] = end
    return len(present)


# Paths read back from leaves: the conjunctions that a tree holds.


@bare_kernel
def retrace(nodes: Any, bounds: Any, leaf: int, levels: Any, lows: Any, highs: Any, stop: int) -> Any:
    """Writes the predicates of a leaf's path so that they end before `stop`; returns its root and where they begin.

    Of the ranges and values of one level on a path, the last one implies the others. With no room (`levels` is
    empty) nothing is written.
    """
    node, last, at = leaf, -1, stop
    while nodes[node, LEVEL] != ROOT:
        parent, edge = nodes[node, PARENT], nodes[node, EDGE]
        level = nodes[parent, LEVEL] if edge == ON_VALUE else nodes[node, LEVEL]
        if edge in (ON_VALUE, IN_RANGES) and level != last:
            last = level
            at -= 1
            if len(levels) > 0:
                levels[at], lows[at] = level, bounds[node, 0]
                highs[at] = bounds[node, 1] if edge == IN_RANGES else bounds[node, 0]
        node = parent
    return node, at


@bare_kernel
def measure(nodes: Any, bounds: Any, entries: Any, heads: Any, root: int, nothing: Any, wide: Any, found: Any) -> int:
    """Counts owners, entries and lengths of the paths in one tree, as rows of `found`; returns their number."""
    count = 0
    for owner in range(len(heads)):
        entry = heads[owner]
        while entry != NONE:
            above, at = retrace(nodes, bounds, entries[entry, AT], nothing, wide, wide, 0)
            if above == root:
                found[count, 0], found[count, 1], found[count, 2] = owner, entry, -at
                count += 1
            entry = entries[entry, OTHER]
    return count


@bare_kernel
def retrace_all(
    nodes: Any, bounds: Any, entries: Any, found: Any, ends: Any, levels: Any, lows: Any, highs: Any
) -> None:
    for i in range(len(found)):
        retrace(nodes, bounds, entries[found[i, 1], AT], levels, lows, highs, ends[i])


def paths_of(nodes: Int32s, bounds: Int64s, entries: Int32s, heads: Int32s, root: int) -> Conjunctions:
    """Conjunctions of one tree."""
    found = np.empty((len(entries), 3), np.int64)
    count = measure(nodes, bounds, entries, heads, root, np.zeros(0, np.int32), np.zeros(0, np.int64), found)
    found = found[:count]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(found[:, 2])])
    levels = np.empty(offsets[-1], np.int32)
    lows, highs = np.empty(offsets[-1], np.int64), np.empty(offsets[-1], np.int64)
    if len(levels):
        retrace_all(nodes, bounds, entries, found, offsets[1:], levels, lows, highs)
    specials = entries[found[:, 1], SPECIAL]
    return Conjunctions(found[:, 0].astype(np.int32), offsets, levels, lows, highs, specials)
