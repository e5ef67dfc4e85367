"""Successor annotation: what a followed value edge already says about the star sibling's edges.

Where node n leads to c by a value and to s by its *-edge, and both test the same attribute, an event at c will also
come to s with the same value. So every node d behind a value of c is annotated with the node behind the same value of
s, or NONE: who reaches d need not perform the test of s. While `ANNOTATED` of n is set this holds for all such d.
"""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel
from tamis.lab.tree.layout import (
    ANNOTATED,
    ANNOTATIONS,
    COUNT,
    EDGE,
    IN_RANGES,
    KIDS,
    LEAF,
    LEVEL,
    NEXT,
    NONE,
    ON_STAR,
    ON_VALUE,
    PARENT,
    ROOT,
    STALE,
    STAR,
    SUCCESSOR,
    find,
)  # fmt: skip


@bare_kernel
def spoil(nodes: Any, state: Any, node: int) -> None:
    """The successors under a node are no longer known: it is searched without them until it is annotated again."""
    if nodes[node, ANNOTATED] != 0:
        nodes[node, ANNOTATED] = 0
        state[STALE] += 1


@bare_kernel
def annotate_child(nodes: Any, bounds: Any, keys: Any, table: Any, child: int, star: int) -> None:
    """The values of one child, where it tests what the star child tests."""
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
    """The edge of a branch node for `key` now leads to `child`, or nowhere (NONE)."""
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
    """The *-edge of a node now leads elsewhere."""
    if nodes[node, LEVEL] != ROOT and nodes[node, EDGE] != IN_RANGES and nodes[node, ANNOTATED] != 0:
        annotate(nodes, bounds, keys, table, state, node, ANNOTATIONS)


@bare_kernel
def annotate_all(nodes: Any, bounds: Any, keys: Any, table: Any, state: Any, end: int) -> None:
    """Annotates every node that is not: the static analysis of the whole tree."""
    for node in range(end):
        branch = nodes[node, LEVEL] >= 0 and nodes[node, LEVEL] != LEAF and nodes[node, EDGE] != IN_RANGES
        if branch and nodes[node, ANNOTATED] == 0:
            annotate(nodes, bounds, keys, table, state, node, 1 << 60)
