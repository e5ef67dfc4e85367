"""Cutting filter texts into shape and literals, and reading the literals: byte loops over Arrow's buffers.

A text's *shape* is what is left of it when each literal is replaced by its kind. `spans` has a row (start, end, kind)
for each literal of all texts; text t owns rows `owners[t]` to `owners[t + 1]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import kernel

INTEGER, DECIMAL, STRING = 1, 2, 3
"""Kinds of literals. A string's span includes its quotes."""


@kernel
def is_word(byte: int) -> bool:
    """Letters, digits, the underscore, and every byte of a character outside ASCII."""
    return 97 <= byte <= 122 or 65 <= byte <= 90 or 48 <= byte <= 57 or byte == 95 or byte >= 128


@kernel
def is_digit(byte: int) -> bool:
    return 48 <= byte <= 57


@kernel
def end_of_number(data: Any, at: int, end: int) -> tuple[int, int]:
    """Where the number that begins here ends, and its kind; kind 0 for what only begins like a number."""
    kind = INTEGER
    while at < end and is_digit(data[at]):
        at += 1
    if at < end and data[at] == 46:  # .
        kind = DECIMAL
        at += 1
        while at < end and is_digit(data[at]):
            at += 1
    if at < end and data[at] | 32 == 101:  # e, E
        kind = DECIMAL
        at += 1
        if at < end and (data[at] == 43 or data[at] == 45):
            at += 1
        if at >= end or not is_digit(data[at]):
            return at, 0
        while at < end and is_digit(data[at]):
            at += 1
    if at < end and (is_word(data[at]) or data[at] == 46):
        return at, 0
    return at, kind


@kernel
def end_of_quoted(data: Any, at: int, end: int) -> int:
    """One past the closing quote of what is quoted from here, doubled quotes being part of it; -1 if there is none."""
    quote = data[at]
    at += 1
    while at < end:
        if data[at] == quote:
            if at + 1 < end and data[at + 1] == quote:
                at += 1
            else:
                return at + 1
        at += 1
    return -1


@kernel
def cut(data: Any, offsets: Any, owners: Any, hashes: Any) -> Any:
    """Finds the literals of each text and hashes its shape. Returns the spans.

    A hash of 0 marks a text that has to be parsed by itself: with a comment, a NUL, or something that is no literal.
    """
    spans = np.empty((4 * len(hashes) + 4, 3), np.int64)
    count = 0
    owners[0] = 0
    for text in range(len(offsets) - 1):
        at, end = offsets[text], offsets[text + 1]
        h = np.uint64(0xCBF29CE484222325)
        odd = False
        while at < end and not odd:
            byte = data[at]
            following = data[at + 1] if at + 1 < end else np.uint8(0)
            stop, kind = at + 1, 0
            if byte == 39:  # '
                stop, kind = end_of_quoted(data, at, end), STRING
                odd = stop < 0
            elif is_digit(byte):
                stop, kind = end_of_number(data, at, end)
                odd = kind == 0 or (at > offsets[text] and data[at - 1] == 46)
            elif is_word(byte):
                while stop < end and is_word(data[stop]):
                    stop += 1
            elif byte == 34 or byte == 96:  # " `
                stop = end_of_quoted(data, at, end)
                odd = stop < 0
            elif byte == 0 or (byte == 45 and following == 45) or (byte == 47 and following == 42) or byte == 123:
                odd = True
            if kind > 0 and not odd:
                if count == len(spans):
                    grown = np.empty((2 * count, 3), np.int64)
                    grown[:count] = spans
                    spans = grown
                spans[count, 0], spans[count, 1], spans[count, 2] = at, stop, kind
                count += 1
                h = (h ^ np.uint64(256 + kind)) * np.uint64(0x100000001B3)
            else:
                for k in range(at, stop):
                    h = (h ^ np.uint64(data[k])) * np.uint64(0x100000001B3)
            at = stop
        h ^= h >> np.uint64(29)
        if odd:
            count = owners[text]
            h = np.uint64(0)
        elif h == 0:
            h = np.uint64(1)
        hashes[text] = h
        owners[text + 1] = count
    return spans[:count]


