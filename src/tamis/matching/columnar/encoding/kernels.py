"""Values to codes. Every kernel writes `out[row, column]`; absent rows are left as they are."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

from tamis.matching.columnar.codes import ABSENT
from tamis.matching.columnar.intrinsics import load64

kernel = nb.njit(cache=True, nogil=True, boundscheck=False)

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIXER = np.uint64(0xBF58476D1CE4E5B9)
_BYTE_SHIFT = np.uint64(8)
_FOLD = np.uint64(29)


@kernel
def hash_bytes(data: Any, start: int, stop: int) -> Any:
    """A 64-bit hash of `data[start:stop]`, eight bytes at a step."""
    value = np.uint64(stop - start) * _MULTIPLIER
    at = start
    while at + 8 <= stop:
        value = (value ^ load64(data, at)) * _MIXER
        value ^= value >> _FOLD
        at += 8
    tail = np.uint64(0)
    while at < stop:
        tail = (tail << _BYTE_SHIFT) | np.uint64(data[at])
        at += 1
    value = (value ^ tail) * _MIXER
    value ^= value >> _FOLD
    return value * _MULTIPLIER


@kernel
def is_present(valid: Any, bit: int) -> bool:
    """Whether an Arrow validity bitmap (empty: all valid) has this bit."""
    return len(valid) == 0 or (valid[bit >> 3] >> (bit & 7)) & 1 == 1


@kernel
def fill_table(table: Any, offsets: Any, data: Any) -> None:
    """Enters the strings `data[offsets[i]:offsets[i + 1]]` into an open-addressing table of their numbers."""
    mask = np.uint64(len(table) - 1)
    for i in range(len(offsets) - 1):
        slot = np.int64((hash_bytes(data, offsets[i], offsets[i + 1]) >> np.uint64(20)) & mask)
        while table[slot] >= 0:
            slot = (slot + 1) & np.int64(mask)
        table[slot] = i


@kernel
def find_string(table: Any, offsets: Any, data: Any, text: Any, start: int, stop: int) -> int:
    """The number of the string `text[start:stop]`, or -1."""
    if len(table) == 0:
        return -1
    mask = np.uint64(len(table) - 1)
    slot = np.int64((hash_bytes(text, start, stop) >> np.uint64(20)) & mask)
    while True:
        number = table[slot]
        if number < 0:
            return -1
        begin = offsets[number]
        if offsets[number + 1] - begin == stop - start:
            same = True
            for i in range(stop - start):
                if data[begin + i] != text[start + i]:
                    same = False
                    break
            if same:
                return np.int64(number)
        slot = (slot + 1) & np.int64(mask)


@kernel
def strings_below(offsets: Any, data: Any, text: Any, start: int, stop: int) -> int:
    """How many of the sorted strings are below `text[start:stop]`, byte by byte."""
    low, high = 0, len(offsets) - 1
    while low < high:
        middle = (low + high) >> 1
        begin, end = offsets[middle], offsets[middle + 1]
        length = min(end - begin, stop - start)
        order = 0
        for i in range(length):
            a, b = data[begin + i], text[start + i]
            if a != b:
                order = -1 if a < b else 1
                break
        if order == 0 and end - begin < stop - start:
            order = -1
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def encode_strings(
    valid: Any, bit: int, starts: Any, text: Any, table: Any, offsets: Any, data: Any, ordered: bool, out: Any, column: int
) -> None:
    """Exact constants by hash; where some comparison is by order, the others by binary search."""
    for row in range(len(starts) - 1):
        if not is_present(valid, bit + row):
            continue
        number = find_string(table, offsets, data, text, np.int64(starts[row]), np.int64(starts[row + 1]))
        if number >= 0:
            out[row, column] = 2 * number + 1
        elif ordered:
            out[row, column] = 2 * strings_below(offsets, data, text, np.int64(starts[row]), np.int64(starts[row + 1]))
        else:
            out[row, column] = 0


@kernel
def cell_of(value: float, low: float, scale: float, cells: int) -> int:
    """A cell number that never falls as the value grows; exactness is the search's business, not the cell's."""
    if not value > low:
        return 0
    cell = (value - low) * scale  # infinite or NaN for infinite values: the last cell, as it should be
    return np.int64(cell) if cell < cells - 1 else cells - 1


@kernel
def fill_cells(constants: Any, low: float, scale: float, starts: Any) -> None:
    """`starts[c]`: how many constants lie in cells below c."""
    cells = len(starts) - 1
    for i in range(len(constants)):
        starts[cell_of(np.float64(constants[i]), low, scale, cells) + 1] += 1
    for c in range(cells):
        starts[c + 1] += starts[c]


@kernel
def encode_numbers(
    valid: Any, bit: int, values: Any, constants: Any, low: float, scale: float, starts: Any, out: Any, column: int
) -> int:
    """Codes of numbers among sorted constants. Returns the row of a NaN, or -1."""
    cells = len(starts) - 1
    for row in range(len(values)):
        if not is_present(valid, bit + row):
            continue
        value = values[row]
        if value != value:
            return row
        cell = cell_of(np.float64(value), low, scale, cells)
        first, last = np.int64(starts[cell]), np.int64(starts[cell + 1])
        while first < last:
            middle = (first + last) >> 1
            if constants[middle] < value:
                first = middle + 1
            else:
                last = middle
        found = first < len(constants) and constants[first] == value
        out[row, column] = 2 * first + found
    return -1


@kernel
def gather_sets(
    valid: Any, bit: int, lists: Any, piece_offsets: Any, pieces: Any, ends: Any, codes: Any, base: int
) -> int:
    """The set of codes of each row: sorted, each once, absent ones left out.

    Row r is made of the pieces `lists[r] - lists[0]` up to `lists[r + 1] - lists[0]`. Row r's set is
    `codes[ends[r]:ends[r + 1]]`. Returns the end.
    """
    end = base
    ends[0] = base
    for row in range(len(lists) - 1):
        start = end
        if is_present(valid, bit + row):
            for piece in range(lists[row] - lists[0], lists[row + 1] - lists[0]):
                for i in range(piece_offsets[piece], piece_offsets[piece + 1]):
                    code = pieces[i]
                    if code == ABSENT:
                        continue
                    at = end
                    while at > start and codes[at - 1] > code:
                        at -= 1
                    if at > start and codes[at - 1] == code:
                        continue
                    for j in range(end, at, -1):
                        codes[j] = codes[j - 1]
                    codes[at] = code
                    end += 1
        ends[row + 1] = end
    return end


@kernel
def extremes(ends: Any, codes: Any, out: Any, least: int, greatest: int) -> None:
    """The least and the greatest code of each row's set, into the columns of these numbers (-1: not wanted)."""
    for row in range(len(ends) - 1):
        if ends[row] < ends[row + 1]:
            if least >= 0:
                out[row, least] = codes[ends[row]]
            if greatest >= 0:
                out[row, greatest] = codes[ends[row + 1] - 1]
