"""Kernels that encode values as integer codes, and `Conjuncts`, a level's conjunctions over codes.

`out[row, column]` is written where the value is present, and left as it is elsewhere.
Arrow's buffers and the dictionaries' arrays come by address, a *job* a column, so that a batch is encoded in one call
however many columns it has; whoever makes the jobs keeps the arrays alive.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.arrays import Arrays, Int32s
from tamis.compiled import bare_kernel, kernel
from tamis.errors import TamisError
from tamis.matching.codes.intrinsics import read_byte, read_float, read_int32, read_int64, trailing_zeros

# Codes: what a value becomes before it is compared.
#
# Every constant that the subscriptions of a level compare an attribute with has a rank r among that attribute's
# constants, and the code 2r + 1; a value between two constants has the even code between theirs. So every comparison
# of the language is `low <= code <= high` over int32, exactly, and an absent attribute fails each of them by itself.

ABSENT = np.int32(-(2**31))  # below LOWEST: fails every interval
LOWEST = np.int32(-(2**31) + 1)  # an open lower end
HIGHEST = np.int32(2**31 - 1)  # an open upper end

MOST_NUMBERED = 2**31 - 1  # conjunctions, entries, words of a level: their numbers are int32 too
MOST_COLUMNS = 2**16  # of a level: uint16, and what a dimension's id leaves for them


def refuse_excess(count: int, most: int, what: str) -> None:
    """Raises `TamisError` where a level would need numbers that do not fit."""
    if count > most:
        raise TamisError(
            f"the subscriptions come to {count:,} {what} and an index holds {most:,}; compile them into several indexes"
        )


# Conjunctions over codes: what is left of the subscriptions once their constants have become codes.


NEGATED, LISTED = 1, 2  # flags of a test


@dataclass(frozen=True)
class Conjuncts:
    """Conjunction c holds iff all its intervals and all its tests do.

    Intervals `offsets[c]:offsets[c + 1]`, ascending by column, a column once: `lows <= code <= highs` on single-code
    columns. On a set column an interval is one code that the set must contain; it is there to find the conjunction by,
    and the same condition stands among the tests, which alone decide it.

    Tests `test_offsets[c]:test_offsets[c + 1]` are numbers of distinct tests: some code of the test's column lies in
    `test_lows..test_highs`, or, if LISTED, among `listed[test_lows:test_highs]` (ascending); NEGATED turns it round.
    Conjunctions below `simple` are the one conjunction of the subscription of the same number; the others
    belong to subscription `owners[c - simple]` (ascending), which has several.
    """

    simple: int
    owners: Int32s
    offsets: Int32s
    columns: npt.NDArray[np.uint16]
    lows: Int32s
    highs: Int32s
    test_offsets: Int32s
    tests: Int32s
    test_columns: Int32s
    test_flags: Int32s
    test_lows: Int32s
    test_highs: Int32s
    listed: Int32s

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def special(self) -> npt.NDArray[np.int8]:
        """Conjunctions that need more than their intervals: tests, or a subscription that has other conjunctions."""
        special = np.diff(self.test_offsets) > 0
        special[self.simple :] = True
        return special.astype(np.int8)

    def arrays(self) -> Arrays:
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "simple"}
        return {**named, "simple": np.array([self.simple], np.int64)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Conjuncts:
        named = {f.name: arrays[f.name] for f in fields(cls) if f.name != "simple"}
        return cls(simple=int(arrays["simple"][0]), **named)


# The forms of a job, and its fields.
DIRECT, INTEGERS, FLOATS, STRINGS, LARGE_STRINGS = 0, 1, 2, 3, 4
FORM, COLUMN, VALID, BIT, VALUES, TEXT, TABLE, SIZE, CONSTANTS, COUNT, DATA, ORDERED, LIMIT, FIELDS = range(14)

SHORT = 7  # bytes of a string that fit into a word with its length: their hash says all of them
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIXER = np.uint64(0xBF58476D1CE4E5B9)
_FOLD = np.uint64(29)
EIGHT, ONE = np.uint64(8), np.uint64(1)


@bare_kernel
def mixed(value: Any) -> Any:
    """Turns a word into another, one to one."""
    value *= _MULTIPLIER
    value ^= value >> _FOLD
    value *= _MIXER
    return value ^ (value >> np.uint64(32))


@bare_kernel
def hash_at(address: int, size: int, limit: int) -> Any:
    """A 64-bit hash of the bytes at an address; up to SHORT bytes, no two strings have the same one.

    Memory may be read up to `limit`: short strings are read as one word, for their lengths are hard to predict.
    """
    if size <= SHORT:
        word = np.uint64(0)
        if address + 8 <= limit:
            word = np.uint64(read_int64(address, 0)) & ((ONE << np.uint64(8 * size)) - ONE)
        else:
            for i in range(size):
                word |= np.uint64(read_byte(address, i)) << np.uint64(8 * i)
        return mixed(word | (np.uint64(size) << np.uint64(56)))
    value = np.uint64(size)
    at, left = address, size
    while left >= 8:
        value = mixed(value ^ np.uint64(read_int64(at, 0)))
        at += 8
        left -= 8
    tail = np.uint64(0)
    while left > 0:
        tail = (tail << EIGHT) | np.uint64(read_byte(at, 0))
        at += 1
        left -= 1
    return mixed(value ^ tail)


@bare_kernel
def same_bytes(a: int, b: int, size: int) -> bool:
    at = 0
    while at + 8 <= size:
        if read_int64(a + at, 0) != read_int64(b + at, 0):
            return False
        at += 8
    while at < size:
        if read_byte(a + at, 0) != read_byte(b + at, 0):
            return False
        at += 1
    return True


@bare_kernel
def fill_table(slots: Any, offsets: Any, data: int) -> None:
    """Enters the strings at `data + offsets[i]` into pairs (hash, 2 * number + is it short), -1 where free."""
    mask = len(slots) // 2 - 1
    for i in range(len(offsets) - 1):
        size = offsets[i + 1] - offsets[i]
        value = hash_at(data + offsets[i], size, data + offsets[len(offsets) - 1])
        slot = np.int64(value) & mask
        while slots[2 * slot + 1] >= 0:
            slot = (slot + 1) & mask
        slots[2 * slot] = np.int64(value)
        slots[2 * slot + 1] = 2 * i + (size <= SHORT)


@bare_kernel
def find_string(slots: int, mask: int, offsets: int, data: int, text: int, size: int, limit: int) -> int:
    """The number of the string of so many bytes at `text`, or -1."""
    if mask < 0:
        return -1
    value = np.int64(hash_at(text, size, limit))
    slot = value & mask
    while True:
        entry = read_int64(slots, 2 * slot + 1)
        if entry < 0:
            return -1
        if read_int64(slots, 2 * slot) == value:
            number = entry >> 1
            if entry & 1 and size <= SHORT:
                return number
            start = read_int64(offsets, number)
            if read_int64(offsets, number + 1) - start == size and same_bytes(data + start, text, size):
                return number
        slot = (slot + 1) & mask


@bare_kernel
def strings_below(offsets: int, count: int, data: int, text: int, size: int) -> int:
    """Count of the sorted strings that are below the one at `text`, byte by byte."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        start = read_int64(offsets, middle)
        length = read_int64(offsets, middle + 1) - start
        order = 0
        for i in range(min(length, size)):
            a, b = read_byte(data + start, i), read_byte(text, i)
            if a != b:
                order = -1 if a < b else 1
                break
        if order < 0 or (order == 0 and length < size):
            low = middle + 1
        else:
            high = middle
    return low


