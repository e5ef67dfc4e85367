"""Kernels that scan values for LIKE patterns, lower-case columns, and merge the matches of several pattern sets."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.compiled import kernel
from tamis.matching.patterns.automaton import KEY, step
from tamis.matching.patterns.like import CONTINUATION, CONTINUATION_MASK, END, START, after_code_point, holds
from tamis.matching.patterns.texts import Texts, frozen

ABSENT_END = -1
_SORT_BY_INSERTION = 24
# A program run for fewer steps is not charged for, however many there are: thousands of ordinary patterns cost as much.
CHARGED = 4_096
# Where a scan that is metered stands: the steps it may still take, and within a row the next candidate (-1: it is
# between rows), the end of those that hold, and of all.
STEPS_LEFT, NEXT, KEPT, USED = 0, 1, 2, 3


@kernel
def count_code_points(data: Any, start: int, end: int) -> int:
    """Count of the code points in a run of UTF-8."""
    count = 0
    for at in range(start, end):
        count += data[at] & CONTINUATION_MASK != CONTINUATION
    return count


@kernel
def sort_run(numbers: Any, start: int, end: int) -> None:
    """Sorts `numbers[start:end]`, usually a handful."""
    if end - start > _SORT_BY_INSERTION:
        numbers[start:end].sort()
        return
    for i in range(start + 1, end):
        number = numbers[i]
        at = i
        while at > start and numbers[at - 1] > number:
            numbers[at] = numbers[at - 1]
            at -= 1
        numbers[at] = number


@kernel
def collect(automaton: Any, key: int, mark: int, marks: Any, numbers: Any, used: int) -> int:
    """Appends the owners of a key and of the keys it ends with. A marked key was collected, and so were those."""
    while key >= 0 and marks[key] != mark:
        marks[key] = mark
        for i in range(automaton.owner_offsets[key], automaton.owner_offsets[key + 1]):
            numbers[used] = automaton.owners[i]
            used += 1
        key = automaton.next_key[key]
    return used


@kernel
def find_keys(automaton: Any, data: Any, start: int, end: int, mark: int, marks: Any, numbers: Any, used: int) -> int:
    """Appends the owners of every key that occurs in START, the value's bytes, END: each owner once."""
    nodes, labels, alphabet, rows = automaton.nodes, automaton.labels, automaton.alphabet, automaton.rows
    node = step(nodes, labels, alphabet, rows, 0, START)
    for at in range(start, end):
        if nodes[node, KEY] >= 0:
            used = collect(automaton, nodes[node, KEY], mark, marks, numbers, used)
        node = step(nodes, labels, alphabet, rows, node, data[at])
    used = collect(automaton, nodes[node, KEY], mark, marks, numbers, used)
    node = step(nodes, labels, alphabet, rows, node, END)
    return collect(automaton, nodes[node, KEY], mark, marks, numbers, used)


@kernel
def keep_holding(
    rules: Any, data: Any, start: int, end: int, numbers: Any, kept: int, at: int, used: int, metering: Any
) -> tuple[int, int, int]:
    """Verifies the candidates `numbers[at:used]` by their programs; those that hold are moved to `kept`.

    Ends before `used` once the steps allowed are used up. Returns the new end, where it stopped, and the number of
    programs run. `metering`: see `scan`.
    """
    spent, left_out, state = metering
    metered, run = len(spent) > 0, 0
    while at < used:
        number = numbers[at]
        begin, stop = rules.program_offsets[number], rules.program_offsets[number + 1]
        # An empty program is decided by its key already: found is matched.
        if begin < stop:
            # Patterns left out match nothing. Out of steps, the scan stops at the first program it would have to run.
            if metered and (left_out[number] or state[STEPS_LEFT] <= 0):
                if not left_out[number]:
                    break
                at += 1
                continue
            run += 1
            held, steps = holds(data, start, end, rules.programs, begin, stop)
            if steps >= CHARGED and metered:
                spent[number] += steps
                state[STEPS_LEFT] -= steps
            if not held:
                at += 1
                continue
        # Matches close up over the candidates that failed, in the same array: `kept` never passes `at`.
        numbers[kept] = number
        kept += 1
        at += 1
    return kept, at, run


