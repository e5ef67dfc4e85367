"""Many literals looked for in one scan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.matching.patterns.automaton_kernels import fill_rows, grow, link, shared_prefixes, shorten
from tamis.matching.patterns.texts import frozen

# Complete rows for the nodes nearest the root, where a scan spends its time: half a megabyte, to stay in the cache.
_MOST_ROW_ENTRIES = 1 << 17


class Automaton(NamedTuple):
    """An Aho–Corasick automaton (Aho and Corasick 1975) over bytes, in flat arrays that never change.

    Nodes are numbered breadth first, node 0 being the root, so the children of a node are a run, in the order of their
    `labels`; `nodes` holds for each the first child, the shape (see kernels), the failure link, and the longest key
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