@bare_kernel
def is_present(valid: int, bit: int) -> bool:
    """True if an Arrow validity bitmap (0: all valid) has this bit."""
    return valid == 0 or (read_byte(valid, bit >> 3) >> (bit & 7)) & 1 == 1


@bare_kernel
def next_present(valid: int, bit: int, row: int, rows: int) -> Any:
    """The first row from this one on whose validity bit is set, or `rows`: most columns of a wide schema are empty."""
    if valid == 0:
        return row
    while row < rows:
        at = bit + row
        left = read_byte(valid, at >> 3) >> (at & 7)
        if left != 0:
            return min(rows, row + np.int64(trailing_zeros(np.uint64(left))))
        row += 8 - (at & 7)
    return rows


@bare_kernel
def encode_strings(job: Any, rows: int, out: Any) -> None:
    """Encodes strings: exact constants by hash; where some comparison is by order, others by binary search."""
    wide, column, bit = job[FORM] == LARGE_STRINGS, job[COLUMN], job[BIT]
    row = next_present(job[VALID], bit, 0, rows)
    while row < rows:
        if wide:
            start, stop = read_int64(job[VALUES], row), read_int64(job[VALUES], row + 1)
        else:
            start, stop = np.int64(read_int32(job[VALUES], row)), np.int64(read_int32(job[VALUES], row + 1))
        text = job[TEXT] + start
        number = find_string(job[TABLE], job[SIZE] - 1, job[CONSTANTS], job[DATA], text, stop - start, job[LIMIT])
        if number >= 0:
            out[row, column] = 2 * number + 1
        elif job[ORDERED]:
            out[row, column] = 2 * strings_below(job[CONSTANTS], job[COUNT], job[DATA], text, stop - start)
        else:
            out[row, column] = 0
        row = next_present(job[VALID], bit, row + 1, rows)


@bare_kernel
def encode_direct(job: Any, rows: int, out: Any) -> None:
    """Encodes integers whose constants lie close together: the code stands in a table."""
    column, low, size = job[COLUMN], job[CONSTANTS], job[SIZE]
    row = next_present(job[VALID], job[BIT], 0, rows)
    while row < rows:
        value = read_int64(job[VALUES], row)
        place = np.uint64(value) - np.uint64(low)  # unsigned: the distance of far integers does not fit int64
        if value < low:
            out[row, column] = 0
        elif place >= np.uint64(size):
            out[row, column] = 2 * job[COUNT]
        else:
            out[row, column] = read_int32(job[TABLE], np.int64(place))
        row = next_present(job[VALID], job[BIT], row + 1, rows)