@kernel
def add_by_length(rules: Any, length: int, numbers: Any, used: int) -> int:
    """Appends the wildcard-only patterns that a value of this many code points matches."""
    for i in range(len(rules.least)):
        if rules.least[i] > length:
            break
        numbers[used] = rules.least_owners[i]
        used += 1
    for i in range(np.searchsorted(rules.lengths, length), len(rules.lengths)):
        if rules.lengths[i] != length:
            break
        numbers[used] = rules.length_owners[i]
        used += 1
    return used


@kernel
def scan(
    texts: Any,
    automaton: Any,
    rules: Any,
    patterns: int,
    row: int,
    marks: Any,
    offsets: Any,
    numbers: Any,
    metering: Any,
) -> tuple[int, int]:
    """Matches rows from `row` on, until one might not fit: any row may match all `patterns`.

    Row r's matches are `numbers[offsets[r]:offsets[r + 1]]`, sorted; offsets[row] is the caller's. `marks` has a zero
    for each key, and is only ours. Returns the row reached and the number of programs run.

    `metering` is (spent, left_out, state): the steps that each program took, if many, are added to `spent` (empty:
    nobody wants to know), and programs in `left_out` match nothing. When `state[STEPS_LEFT]` is used up the
    scan stops within a row, noted in the rest of `state`, and goes on there when it is called again.
    """
    state = metering[2]
    by_length = len(rules.least) + len(rules.lengths) > 0
    programs_run = 0
    while row < len(texts.starts) and offsets[row] + patterns <= len(numbers):
        first = kept = offsets[row]
        start, end = texts.starts[row], texts.ends[row]
        if start <= end:
            # A new row: the automaton finds the keys in it, and their patterns are the candidates. Else the row at
            # which the last call ran out of steps goes on where it stopped.
            if state[NEXT] < 0:
                at, used = first, find_keys(automaton, texts.data, start, end, row + 1, marks, numbers, first)
            else:
                kept, at, used = state[KEPT], state[NEXT], state[USED]
            kept, at, run = keep_holding(rules, texts.data, start, end, numbers, kept, at, used, metering)
            programs_run += run
            # Out of steps within the row: leave it for the next call, so that somebody may look at the clock between.
            if at < used:
                state[NEXT], state[KEPT], state[USED] = at, kept, used
                return row, programs_run
            state[NEXT] = -1
            # Patterns of wildcards only have no key to be found by; they are looked up by the value's length.
            if by_length:
                kept = add_by_length(rules, count_code_points(texts.data, start, end), numbers, kept)
            sort_run(numbers, first, kept)
        row += 1
        offsets[row] = kept
    return row, programs_run


@kernel
def lower(texts: Any, table: Any, data: Any, starts: Any, ends: Any, odd: Any) -> tuple[int, int]:
    """Lower-cases every row by code point, except odd rows: those with a code point that has no entry in the table.

    Returns the number of bytes written and of odd rows, which are left empty.
    """
    used = odds = 0
    for row in range(len(texts.starts)):
        at, end = texts.starts[row], texts.ends[row]
        starts[row] = used
        if end < at:
            ends[row] = ABSENT_END
            continue
        while at < end:
            byte = texts.data[at]
            # ASCII by itself: nearly all bytes of nearly all texts.
            if byte < 0x80:
                data[used] = byte + 32 if 65 <= byte <= 90 else byte
                at += 1
                used += 1
                continue
            # Decode, look up the lower case, encode. Case changes may change the number of bytes, hence `used` beside
            # `at`.
            after = after_code_point(texts.data, at, end)
            point = np.int64(byte) & (0xFF >> (after - at + 1))
            for i in range(at + 1, after):
                point = point << 6 | np.int64(texts.data[i]) & 0x3F
            if point < len(table):
                point = np.int64(table[point])
            # The lower case depends on neighbours or is several code points: the row is emptied and left to Python.
            if point < 0:
                odd[odds] = row
                odds += 1
                used = starts[row]
                break
            used = write_code_point(data, used, point)
            at = after
        ends[row] = used
    return used, odds