@kernel
def alike(data: Any, offsets: Any, spans: Any, owners: Any, a: int, b: int) -> bool:
    """Whether two texts have the same shape, byte for byte."""
    literals = owners[a + 1] - owners[a]
    if literals != owners[b + 1] - owners[b]:
        return False
    at, other = offsets[a], offsets[b]
    for k in range(literals + 1):
        if k < literals:
            ours, theirs = owners[a] + k, owners[b] + k
            if spans[ours, 2] != spans[theirs, 2]:
                return False
            end, other_end = spans[ours, 0], spans[theirs, 0]
        else:
            end, other_end = offsets[a + 1], offsets[b + 1]
        if end - at != other_end - other:
            return False
        for i in range(end - at):
            if data[at + i] != data[other + i]:
                return False
        if k < literals:
            at, other = spans[ours, 1], spans[theirs, 1]
    return True


@kernel
def group(data: Any, offsets: Any, spans: Any, owners: Any, hashes: Any, groups: Any, firsts: Any) -> int:
    """Numbers the shapes by first appearance: `groups[t]` is text t's, -1 where it has none; returns how many."""
    size = 4
    while size < 2 * len(groups):
        size *= 2
    table = np.full(size, -1, np.int64)
    count = 0
    for text in range(len(groups)):
        if hashes[text] == 0:
            groups[text] = -1
            continue
        slot = np.int64(hashes[text] & np.uint64(size - 1))
        while table[slot] >= 0:
            first = firsts[table[slot]]
            if hashes[first] == hashes[text] and alike(data, offsets, spans, owners, first, text):
                break
            slot = (slot + 1) & (size - 1)
        if table[slot] < 0:
            table[slot] = count
            firsts[count] = text
            count += 1
        groups[text] = table[slot]
    return count


@kernel
def sort_by_group(groups: Any, count: int, rows: Any, bounds: Any) -> None:
    """Rows in order of their group, ascending within it: group g's are `rows[bounds[g]:bounds[g + 1]]`."""
    for text in range(len(groups)):
        if groups[text] >= 0:
            bounds[groups[text] + 1] += 1
    for g in range(count):
        bounds[g + 1] += bounds[g]
    filled = bounds[:count].copy()
    for text in range(len(groups)):
        if groups[text] >= 0:
            rows[filled[groups[text]]] = text
            filled[groups[text]] += 1


@kernel
def read_integers(data: Any, spans: Any, literals: Any, values: Any, fits: Any) -> None:
    """The integers in these literals; `fits` is unset where one is beyond 64 bits."""
    for row in range(len(literals)):
        value = np.uint64(0)
        start, end = spans[literals[row], 0], spans[literals[row], 1]
        while start < end and data[start] == 48:
            start += 1
        fits[row] = end - start <= 19
        if fits[row]:
            for k in range(start, end):
                value = value * np.uint64(10) + np.uint64(data[k] - 48)
            fits[row] = value <= np.uint64(0x7FFFFFFFFFFFFFFF)
        values[row] = np.int64(value)


@kernel
def copy_texts(data: Any, spans: Any, literals: Any, ends: Any, out: Any) -> int:
    """The literals' texts, one after the other: strings without their quotes, doubled quotes once. Returns the size."""
    size = 0
    ends[0] = 0
    for row in range(len(literals)):
        start, end = spans[literals[row], 0], spans[literals[row], 1]
        if spans[literals[row], 2] == STRING:
            start, end = start + 1, end - 1
        k = start
        while k < end:
            out[size] = data[k]
            size += 1
            k += 2 if data[k] == 39 else 1
        ends[row + 1] = size
    return size
