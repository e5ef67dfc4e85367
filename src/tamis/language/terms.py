"""Texts that are plain conjunctions, cut at their ANDs: many shapes of filters are made of few shapes of terms."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.compiled import kernel
from tamis.language.kernels import end_of_quoted, is_word

_AND, _BETWEEN, _OTHER, _WORD = 1, 2, 3, 0


@kernel
def word_kind(data: Any, start: int, end: int) -> int:
    """AND, BETWEEN, a word that joins conditions in another way (OR, XOR, CASE), or any other word."""
    length = end - start
    a = data[start] | 32
    b = data[start + 1] | 32 if length > 1 else 0
    c = data[start + 2] | 32 if length > 2 else 0
    if length == 3 and a == 97 and b == 110 and c == 100:
        return _AND
    if length == 2 and a == 111 and b == 114:
        return _OTHER
    if length == 3 and a == 120 and b == 111 and c == 114:
        return _OTHER
    if length == 4 and a == 99 and b == 97 and c == 115 and data[start + 3] | 32 == 101:
        return _OTHER
    if length == 7 and a == 98 and b == 101 and c == 116:  # no other word of seven letters begins so and joins
        return _BETWEEN
    return _WORD


@kernel
def trimmed(data: Any, start: int, end: int) -> tuple[int, int]:
    """Without the blanks around it: a term is the same wherever it stands."""
    while start < end and data[start] <= 32:
        start += 1
    while start < end and data[end - 1] <= 32:
        end -= 1
    return start, end


@kernel
def cut_terms(data: Any, offsets: Any, rows: Any, owners: Any, starts: Any, ends: Any, room: int) -> int:
    """The terms of each row that is a conjunction of two or more, one after the other; returns how many, -1: no room.

    Term t is `data[starts[t]:ends[t]]`, of row number `owners[t]`.
    """
    count = 0
    for number in range(len(rows)):
        at, end = int(offsets[rows[number]]), int(offsets[rows[number] + 1])
        first, begin, depth, between, whole = count, at, 0, 0, True
        while at < end and whole:
            byte = data[at]
            if byte == 39 or byte == 34 or byte == 96:
                at = end_of_quoted(data, at, end)
                whole = at >= 0
                continue
            if is_word(byte):
                stop = at + 1
                while stop < end and is_word(data[stop]):
                    stop += 1
                kind = word_kind(data, at, stop) if depth == 0 else _WORD
                if kind == _OTHER:
                    whole = False
                elif kind == _BETWEEN:
                    between += 1
                elif kind == _AND and between > 0:
                    between -= 1
                elif kind == _AND:
                    if count + 2 > room:
                        return -1
                    owners[count] = number
                    starts[count], ends[count] = trimmed(data, begin, at)
                    count += 1
                    begin = stop
                at = stop
                continue
            if byte == 40:
                depth += 1
            elif byte == 41:
                depth -= 1
                whole = depth >= 0
            elif (byte == 45 or byte == 47) and at + 1 < end and (data[at + 1] == 45 or data[at + 1] == 42):
                whole = False  # a comment: the parser's business
            at += 1
        if whole and depth == 0 and between == 0 and count > first:
            owners[count] = number
            starts[count], ends[count] = trimmed(data, begin, end)
            count += 1
        else:
            count = first
    return count


def terms_of(texts: pa.StringArray, rows: npt.NDArray[np.int64]) -> tuple[pa.StringArray, npt.NDArray[np.int64]]:
    """The terms of those rows that are plain conjunctions, and for each term the number of its row among `rows`."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    room = 8 * len(rows) + 64
    while True:
        owners, starts, ends = (np.empty(room, np.int64) for _ in range(3))
        count = cut_terms(data, offsets, rows, owners, starts, ends, room)
        if count >= 0:
            break
        room *= 4
    sizes = ends[:count] - starts[:count]
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    out = np.empty(int(bounds[-1]), np.uint8)
    copy_runs(data, starts[:count], sizes, out)
    wide = pa.Array.from_buffers(pa.large_string(), count, [None, pa.py_buffer(bounds), pa.py_buffer(out)])
    return wide.cast(pa.string()), owners[:count]


@kernel
def copy_runs(data: Any, starts: Any, sizes: Any, out: Any) -> None:
    at = 0
    for run in range(len(starts)):
        for k in range(sizes[run]):
            out[at] = data[starts[run] + k]
            at += 1
