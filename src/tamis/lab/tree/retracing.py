"""From leaves back up: the conjunctions that a tree holds, read off their paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.compiled import bare_kernel
from tamis.lab.tree.conjunctions import Conjunctions
from tamis.lab.tree.layout import AT, EDGE, IN_RANGES, LEVEL, NONE, ON_VALUE, OTHER, PARENT, ROOT, SPECIAL

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


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
    """The owners, entries and lengths of the paths in one tree, as rows of `found`. Returns how many."""
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
    """The conjunctions of one tree."""
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
