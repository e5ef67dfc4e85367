"""Growth of the matching tree: paths of conjunctions added and pruned, so that the tree depends only on its
subscriptions."""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel
from tamis.lab.tree.layout import (
    ANNOTATED,
    AT,
    COUNT,
    EDGE,
    EDGES,
    ENTRIES_END,
    FIRST,
    FREE,
    IN_RANGES,
    KIDS,
    LEAF,
    LEVEL,
    NEXT,
    NODES,
    NODES_END,
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
    STEPS,
    SUCCESSOR,
    enter,
    find,
    find_range,
    leave,
    make_room,
    put,
    range_key,
    slot_of,
    star_changed,
    take_out,
    value_changed,
)


@bare_kernel
def new_node(nodes: Any, state: Any, level: int) -> Any:
    node = state[NODES_FREE]
    if node != NONE:
        state[NODES_FREE] = nodes[node, STAR]
    else:
        node = state[NODES_END]
        state[NODES_END] += 1
    state[NODES] += 1
    nodes[node, LEVEL], nodes[node, COUNT], nodes[node, ANNOTATED], nodes[node, EDGE] = level, 0, 1, ON_STAR
    nodes[node, STAR], nodes[node, FIRST], nodes[node, KIDS], nodes[node, SUCCESSOR] = NONE, NONE, NONE, NONE
    nodes[node, NEXT], nodes[node, PREV], nodes[node, PARENT] = NONE, NONE, NONE
    return node


@bare_kernel
def link(nodes: Any, head: int, parent: int, node: int) -> None:
    """Puts a node at the front of one of the parent's lists (FIRST or KIDS)."""
    after = nodes[parent, head]
    nodes[node, NEXT], nodes[node, PREV] = after, NONE
    if after != NONE:
        nodes[after, PREV] = node
    nodes[parent, head] = node


@bare_kernel
def unlink(nodes: Any, head: int, parent: int, node: int) -> None:
    before, after = nodes[node, PREV], nodes[node, NEXT]
    if before != NONE:
        nodes[before, NEXT] = after
    else:
        nodes[parent, head] = after
    if after != NONE:
        nodes[after, PREV] = before


@bare_kernel
def lead(tree: Any, parent: int, edge: int, key: int, old: int, node: int) -> None:
    """Redirects an edge of the parent from `old` to `node` (`old` NONE: a new edge)."""
    nodes, bounds, keys, table, state = tree
    nodes[node, PARENT], nodes[node, EDGE] = parent, edge
    if edge == ON_STAR:
        nodes[parent, STAR] = node
        star_changed(nodes, bounds, keys, table, state, parent)
        return
    bounds[node, 0] = key
    if old == NONE:
        put(keys, table, parent, key, node)
        state[EDGES] += 1
        nodes[parent, COUNT] += 1
    else:
        table[slot_of(keys, table, parent, key, old), 1] = node
        unlink(nodes, KIDS, parent, old)
    link(nodes, KIDS, parent, node)
    value_changed(nodes, bounds, keys, table, state, parent, key, node)


@bare_kernel
def behind(tree: Any, parent: int, edge: int, key: int) -> Any:
    """Node that an edge leads to, or NONE."""
    nodes, _, keys, table, _ = tree
    if edge == ON_STAR:
        return nodes[parent, STAR]
    return find(keys, table, parent, key)


@bare_kernel
def branch_at(tree: Any, parent: int, edge: int, key: int, level: int) -> Any:
    """Node that tests this level, along *-edges from an edge on; inserted if there is none."""
    nodes, state = tree[0], tree[4]
    node = behind(tree, parent, edge, key)
    while node != NONE and nodes[node, LEVEL] < level:
        parent, edge, node = node, ON_STAR, nodes[node, STAR]
    if node != NONE and nodes[node, LEVEL] == level:
        return node
    fresh = new_node(nodes, state, level)
    lead(tree, parent, edge, key, node, fresh)
    if node != NONE:
        lead(tree, fresh, ON_STAR, 0, NONE, node)
    return fresh


@bare_kernel
def container(nodes: Any, bounds: Any, branch: int, low: int, high: int) -> Any:
    """Innermost range node that this range implies, as far as a short search finds it; the branch if none."""
    inside, node, steps = branch, nodes[branch, FIRST], 0
    while node != NONE and steps < STEPS:
        if bounds[node, 0] <= low and high <= bounds[node, 1]:
            inside, node = node, nodes[node, FIRST]
        else:
            node = nodes[node, NEXT]
        steps += 1
    return inside


