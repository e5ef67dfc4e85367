"""Sets of places, each kept once under a number: an open-addressing table over flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import bare_kernel

# Counters of what is kept.
SETS, RANGES, FACTS, CONJUNCTIONS = range(4)


@bare_kernel
def hash_set(attribute: int, lows: Any, highs: Any, start: int, n: int) -> Any:
    value = np.uint64(attribute + 1) * np.uint64(0x9E3779B97F4A7C15)
    for i in range(start, start + n):
        value = (value ^ np.uint64(lows[i])) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(29)) ^ np.uint64(highs[i])) * np.uint64(0x94D049BB133111EB)
        value ^= value >> np.uint64(31)
    return value


@bare_kernel
def kept_set(attribute: int, sets: Any, at: int, n: int, extents: Any, counters: Any) -> int:
    """The number under which a set of an attribute's places is kept; a new one if need be."""
    offsets, lows, highs, owners, table = extents
    new_lows, new_highs = sets
    mask = len(table) - 1
    slot = np.int64(hash_set(attribute, new_lows, new_highs, at, n) & np.uint64(mask))
    while table[slot] >= 0:
        known = table[slot]
        start = offsets[known]
        if owners[known] == attribute and offsets[known + 1] - start == n:
            i = 0
            while i < n and lows[start + i] == new_lows[at + i] and highs[start + i] == new_highs[at + i]:
                i += 1
            if i == n:
                return known
        slot = (slot + 1) & mask
    number, end = counters[SETS], counters[RANGES]
    for i in range(n):
        lows[end + i], highs[end + i] = new_lows[at + i], new_highs[at + i]
    owners[number], offsets[number + 1], table[slot] = attribute, end + n, number
    counters[SETS], counters[RANGES] = number + 1, end + n
    return number


@bare_kernel
def enter_sets(extents: Any, count: int) -> None:
    """Fills an empty table with the sets that are kept."""
    offsets, lows, highs, owners, table = extents
    mask = len(table) - 1
    for number in range(count):
        start = offsets[number]
        slot = np.int64(hash_set(owners[number], lows, highs, start, offsets[number + 1] - start) & np.uint64(mask))
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = number
