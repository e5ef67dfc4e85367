"""The way of a message through a tree of nodes, over those links whose filters it passes."""

from __future__ import annotations

from typing import Any, NamedTuple

from tamis.compiled import bare_kernel, inlined_kernel
from tamis.lab.networks.regions import Floats, Integers
from tamis.lab.networks.trees import ROOT


class Links(NamedTuple):
    """The arrays of a network of links, for kernels.

    Node n hands messages to `child[first[n]:first[n + 1]]`; the place of one in it is the number of the link to it.
    What is behind the link to node n are the boxes from `first_box[n]` on, a binary tree as in a heap: box k holds the
    boxes 2k + 1 and 2k + 2, and the last `leaves[n]` of them hold the points behind the link.
    """

    first: Integers
    child: Integers
    first_box: Integers
    leaves: Integers
    low: Floats
    high: Floats
    home: int


@inlined_kernel
def _touches(links: Any, box: int, low: Any, high: Any, other: int) -> bool:
    for d in range(low.shape[1]):
        if links.high[box, d] < low[other, d] or high[other, d] < links.low[box, d]:
            return False
    return True


@bare_kernel
def passes(links: Any, node: int, first: Any, low: Any, high: Any, region: int, stack: Any, start: int) -> bool:
    """Whether a region touches one of the boxes that hold what is behind the link to a node.

    The stack is free from `start` on.
    """
    leaves = links.leaves[node]
    if leaves == 0:
        return False
    root = links.first_box[node]
    for box in range(first[region], first[region + 1]):
        depth = start + 1
        stack[start] = 0
        while depth > start:
            depth -= 1
            here = stack[depth]
            if not _touches(links, root + here, low, high, box):
                continue
            if here >= leaves - 1:
                return True
            stack[depth] = 2 * here + 2
            stack[depth + 1] = 2 * here + 1
            depth += 2
    return False


@bare_kernel
def spread(links: Any, first: Any, low: Any, high: Any, region: int, way: Any) -> int:
    """The tree of a message for a region, written to `way`; how many places it has."""
    way.stamp[0] += 1
    way.node[0], way.parent[0], way.link[0] = links.home, ROOT, 0
    count, place = 1, 0
    while place < count:
        node = way.node[place]
        for k in range(links.first[node], links.first[node + 1]):
            if passes(links, links.child[k], first, low, high, region, way.stack, 0):
                way.node[count], way.parent[count], way.link[count] = links.child[k], place, k - links.first[node]
                count += 1
        place += 1
    return count
