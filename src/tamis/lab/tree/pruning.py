"""Subscriptions out of the tree: what no other needs goes with them, and the tree is as if they had never been."""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel
from tamis.lab.tree.growing import lead, unlink
from tamis.lab.tree.layout import (
    ANNOTATED,
    AT,
    COUNT,
    EDGE,
    EDGES,
    FIRST,
    FREE,
    IN_RANGES,
    KIDS,
    LEVEL,
    NEXT,
    NODES,
    NODES_FREE,
    NONE,
    ON_STAR,
    ON_VALUE,
    OTHER,
    PARENT,
    PREV,
    ROOT,
    SPECIAL,
    STALE,
    STAR,
    leave,
    range_key,
    take_out,
)  # fmt: skip
from tamis.lab.tree.successors import star_changed, value_changed


@bare_kernel
def forget(nodes: Any, state: Any, node: int) -> None:
    """Puts a node that nothing leads to on the free list."""
    if nodes[node, ANNOTATED] == 0:
        state[STALE] -= 1
    nodes[node, LEVEL], nodes[node, STAR] = FREE, state[NODES_FREE]
    state[NODES_FREE] = node
    state[NODES] -= 1


@bare_kernel
def cut_off(tree: Any, node: int) -> None:
    """Takes away the edge that leads to a node."""
    nodes, bounds, keys, table, state = tree
    parent, edge = nodes[node, PARENT], nodes[node, EDGE]
    if edge == ON_STAR:
        nodes[parent, STAR] = NONE
        star_changed(nodes, bounds, keys, table, state, parent)
    elif edge == ON_VALUE:
        key = bounds[node, 0]
        take_out(keys, table, parent, key, node)
        state[EDGES] -= 1
        nodes[parent, COUNT] -= 1
        unlink(nodes, KIDS, parent, node)
        value_changed(nodes, bounds, keys, table, state, parent, key, NONE)
    else:
        branch = nodes[node, KIDS]
        take_out(keys, table, ~branch, range_key(bounds[node, 0], bounds[node, 1]), node)
        state[EDGES] -= 1
        unlink(nodes, FIRST, parent, node)


@bare_kernel
def hand_over(tree: Any, node: int) -> None:
    """Puts the only range inside a range node in its place."""
    nodes, bounds, keys, table, state = tree
    inner, parent = nodes[node, FIRST], nodes[node, PARENT]
    before, after = nodes[node, PREV], nodes[node, NEXT]
    nodes[inner, PREV], nodes[inner, NEXT], nodes[inner, PARENT] = before, after, parent
    if before != NONE:
        nodes[before, NEXT] = inner
    else:
        nodes[parent, FIRST] = inner
    if after != NONE:
        nodes[after, PREV] = inner
    take_out(keys, table, ~nodes[node, KIDS], range_key(bounds[node, 0], bounds[node, 1]), node)
    state[EDGES] -= 1
    forget(nodes, state, node)


@bare_kernel
def prune(tree: Any, node: int, collapse: bool) -> None:
    """Removes an empty leaf, and upwards every node that leads nowhere any more."""
    nodes, bounds, _, _, state = tree
    while True:
        parent = nodes[node, PARENT]
        cut_off(tree, node)
        forget(nodes, state, node)
        if nodes[parent, LEVEL] == ROOT:
            return
        inside, star = nodes[parent, FIRST], nodes[parent, STAR]
        if nodes[parent, EDGE] == IN_RANGES:
            if star != NONE:
                return
            if inside != NONE:
                if nodes[inside, NEXT] == NONE:
                    hand_over(tree, parent)
                return
        elif nodes[parent, COUNT] > 0 or inside != NONE:
            return
        elif star != NONE:
            if collapse:
                lead(tree, nodes[parent, PARENT], nodes[parent, EDGE], bounds[parent, 0], parent, star)
                forget(nodes, state, parent)
            return
        node = parent


@bare_kernel
def drop(tree: Any, leaves: Any, of: int, collapse: bool, freed: Any, count: int) -> int:
    """Takes a subscription out wherever it stands. Its special conjunctions are noted in `freed` from `count` on."""
    nodes, state = tree[0], tree[4]
    entries, outs, holders, heads = leaves
    entry = heads[of]
    while entry != NONE:
        following, leaf = entries[entry, OTHER], entries[entry, AT]
        if entries[entry, SPECIAL] != NONE:
            freed[count] = entries[entry, SPECIAL]
            count += 1
        leave(nodes, entries, outs, holders, state, entry)
        if nodes[leaf, COUNT] == 0:
            prune(tree, leaf, collapse)
        entry = following
    heads[of] = NONE
    return count