@bare_kernel
def cell_of(value: float, low: float, scale: float, cells: int) -> Any:
    """A cell number that never falls as the value grows; exactness is the search's business, not the cell's."""
    if not value > low:
        return 0
    cell = (value - low) * scale  # infinite or NaN for infinite values: the last cell, as it should be
    return np.int64(cell) if cell < cells - 1 else cells - 1


@bare_kernel
def encode_integers(job: Any, low: float, scale: float, rows: int, out: Any) -> None:
    """Encodes integers among sorted constants, searched within their cell."""
    row = next_present(job[VALID], job[BIT], 0, rows)
    while row < rows:
        value = read_int64(job[VALUES], row)
        cell = cell_of(np.float64(value), low, scale, job[SIZE])
        first, last = np.int64(read_int32(job[TABLE], cell)), np.int64(read_int32(job[TABLE], cell + 1))
        while first < last:
            middle = (first + last) >> 1
            if read_int64(job[CONSTANTS], middle) < value:
                first = middle + 1
            else:
                last = middle
        found = first < job[COUNT] and read_int64(job[CONSTANTS], first) == value
        out[row, job[COLUMN]] = 2 * first + found
        row = next_present(job[VALID], job[BIT], row + 1, rows)


@bare_kernel
def encode_floats(job: Any, low: float, scale: float, rows: int, out: Any) -> int:
    """Encodes doubles. Returns the row of a NaN, or -1."""
    row = next_present(job[VALID], job[BIT], 0, rows)
    while row < rows:
        value = read_float(job[VALUES], row)
        if value != value:
            return row
        cell = cell_of(value, low, scale, job[SIZE])
        first, last = np.int64(read_int32(job[TABLE], cell)), np.int64(read_int32(job[TABLE], cell + 1))
        while first < last:
            middle = (first + last) >> 1
            if read_float(job[CONSTANTS], middle) < value:
                first = middle + 1
            else:
                last = middle
        found = first < job[COUNT] and read_float(job[CONSTANTS], first) == value
        out[row, job[COLUMN]] = 2 * first + found
        row = next_present(job[VALID], job[BIT], row + 1, rows)
    return -1


@bare_kernel
def encode_columns(jobs: Any, grids: Any, count: int, rows: int, out: Any) -> int:
    """Encodes so many rows by all jobs. Returns `job << 32 | row` of a NaN, or -1."""
    for j in range(count):
        job = jobs[j]
        form = job[FORM]
        if form == DIRECT:
            encode_direct(job, rows, out)
        elif form == INTEGERS:
            encode_integers(job, grids[j, 0], grids[j, 1], rows, out)
        elif form == FLOATS:
            nan = encode_floats(job, grids[j, 0], grids[j, 1], rows, out)
            if nan >= 0:
                return (j << 32) | nan
        else:
            encode_strings(job, rows, out)
    return -1


@kernel
def fill_cells(constants: Any, low: float, scale: float, starts: Any) -> None:
    """`starts[c]`: how many constants lie in cells below c."""
    cells = len(starts) - 1
    for i in range(len(constants)):
        starts[cell_of(np.float64(constants[i]), low, scale, cells) + 1] += 1
    for c in range(cells):
        starts[c + 1] += starts[c]


@kernel
def fill_direct(constants: Any, codes: Any) -> None:
    """The code of every integer from the first constant to the last."""
    for i in range(len(constants)):
        codes[constants[i] - constants[0]] = 2 * i + 1
        if i + 1 < len(constants):
            for value in range(constants[i] + 1, constants[i + 1]):
                codes[value - constants[0]] = 2 * i + 2


@bare_kernel
def gather_sets(valid: int, bit: int, lists: Any, piece_offsets: Any, pieces: Any, ends: Any, codes: Any) -> int:
    """The set of codes of each row: sorted, each once, absent ones left out.

    Row r is made of the pieces `lists[r]:lists[r + 1]`. Row r's set is `codes[ends[r]:ends[r + 1]]`. Returns the end.
    """
    end = 0
    ends[0] = 0
    for row in range(len(lists) - 1):
        start = end
        if is_present(valid, bit + row):
            for piece in range(lists[row], lists[row + 1]):
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


@bare_kernel
def extremes(ends: Any, codes: Any, out: Any, least: int, greatest: int) -> None:
    """The least and the greatest code of each row's set, into the columns of these numbers (-1: not wanted)."""
    for row in range(len(ends) - 1):
        if ends[row] < ends[row + 1]:
            if least >= 0:
                out[row, least] = codes[ends[row]]
            if greatest >= 0:
                out[row, greatest] = codes[ends[row + 1] - 1]