@kernel
def write_code_point(data: Any, at: int, point: int) -> int:
    """Writes a code point in UTF-8 and returns where it ends."""
    if point < 0x80:
        data[at] = point
        return at + 1
    if point < 0x800:
        data[at] = 0xC0 | point >> 6
        data[at + 1] = 0x80 | point & 0x3F
        return at + 2
    if point < 0x10000:
        data[at] = 0xE0 | point >> 12
        data[at + 1] = 0x80 | point >> 6 & 0x3F
        data[at + 2] = 0x80 | point & 0x3F
        return at + 3
    data[at] = 0xF0 | point >> 18
    data[at + 1] = 0x80 | point >> 12 & 0x3F
    data[at + 2] = 0x80 | point >> 6 & 0x3F
    data[at + 3] = 0x80 | point & 0x3F
    return at + 4


@kernel
def merge(offsets: Any, numbers: Any, other_offsets: Any, other_numbers: Any, merged_offsets: Any, merged: Any) -> None:
    """Merges two sorted lists per row that have nothing in common."""
    used = 0
    for row in range(len(offsets) - 1):
        i, end = offsets[row], offsets[row + 1]
        j, other_end = other_offsets[row], other_offsets[row + 1]
        while i < end or j < other_end:
            if j == other_end or (i < end and numbers[i] < other_numbers[j]):
                merged[used] = numbers[i]
                i += 1
            else:
                merged[used] = other_numbers[j]
                j += 1
            used += 1
        merged_offsets[row + 1] = used


@kernel
def gather(lists: Any, offsets: Any, numbers: Any, gathered_offsets: Any, gathered: Any) -> None:
    """Copies to each row the numbers of the list `lists[r]`, none where that is negative. Offsets are known before."""
    for row in range(len(lists)):
        if lists[row] >= 0:
            first = offsets[lists[row]]
            for i in range(gathered_offsets[row + 1] - gathered_offsets[row]):
                gathered[gathered_offsets[row] + i] = numbers[first + i]


# `str.lower()` over a column, without a Python string for each value.

# Unicode puts scripts with cases into its first two planes.
_CASED_END = 0x20000
_FINAL_SIGMA = "Σ"


def lower_texts(texts: Texts) -> Texts:
    """Lower-cases each row exactly as `str.lower()` does. Rows may come to lie in another order.

    pyarrow's own utf8_lower differs: it knows a newer Unicode, no final sigma, and makes one code point of İ.
    """
    rows = len(texts.starts)
    size = int(np.maximum(texts.ends - texts.starts, 0).sum())
    # No code point grows by more than from two bytes to three.
    data = np.empty(size + size // 2, np.uint8)
    starts, ends, odd = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64)
    used, odds = lower(texts, lower_table(), data, starts, ends, odd)
    if odds:
        pieces = [data[:used]]
        for row in odd[:odds].tolist():
            lowered = texts.row(row).decode().lower().encode()
            pieces.append(np.frombuffer(lowered, np.uint8))
            starts[row], ends[row] = used, used + len(lowered)
            used += len(lowered)
        data = np.concatenate(pieces)
    return Texts(frozen(data), starts, ends)


@functools.cache
def lower_table() -> npt.NDArray[np.int32]:
    """The lower case of each code point; -1 where it depends on the neighbours or is more than one code point."""
    lowered = [chr(point).lower() for point in range(_CASED_END)]
    points = [ord(text) if len(text) == 1 else -1 for text in lowered]
    points[ord(_FINAL_SIGMA)] = -1
    return frozen(np.array(points, np.int32))
