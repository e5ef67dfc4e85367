"""The tree in flat arrays: what a row of each of them holds. Kernels share these numbers."""

from __future__ import annotations

import numpy as np

# A node's row. A branch node tests the attribute of its level; a leaf (level LEAF) holds subscriptions; a range node
# (edge IN_RANGES) holds one test of its parent's level, and what its edge leads to when the test holds is its STAR; a
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

# An entry's row: one conjunction at one leaf.
AT, PLACE, OTHER, SPECIAL = 0, 1, 2, 3  # its leaf, its place there, the subscription's next entry, its own checks

# A special conjunction's row: it has tests of its own, or a subscription that has other conjunctions too.
OF, TESTS, TEST_COUNT, SEVERAL = 0, 1, 2, 3

# The counters of the tree itself, then the heads of the free blocks by class.
NODES_END, NODES_FREE, NODES, EDGES, ENTRIES_END, ENTRIES_FREE, POOL_END, STALE = range(8)
CLASSES = 8
STATE = CLASSES + 32

NEGATED, LISTED = 1, 2  # flags of a test

LOWEST, HIGHEST = np.int64(-(2**63)), np.int64(2**63 - 1)

# How far a change goes to keep things tidy: beyond, it leaves a wider path or a node without successors.
STEPS, ANNOTATIONS = 256, 256
