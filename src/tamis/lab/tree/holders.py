"""The subscriptions of a tree that hold the patterns of an attribute."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.arrays import Int64s
from tamis.compiled import bare_kernel
from tamis.lab.tree.checks import Checks
from tamis.lab.tree.layout import (
    AT,
    EDGE,
    LEVEL,
    LISTED,
    NONE,
    OF,
    ON_VALUE,
    OTHER,
    PARENT,
    ROOT,
    TEST_COUNT,
    TESTS,
)  # fmt: skip
from tamis.lab.tree.roster import Roster
from tamis.lab.tree.tree import Tree
from tamis.lab.tree.vocabulary import Source, Vocabulary
from tamis.matching.codes.columns import Column, Kind
from tamis.matching.codes.holders import Holders, ranges
from tamis.matching.patterns import PatternSet


@bare_kernel
def values_on_paths(nodes: Any, bounds: Any, entries: Any, heads: Any, level: int, found: Any) -> int:
    """Writes (value, subscription) where a path has a value edge of a level; returns how many rows."""
    count = 0
    for owner in range(len(heads)):
        entry = heads[owner]
        while entry != NONE:
            node = entries[entry, AT]
            while nodes[node, LEVEL] != ROOT:
                parent = nodes[node, PARENT]
                if nodes[node, EDGE] == ON_VALUE and nodes[parent, LEVEL] == level:
                    found[count, 0], found[count, 1] = bounds[node, 0], owner
                    count += 1
                    break
                node = parent
            entry = entries[entry, OTHER]
    return count


def holders_of(
    tree: Tree, checks: Checks, vocabulary: Vocabulary, roster: Roster, patterns: PatternSet
) -> Holders | None:
    """Those that are in the tree now; None if the set is not the tree's. Takes a look at every path."""
    for attribute, one in vocabulary.sets.items():
        if one is patterns:
            column = vocabulary.numbers[Source(Column(Kind.PATTERNS, attribute))]
            paths = np.empty((len(tree.entries), 2), np.int64)
            paths = paths[: values_on_paths(tree.nodes, tree.bounds, tree.entries, tree.heads, column, paths)]
            pairs = np.unique(np.concatenate([paths, _tested(checks, column, len(patterns))]), axis=0)
            return Holders(pairs[:, 0], pairs[:, 1], roster)
    return None


def _tested(checks: Checks, column: int, patterns: int) -> Int64s:
    """Rows (pattern, subscription) of the tests on a column; a pattern may stand on the path instead."""
    special = checks.specials[(checks.specials[:, OF] >= 0) & (checks.specials[:, TEST_COUNT] > 0)]
    counts = special[:, TEST_COUNT].astype(np.int64)
    tests = checks.lists[ranges(special[:, TESTS].astype(np.int64), counts)]
    owners = np.repeat(special[:, OF].astype(np.int64), counts)
    on_column = checks.tests[tests, 0] == column
    tests, owners = tests[on_column], owners[on_column]
    distinct, which = np.unique(tests, return_inverse=True)
    held = [np.zeros(0, np.int64)]
    for _, flags, low, high in checks.tests[distinct].tolist():
        held.append(checks.listed[low:high] if flags & LISTED else np.arange(max(low, 0), min(high + 1, patterns)))
    lengths = np.array([len(some) for some in held[1:]], np.int64)
    firsts = np.cumsum(lengths) - lengths
    of_each = lengths[which]
    return np.column_stack([np.concatenate(held)[ranges(firsts[which], of_each)], np.repeat(owners, of_each)])