@bare_kernel
def range_at(tree: Any, branch: int, low: int, high: int, related: int) -> Any:
    """Range node of this test under a branch node, made if there is none."""
    nodes, bounds, keys, table, state = tree
    node = find_range(keys, table, bounds, branch, low, high)
    if node != NONE:
        return node
    node = new_node(nodes, state, nodes[branch, LEVEL])
    parent = container(nodes, bounds, branch, low, high) if related > 0 else branch
    bounds[node, 0], bounds[node, 1] = low, high
    nodes[node, KIDS], nodes[node, PARENT], nodes[node, EDGE] = branch, parent, IN_RANGES
    link(nodes, FIRST, parent, node)
    put(keys, table, ~branch, range_key(low, high), node)
    state[EDGES] += 1
    return node


@bare_kernel
def value_branch(tree: Any, branch: int, key: int, related: int) -> Any:
    """Node whose value edge a value belongs to: the branch, or one behind a range that the value implies."""
    nodes, bounds, keys, table, _ = tree
    if related < 2 or find(keys, table, branch, key) != NONE:
        return branch
    inside = container(nodes, bounds, branch, key, key)
    if inside == branch:
        return branch
    return branch_at(tree, inside, ON_STAR, 0, nodes[branch, LEVEL])


@bare_kernel
def leaf_of(
    tree: Any, root: int, first: int, last: int, levels: Any, lows: Any, highs: Any, dropped: Any, stars: int,
    related: int,
) -> Any:  # fmt: skip
    """Leaf at the end of a conjunction's path; `stars` levels are passed explicitly, none if chains collapse."""
    parent, edge, key, passed = root, ON_STAR, 0, 0
    for i in range(first, last):
        level = levels[i]
        if level < len(dropped) and dropped[level]:
            continue
        while passed < min(level, stars):
            if not dropped[passed]:
                parent, edge = branch_at(tree, parent, edge, key, passed), ON_STAR
            passed += 1
        passed = level + 1
        branch = branch_at(tree, parent, edge, key, level)
        if lows[i] == highs[i]:
            parent, edge, key = value_branch(tree, branch, lows[i], related), ON_VALUE, lows[i]
        else:
            parent, edge, key = range_at(tree, branch, lows[i], highs[i], related), ON_STAR, 0
    while passed < stars:
        if not dropped[passed]:
            parent, edge = branch_at(tree, parent, edge, key, passed), ON_STAR
        passed += 1
    return branch_at(tree, parent, edge, key, LEAF)


@bare_kernel
def grow(
    tree: Any, leaves: Any, units: Any, begin: int, offsets: Any, levels: Any, lows: Any, highs: Any, owners: Any,
    specials: Any, factors: Any, dropped: Any, stars: int, related: int,
) -> int:  # fmt: skip
    """Adds conjunctions to trees: row (root, conjunction, bits of the factors that its root implies) of `units`.

    Returns the first row that did not fit any more: the arrays have to grow.
    """
    nodes, _, keys, _, state = tree
    entries, outs, holders, heads = leaves
    for unit in range(begin, len(units)):
        root, c, implied = units[unit, 0], units[unit, 1], units[unit, 2]
        first, last = offsets[c], offsets[c + 1]
        wanted = 4 * (last - first) + stars + 2
        if state[NODES_END] + wanted > len(nodes) or 2 * (state[EDGES] + wanted) > len(keys):
            return unit
        if state[ENTRIES_END] + 1 > len(entries):
            return unit
        for i in range(len(factors)):
            dropped[factors[i]] = (implied >> i) & 1
        leaf = leaf_of(tree, root, first, last, levels, lows, highs, dropped, stars, related)
        if not make_room(nodes, outs, holders, state, leaf):
            return unit
        enter(nodes, entries, outs, holders, state, heads, leaf, owners[c], specials[c])
    return len(units)


# Removal: nodes that no other subscription needs are removed as well, so that no trace is left.


@bare_kernel
def forget(nodes: Any, state: Any, node: int) -> None:
    """Puts an unreferenced node on the free list."""
    if nodes[node, ANNOTATED] == 0:
        state[STALE] -= 1
    nodes[node, LEVEL], nodes[node, STAR] = FREE, state[NODES_FREE]
    state[NODES_FREE] = node
    state[NODES] -= 1


@bare_kernel
def cut_off(tree: Any, node: int) -> None:
    """Removes the edge that leads to a node."""
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
    """Replaces a range node by the only range inside it."""
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
    """Removes a subscription everywhere. Its special conjunctions are noted in `freed` from `count` on."""
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
