"""The subscriptions at the leaves: a block of the pool a leaf, blocks of 1, 2, 4, … places, free ones in lists.

Place i of a leaf's block holds in `outs` what a match is: the subscription's number, or the complement of the number
of a special conjunction, which has to be looked at first; and in `holders` the entry that stands there.
"""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel
from tamis.lab.tree.layout import (
    AT,
    CLASSES,
    COUNT,
    ENTRIES_END,
    ENTRIES_FREE,
    FIRST,
    KIDS,
    NONE,
    OTHER,
    PLACE,
    POOL_END,
    SPECIAL,
)  # fmt: skip


@bare_kernel
def take_block(outs: Any, state: Any, size_class: int) -> Any:
    """Where a free block of this class begins; NONE if the pool is full."""
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
    """Room for one more at a leaf; False if the pool is full."""
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
    """Puts a conjunction of subscription `of` at a leaf that has room."""
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
    """Takes an entry from its leaf; the last one there takes its place."""
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
