"""Layout of the matching tree in flat arrays: node rows, hash table of edges, leaf blocks, successor annotation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import bare_kernel
from tamis.matching.codes.encoding import mixed

# Node rows. A branch node tests the attribute of its level; a leaf (level LEAF) holds subscriptions; a range node
# (edge IN_RANGES) holds one test of its parent's level, and its STAR is where its edge leads when the test holds; a
# root is a node of level ROOT, and its STAR is the first node of its tree.
LEVEL = 0
STAR = 1  # the node behind the *-edge, or -1
PARENT = 2
EDGE = 3  # how the parent leads here
FIRST = 4  # the first of the range nodes under this one; of a leaf, where its block begins
KIDS = 5  # the first of the nodes behind value edges; of a leaf, the class of its block; of a range node, its branch
COUNT = 6  # value edges; of a leaf, subscriptions
NEXT, PREV = 7, 8  # among the value edges, or the range nodes, of one parent
SUCCESSOR = 9  # behind the same value, in the parent's star sibling
ANNOTATED = 10  # whether the successors two edges below this node are known
WIDTH = 12

ON_STAR, ON_VALUE, IN_RANGES = 0, 1, 2
ROOT, FREE, LEAF = -1, -2, 1 << 30
TESTED = 1 << 29  # and above: the levels of tests that are nodes; below: columns
NONE = -1

# Entry rows: one conjunction at one leaf.
AT, PLACE, OTHER, SPECIAL = 0, 1, 2, 3  # its leaf, its place there, the subscription's next entry, its own checks

# Rows of special conjunctions, which have tests of their own, or a subscription with other conjunctions too.
OF, TESTS, TEST_COUNT, SEVERAL = 0, 1, 2, 3

# Counters of the tree, then the heads of the free blocks by class.
NODES_END, NODES_FREE, NODES, EDGES, ENTRIES_END, ENTRIES_FREE, POOL_END, STALE = range(8)
CLASSES = 8
STATE = CLASSES + 32

NEGATED, LISTED = 1, 2  # flags of a test

LOWEST, HIGHEST = np.int64(-(2**63)), np.int64(2**63 - 1)

# Limits of a change's tidying up: beyond, it leaves a wider path or a node without successors.
STEPS, ANNOTATIONS = 256, 256


# Hash table of value edges, (node, value) → child, one for the whole tree; ranges are stored under the node's
# complement.

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@bare_kernel
def home(node: int, key: int, mask: int) -> Any:
    """Slot where the search for an edge begins."""
    return np.int64(mixed(np.uint64(key) ^ (np.uint64(np.int64(node)) * _SPREAD))) & mask


@bare_kernel
def find(keys: Any, table: Any, node: int, key: int) -> Any:
    """Child behind a value edge, or NONE."""
    mask = len(keys) - 1
    slot = home(node, key, mask)
    while table[slot, 1] != NONE:
        if table[slot, 0] == node and keys[slot] == key:
            return np.int64(table[slot, 1])
        slot = (slot + 1) & mask
    return np.int64(NONE)


@bare_kernel
def range_key(low: int, high: int) -> Any:
    return np.int64(mixed(np.uint64(low)) ^ np.uint64(high))


@bare_kernel
def find_range(keys: Any, table: Any, bounds: Any, node: int, low: int, high: int) -> Any:
    """Range node of exactly this test under a branch node, or NONE."""
    mask, key = len(keys) - 1, range_key(low, high)
    slot = home(~node, key, mask)
    while table[slot, 1] != NONE:
        child = table[slot, 1]
        if table[slot, 0] == ~node and keys[slot] == key and bounds[child, 0] == low and bounds[child, 1] == high:
            return np.int64(child)
        slot = (slot + 1) & mask
    return np.int64(NONE)


@bare_kernel
def put(keys: Any, table: Any, node: int, key: int, child: int) -> None:
    """Inserts an edge that is not in the table."""
    mask = len(keys) - 1
    slot = home(node, key, mask)
    while table[slot, 1] != NONE:
        slot = (slot + 1) & mask
    keys[slot], table[slot, 0], table[slot, 1] = key, node, child


@bare_kernel
def slot_of(keys: Any, table: Any, node: int, key: int, child: int) -> Any:
    """Slot of an edge in the table."""
    mask = len(keys) - 1
    slot = home(node, key, mask)
    while table[slot, 0] != node or keys[slot] != key or table[slot, 1] != child:
        slot = (slot + 1) & mask
    return slot


@bare_kernel
def take_out(keys: Any, table: Any, node: int, key: int, child: int) -> None:
    """Deletes an edge, and closes the gap: no tombstones stay."""
    mask = len(keys) - 1
    hole = slot_of(keys, table, node, key, child)
    at = hole
    while True:
        at = (at + 1) & mask
        if table[at, 1] == NONE:
            break
        if ((at - home(np.int64(table[at, 0]), keys[at], mask)) & mask) >= ((at - hole) & mask):
            keys[hole], table[hole, 0], table[hole, 1] = keys[at], table[at, 0], table[at, 1]
            hole = at
    table[hole, 1] = NONE


@bare_kernel
def refill(old_keys: Any, old: Any, keys: Any, table: Any) -> None:
    """Inserts all edges into a larger, empty table."""
    for slot in range(len(old_keys)):
        if old[slot, 1] != NONE:
            put(keys, table, np.int64(old[slot, 0]), old_keys[slot], np.int64(old[slot, 1]))


# Leaf blocks: subscriptions in blocks of a pool, of 1, 2, 4, … places, with free lists.
#
# Place i of a leaf's block holds in `outs` the match: the subscription's number, or the complement of the number of a
# special conjunction, which has to be tested first; and in `holders` the entry at this place.


@bare_kernel
def take_block(outs: Any, state: Any, size_class: int) -> Any:
    """Start of a free block of this class; NONE if the pool is full."""
    start = state[CLASSES + size_class]
    if start != NONE:
        state[CLASSES + size_class] = outs[start]
        return start
    start = state[POOL_END]
    if start + (1 << size_class) > len(outs):
        return NONE
    state[POOL_END] = start + (1 << size_class)
    return start


@bare_kernel
def give_block(outs: Any, state: Any, start: int, size_class: int) -> None:
    outs[start] = state[CLASSES + size_class]
    state[CLASSES + size_class] = start


@bare_kernel
def make_room(nodes: Any, outs: Any, holders: Any, state: Any, leaf: int) -> bool:
    """Makes room for one more at a leaf; False if the pool is full."""
    count, size_class = nodes[leaf, COUNT], nodes[leaf, KIDS]
    if size_class != NONE and count < 1 << size_class:
        return True
    start = take_block(outs, state, size_class + 1)
    if start == NONE:
        return False
    old = nodes[leaf, FIRST]
    for i in range(count):
        outs[start + i], holders[start + i] = outs[old + i], holders[old + i]
    if size_class != NONE:
        give_block(outs, state, old, size_class)
    nodes[leaf, FIRST], nodes[leaf, KIDS] = start, size_class + 1
    return True


@bare_kernel
def enter(
    nodes: Any, entries: Any, outs: Any, holders: Any, state: Any, heads: Any, leaf: int, of: int, special: int
) -> None:
    """Adds a conjunction of subscription `of` to a leaf that has room."""
    entry = state[ENTRIES_FREE]
    if entry != NONE:
        state[ENTRIES_FREE] = entries[entry, AT]
    else:
        entry = state[ENTRIES_END]
        state[ENTRIES_END] += 1
    place = nodes[leaf, COUNT]
    at = nodes[leaf, FIRST] + place
    outs[at] = of if special == NONE else ~special
    holders[at] = entry
    nodes[leaf, COUNT] += 1
    entries[entry, AT], entries[entry, PLACE], entries[entry, SPECIAL] = leaf, place, special
    entries[entry, OTHER] = heads[of]
    heads[of] = entry


@bare_kernel
def leave(nodes: Any, entries: Any, outs: Any, holders: Any, state: Any, entry: int) -> None:
    """Removes an entry from its leaf; the last one there takes its place."""
    leaf, place = entries[entry, AT], entries[entry, PLACE]
    nodes[leaf, COUNT] -= 1
    at, last = nodes[leaf, FIRST] + place, nodes[leaf, FIRST] + nodes[leaf, COUNT]
    outs[at], holders[at] = outs[last], holders[last]
    entries[holders[at], PLACE] = place
    entries[entry, AT] = state[ENTRIES_FREE]
    state[ENTRIES_FREE] = entry
    if nodes[leaf, COUNT] == 0:
        give_block(outs, state, nodes[leaf, FIRST], nodes[leaf, KIDS])
        nodes[leaf, KIDS] = NONE


# Successor annotation: the result of a followed value edge for the star sibling's edges.
#
# Where node n leads to c by a value and to s by its *-edge, and both test the same attribute, an event at c will also
# come to s with the same value. So every node d behind a value of c is annotated with the node behind the same value
# of s, or NONE: an event at d need not perform the test of s. While `ANNOTATED` of n is set this holds for all such
# d.


@bare_kernel
def spoil(nodes: Any, state: Any, node: int) -> None:
    """Invalidates the successors under a node: it is searched without them until it is annotated again."""
    if nodes[node, ANNOTATED] != 0:
        nodes[node, ANNOTATED] = 0
        state[STALE] += 1


@bare_kernel
def annotate_child(nodes: Any, bounds: Any, keys: Any, table: Any, child: int, star: int) -> None:
    """Annotates the values of one child, where it tests what the star child tests."""
    if star != NONE and nodes[child, LEVEL] == nodes[star, LEVEL] and nodes[child, LEVEL] != LEAF:
        kid = nodes[child, KIDS]
        while kid != NONE:
            nodes[kid, SUCCESSOR] = find(keys, table, star, bounds[kid, 0])
            kid = nodes[kid, NEXT]


@bare_kernel
def annotate(nodes: Any, bounds: Any, keys: Any, table: Any, state: Any, node: int, most: int) -> None:
    """Annotates everything two edges below a node, unless that is more than `most` lookups."""
    star, cost = nodes[node, STAR], 0
    child = nodes[node, KIDS]
    while child != NONE and star != NONE:
        alike = nodes[child, LEVEL] == nodes[star, LEVEL] and nodes[child, LEVEL] != LEAF
        cost += 1 + (nodes[child, COUNT] if alike else 0)
        if cost > most:
            spoil(nodes, state, node)
            return
        child = nodes[child, NEXT]
    child = nodes[node, KIDS]
    while child != NONE and star != NONE:
        annotate_child(nodes, bounds, keys, table, child, star)
        child = nodes[child, NEXT]
    if nodes[node, ANNOTATED] == 0:
        nodes[node, ANNOTATED] = 1
        state[STALE] -= 1


@bare_kernel
def value_changed(nodes: Any, bounds: Any, keys: Any, table: Any, state: Any, node: int, key: int, child: int) -> None:
    """Updates annotations after the edge of a branch node for `key` changed to `child` (or NONE)."""
    above = nodes[node, PARENT]
    if nodes[above, LEVEL] != ROOT and nodes[above, EDGE] != IN_RANGES and nodes[above, ANNOTATED] != 0:
        star = nodes[above, STAR]
        if nodes[node, EDGE] == ON_VALUE and child != NONE and star != NONE:
            if nodes[star, LEVEL] == nodes[node, LEVEL]:
                nodes[child, SUCCESSOR] = find(keys, table, star, key)
        elif nodes[node, EDGE] == ON_STAR:
            if nodes[above, COUNT] > ANNOTATIONS:
                spoil(nodes, state, above)
            else:
                sibling = nodes[above, KIDS]
                while sibling != NONE:
                    if nodes[sibling, LEVEL] == nodes[node, LEVEL]:
                        same = find(keys, table, sibling, key)
                        if same != NONE:
                            nodes[same, SUCCESSOR] = child
                    sibling = nodes[sibling, NEXT]
    if child != NONE and nodes[node, ANNOTATED] != 0:
        if nodes[child, LEVEL] != LEAF and nodes[child, COUNT] > ANNOTATIONS:
            spoil(nodes, state, node)
        else:
            annotate_child(nodes, bounds, keys, table, child, nodes[node, STAR])


@bare_kernel
def star_changed(nodes: Any, bounds: Any, keys: Any, table: Any, state: Any, node: int) -> None:
    """Updates annotations after the *-edge of a node changed."""
    if nodes[node, LEVEL] != ROOT and nodes[node, EDGE] != IN_RANGES and nodes[node, ANNOTATED] != 0:
        annotate(nodes, bounds, keys, table, state, node, ANNOTATIONS)


@bare_kernel
def annotate_all(nodes: Any, bounds: Any, keys: Any, table: Any, state: Any, end: int) -> None:
    """Annotates every node that is not annotated: the static analysis of the whole tree."""
    for node in range(end):
        branch = nodes[node, LEVEL] >= 0 and nodes[node, LEVEL] != LEAF and nodes[node, EDGE] != IN_RANGES
        if branch and nodes[node, ANNOTATED] == 0:
            annotate(nodes, bounds, keys, table, state, node, 1 << 60)
