"""The hash of (node, value) → child, one table for the whole tree; ranges stand under the complement of a node."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import bare_kernel
from tamis.lab.tree.layout import NONE
from tamis.matching.codes.encoding_kernels import mixed

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@bare_kernel
def home(node: int, key: int, mask: int) -> Any:
    """The slot where the search for an edge begins."""
    return np.int64(mixed(np.uint64(key) ^ (np.uint64(np.int64(node)) * _SPREAD))) & mask


@bare_kernel
def find(keys: Any, table: Any, node: int, key: int) -> Any:
    """The child behind a value edge, or NONE."""
    mask = len(keys) - 1
    slot = home(node, key, mask)
    while table[slot, 1] != NONE:
        if table[slot, 0] == node and keys[slot] == key:
            return np.int64(table[slot, 1])
        slot = (slot + 1) & mask
    return np.int64(NONE)


@bare_kernel
def range_key(low: int, high: int) -> Any:
    return np.int64(mixed(np.uint64(low)) ^ np.uint64(high))


@bare_kernel
def find_range(keys: Any, table: Any, bounds: Any, node: int, low: int, high: int) -> Any:
    """The range node of exactly this test under a branch node, or NONE."""
    mask, key = len(keys) - 1, range_key(low, high)
    slot = home(~node, key, mask)
    while table[slot, 1] != NONE:
        child = table[slot, 1]
        if table[slot, 0] == ~node and keys[slot] == key and bounds[child, 0] == low and bounds[child, 1] == high:
            return np.int64(child)
        slot = (slot + 1) & mask
    return np.int64(NONE)


@bare_kernel
def put(keys: Any, table: Any, node: int, key: int, child: int) -> None:
    """Enters an edge that is not there."""
    mask = len(keys) - 1
    slot = home(node, key, mask)
    while table[slot, 1] != NONE:
        slot = (slot + 1) & mask
    keys[slot], table[slot, 0], table[slot, 1] = key, node, child


@bare_kernel
def slot_of(keys: Any, table: Any, node: int, key: int, child: int) -> Any:
    """Where an edge that is there stands."""
    mask = len(keys) - 1
    slot = home(node, key, mask)
    while table[slot, 0] != node or keys[slot] != key or table[slot, 1] != child:
        slot = (slot + 1) & mask
    return slot


@bare_kernel
def take_out(keys: Any, table: Any, node: int, key: int, child: int) -> None:
    """Deletes an edge that is there, and closes the gap: no tombstones stay."""
    mask = len(keys) - 1
    hole = slot_of(keys, table, node, key, child)
    at = hole
    while True:
        at = (at + 1) & mask
        if table[at, 1] == NONE:
            break
        if ((at - home(np.int64(table[at, 0]), keys[at], mask)) & mask) >= ((at - hole) & mask):
            keys[hole], table[hole, 0], table[hole, 1] = keys[at], table[at, 0], table[at, 1]
            hole = at
    table[hole, 1] = NONE


@bare_kernel
def refill(old_keys: Any, old: Any, keys: Any, table: Any) -> None:
    """All edges into a larger, empty table."""
    for slot in range(len(old_keys)):
        if old[slot, 1] != NONE:
            put(keys, table, np.int64(old[slot, 0]), old_keys[slot], np.int64(old[slot, 1]))
