"""Aho–Corasick automaton: many literals searched for in one scan, and the kernels that build it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.compiled import kernel
from tamis.matching.patterns.texts import frozen

# Building the automaton level by level from sorted keys, and one step of it.

# Columns of a node.
FIRST, SHAPE, FAIL, KEY = 0, 1, 2, 3
# The shape is the number of children above, the first child's label below. A leaf has a label that no byte equals.
LABEL_BITS = 9
LABEL_MASK = (1 << LABEL_BITS) - 1
NO_LABEL = 256


@kernel
def shared_prefixes(data: Any, offsets: Any, shared: Any) -> int:
    """`shared[i]`: how many bytes key i has in common with the one before. Returns the number of nodes of the trie."""
    nodes = 1
    for i in range(len(offsets) - 1):
        length = offsets[i + 1] - offsets[i]
        common = 0
        if i > 0:
            most = min(length, offsets[i] - offsets[i - 1])
            while common < most and data[offsets[i] + common] == data[offsets[i - 1] + common]:
                common += 1
        shared[i] = common
        nodes += length - common
    return nodes


@kernel
def grow(data: Any, offsets: Any, shared: Any, nodes: Any, labels: Any, parents: Any) -> None:
    """Numbers the trie breadth first, so that the children of a node, and of its successor, follow each other.

    Of the sorted keys that share a prefix only the first makes its node: that one shares less with its predecessor.
    """
    keys = len(offsets) - 1
    nodes[0, FIRST], nodes[0, SHAPE], nodes[0, FAIL], nodes[0, KEY] = 0, NO_LABEL, 0, -1
    # `alive[:count]` are the keys longer than `depth`, still sorted; `at[i]` is the node of key i's first `depth`
    # bytes.
    at = np.zeros(keys, np.int32)
    alive = np.arange(keys)
    made, depth, count = 1, 0, keys
    while count > 0:
        kept = 0
        for j in range(count):
            i = alive[j]
            # The first key with this prefix makes the node. Keys are sorted, so children of one parent are made one
            # after the other, in the order of their labels: FIRST and a count describe them.
            if shared[i] <= depth:
                parent, label = at[i], data[offsets[i] + depth]
                if nodes[parent, SHAPE] == NO_LABEL:
                    nodes[parent, FIRST] = made
                    nodes[parent, SHAPE] = label
                nodes[parent, SHAPE] += 1 << LABEL_BITS
                nodes[made, FIRST], nodes[made, SHAPE], nodes[made, FAIL], nodes[made, KEY] = 0, NO_LABEL, 0, -1
                labels[made] = label
                parents[made] = parent
                made += 1
            at[i] = made - 1
            # The key ends at this node; longer keys go on to the next depth.
            if offsets[i] + depth + 1 == offsets[i + 1]:
                nodes[made - 1, KEY] = i
            else:
                alive[kept] = i
                kept += 1
        count = kept
        depth += 1


@kernel
def child(nodes: Any, labels: Any, node: int, byte: int) -> int:
    """Child of a node under this byte, or -1."""
    shape = nodes[node, SHAPE]
    if shape & LABEL_MASK == byte:
        return nodes[node, FIRST]
    first = nodes[node, FIRST]
    for at in range(first + 1, first + (shape >> LABEL_BITS)):
        if labels[at] >= byte:
            return at if labels[at] == byte else -1
    return -1


@kernel
def link(nodes: Any, labels: Any, parents: Any, next_key: Any) -> None:
    """Sets failure links; each node's KEY becomes the longest key it ends with; keys are chained to shorter ones."""
    for node in range(1, len(nodes)):
        fail = 0
        if parents[node] != 0:
            at = nodes[parents[node], FAIL]
            while True:
                found = child(nodes, labels, at, labels[node])
                if found >= 0:
                    fail = found
                    break
                if at == 0:
                    break
                at = nodes[at, FAIL]
        nodes[node, FAIL] = fail
        key = nodes[node, KEY]
        if key >= 0:
            next_key[key] = nodes[fail, KEY]
        else:
            nodes[node, KEY] = nodes[fail, KEY]


@kernel
def fill_rows(nodes: Any, labels: Any, alphabet: Any, rows: Any) -> None:
    """Writes complete transitions of the first nodes: their failures are among them, being less deep."""
    rows[0, :] = 0
    for node in range(len(rows)):
        if node > 0:
            rows[node] = rows[nodes[node, FAIL]]
        first = nodes[node, FIRST]
        for at in range(first, first + (nodes[node, SHAPE] >> LABEL_BITS)):
            rows[node, alphabet[labels[at]]] = at


