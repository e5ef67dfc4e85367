"""Loose conditions, each with the number of its conjunction, into compact rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import kernel

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIXER = np.uint64(0xBF58476D1CE4E5B9)


@kernel
def gather_intervals(count: int, conjuncts: Any, columns: Any, lows: Any, highs: Any, possible: Any) -> Any:
    """Intervals by conjunction, ascending by column, those on one column intersected.

    `possible[c]` turns False where an intersection is empty. Returns offsets, columns, lows, highs.
    """
    starts = np.zeros(count + 1, np.int64)
    for i in range(len(conjuncts)):
        starts[conjuncts[i] + 1] += 1
    for c in range(count):
        starts[c + 1] += starts[c]
    filled = starts[:-1].copy()
    out_columns = np.empty(len(columns), np.int32)
    out_lows, out_highs = np.empty(len(columns), np.int32), np.empty(len(columns), np.int32)
    ends = filled.copy()
    for i in range(len(conjuncts)):
        c = conjuncts[i]
        at = ends[c]
        while at > filled[c] and out_columns[at - 1] > columns[i]:
            at -= 1
        if at > filled[c] and out_columns[at - 1] == columns[i]:
            out_lows[at - 1] = max(out_lows[at - 1], lows[i])
            out_highs[at - 1] = min(out_highs[at - 1], highs[i])
            continue
        for j in range(ends[c], at, -1):
            out_columns[j], out_lows[j], out_highs[j] = out_columns[j - 1], out_lows[j - 1], out_highs[j - 1]
        out_columns[at], out_lows[at], out_highs[at] = columns[i], lows[i], highs[i]
        ends[c] += 1
    offsets = np.zeros(count + 1, np.int64)
    end = 0
    for c in range(count):
        for i in range(filled[c], ends[c]):
            out_columns[end], out_lows[end], out_highs[end] = out_columns[i], out_lows[i], out_highs[i]
            possible[c] &= out_lows[i] <= out_highs[i]
            end += 1
        offsets[c + 1] = end
    return offsets, out_columns[:end].copy(), out_lows[:end].copy(), out_highs[:end].copy()


@kernel
def distinct_rows(rows: Any, numbers: Any) -> Any:
    """Numbers equal rows alike, by first appearance; returns the positions of the first appearances."""
    size = 16
    while size < 2 * len(rows):
        size *= 2
    table = np.full(size, -1, np.int64)
    firsts = np.empty(len(rows), np.int64)
    count = 0
    for i in range(len(rows)):
        value = np.uint64(0)
        for j in range(rows.shape[1]):
            value = (value ^ np.uint64(rows[i, j])) * _MULTIPLIER
            value ^= value >> np.uint64(31)
        slot = np.int64((value * _MIXER) >> np.uint64(24)) & (size - 1)
        while True:
            number = table[slot]
            if number < 0:
                table[slot] = count
                firsts[count] = i
                numbers[i] = count
                count += 1
                break
            same = True
            for j in range(rows.shape[1]):
                if rows[firsts[number], j] != rows[i, j]:
                    same = False
                    break
            if same:
                numbers[i] = number
                break
            slot = (slot + 1) & (size - 1)
    return firsts[:count].copy()


@kernel
def gather_numbers(count: int, conjuncts: Any, numbers: Any) -> Any:
    """Test numbers by conjunction. Returns offsets and numbers."""
    offsets = np.zeros(count + 1, np.int64)
    for i in range(len(conjuncts)):
        offsets[conjuncts[i] + 1] += 1
    for c in range(count):
        offsets[c + 1] += offsets[c]
    filled = offsets[:-1].copy()
    out = np.empty(len(numbers), np.int32)
    for i in range(len(conjuncts)):
        out[filled[conjuncts[i]]] = numbers[i]
        filled[conjuncts[i]] += 1
    return offsets, out


@kernel
def take_rows(rows: Any, offsets: Any, out_offsets: Any) -> Any:
    """Positions of the items of the given rows, row by row; fills their offsets."""
    out_offsets[0] = 0
    for i in range(len(rows)):
        out_offsets[i + 1] = out_offsets[i] + offsets[rows[i] + 1] - offsets[rows[i]]
    positions = np.empty(out_offsets[len(rows)], np.int64)
    for i in range(len(rows)):
        for j in range(out_offsets[i + 1] - out_offsets[i]):
            positions[out_offsets[i] + j] = offsets[rows[i]] + j
    return positions