@kernel
def shorten(nodes: Any, labels: Any, first: int) -> None:
    """From node `first` on, makes failure links skip nodes that would only fail again on the same byte."""
    for node in range(first, len(nodes)):
        fail = nodes[node, FAIL]
        if fail >= first:
            shape = nodes[fail, SHAPE]
            if shape == NO_LABEL or (shape >> LABEL_BITS == 1 and child(nodes, labels, node, shape & LABEL_MASK) >= 0):
                nodes[node, FAIL] = nodes[fail, FAIL]


@kernel
def step(nodes: Any, labels: Any, alphabet: Any, rows: Any, node: int, byte: int) -> int:
    """Node reached from a node by a byte."""
    while node >= len(rows):
        found = child(nodes, labels, node, byte)
        if found >= 0:
            return found
        node = nodes[node, FAIL]
    return rows[node, alphabet[byte]]


# Complete rows for the nodes nearest the root, where a scan spends its time: half a megabyte, to stay in the cache.
_MOST_ROW_ENTRIES = 1 << 17


class Automaton(NamedTuple):
    """An Aho–Corasick automaton (Aho and Corasick 1975) over bytes, in flat arrays that never change.

    Nodes are numbered breadth first, node 0 being the root, so the children of a node are a run, in the order of their
    `labels`; `nodes` holds for each the first child, the shape (`LABEL_BITS`), the failure link, and the longest key
    that ends here, or -1. The first `len(rows)` nodes also have complete transitions by the byte's class in `alphabet`.
    Key k is wanted by `owners[owner_offsets[k]:owner_offsets[k + 1]]`; `next_key[k]` is the longest other key that k
    ends with, or -1.
    """

    alphabet: npt.NDArray[np.uint8]
    rows: npt.NDArray[np.int32]
    nodes: npt.NDArray[np.int32]
    labels: npt.NDArray[np.uint8]
    next_key: npt.NDArray[np.int32]
    owner_offsets: npt.NDArray[np.int32]
    owners: npt.NDArray[np.int32]

    @classmethod
    def build(cls, keys: Sequence[bytes], owners: npt.NDArray[np.int32]) -> Automaton:
        """An automaton in which `owners[i]` looks for `keys[i]`. No key is empty; several may be equal."""
        encoded = pa.array(keys, pa.large_binary()).dictionary_encode()
        order = pc.sort_indices(encoded.dictionary).to_numpy()
        distinct = encoded.dictionary.take(order)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        key_of_owner = rank[encoded.indices.to_numpy()]
        owner_offsets = np.zeros(len(distinct) + 1, np.int32)
        np.cumsum(np.bincount(key_of_owner, minlength=len(distinct)), out=owner_offsets[1:])

        data = np.frombuffer(distinct.buffers()[2] or b"", np.uint8)
        offsets = np.frombuffer(distinct.buffers()[1], np.int64)[: len(distinct) + 1]
        shared = np.zeros(len(distinct), np.int64)
        size = shared_prefixes(data, offsets, shared)
        nodes = np.empty((size, 4), np.int32)
        labels = np.zeros(size, np.uint8)
        parents = np.zeros(size, np.int32)
        next_key = np.full(len(distinct), -1, np.int32)
        grow(data, offsets, shared, nodes, labels, parents)
        link(nodes, labels, parents, next_key)

        alphabet, classes = _byte_classes(data)
        rows = np.empty((min(size, max(1, _MOST_ROW_ENTRIES // classes)), classes), np.int32)
        fill_rows(nodes, labels, alphabet, rows)
        shorten(nodes, labels, len(rows))
        by_key = np.argsort(key_of_owner, kind="stable")
        return cls(*map(frozen, (alphabet, rows, nodes, labels, next_key, owner_offsets, owners[by_key])))


def _byte_classes(data: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], int]:
    """A class for each byte that occurs in a key, and class 0 for all others: UTF-8 leaves some bytes to the others."""
    occurring = np.flatnonzero(np.bincount(data, minlength=256))
    alphabet = np.zeros(256, np.uint8)
    alphabet[occurring] = np.arange(1, len(occurring) + 1)
    return alphabet, len(occurring) + 1
