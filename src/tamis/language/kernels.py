"""Kernels over Arrow's buffers: filter texts cut into shape and literals, texts of equal shape grouped, literals read,
conjunctions cut into terms.

A text's *shape* is what is left of it when each literal is replaced by its kind. `spans` has a row (start, end, kind)
for each literal of all texts; text t owns rows `owners[t]` to `owners[t + 1]`.

Plain conjunctions are cut at their ANDs too (`terms_of`): many shapes of filters are made of few shapes of terms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.compiled import kernel

INTEGER, DECIMAL, STRING = 1, 2, 3
"""Kinds of literals. A string's span includes its quotes."""


@kernel
def is_word(byte: int) -> bool:
    """True for letters, digits, the underscore, and every byte of a character outside ASCII."""
    return 97 <= byte <= 122 or 65 <= byte <= 90 or 48 <= byte <= 57 or byte == 95 or byte >= 128


@kernel
def is_digit(byte: int) -> bool:
    return 48 <= byte <= 57


@kernel
def end_of_number(data: Any, at: int, end: int) -> tuple[int, int]:
    """End of the number that begins here, and its kind; kind 0 for what only begins like a number."""
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
        # FNV-1a over the text, a literal standing as its kind alone: texts that differ in literals only hash alike.
        # Hashes may collide; `group` compares the shapes byte for byte.
        at, end = offsets[text], offsets[text + 1]
        h = np.uint64(0xCBF29CE484222325)
        odd = False
        while at < end and not odd:
            byte = data[at]
            following = data[at + 1] if at + 1 < end else np.uint8(0)
            # One token: [at, stop), with the kind of literal it is, or 0. Words and quoted names are taken whole, so
            # that a digit or quote within them begins no literal.
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
                # Texts have four literals or fewer on average; where not, the spans double.
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
        # Whatever was found in an odd text is forgotten: it is parsed by itself.
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
    """True if two texts have the same shape, byte for byte."""
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
    """Reads the integers in these literals; `fits` is unset where one is beyond 64 bits."""
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
    """Copies the literals' texts one after the other: strings unquoted, doubled quotes once. Returns the size."""
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


_AND, _BETWEEN, _OTHER, _WORD = 1, 2, 3, 0


@kernel
def word_kind(data: Any, start: int, end: int) -> int:
    """Kind of a word: AND, BETWEEN, one that joins conditions in another way (OR, XOR, CASE), or any other."""
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
    """Bounds of a term without the blanks around it: a term is the same wherever it stands."""
    while start < end and data[start] <= 32:
        start += 1
    while start < end and data[end - 1] <= 32:
        end -= 1
    return start, end


@kernel
def cut_terms(data: Any, offsets: Any, rows: Any, owners: Any, starts: Any, ends: Any, room: int) -> int:
    """Cuts each row that is a conjunction of two or more terms at its ANDs; returns how many terms, -1: no room.

    Term t is `data[starts[t]:ends[t]]`, of row number `owners[t]`.
    """
    count = 0
    for number in range(len(rows)):
        at, end = int(offsets[rows[number]]), int(offsets[rows[number] + 1])
        # A term begins at `begin`. Only an AND outside parentheses ends it, and only if no BETWEEN waits for that AND;
        # `whole` turns False where the row is no plain conjunction.
        first, begin, depth, between, whole = count, at, 0, 0, True
        while at < end and whole:
            byte = data[at]
            # Quoted text is skipped: whatever it holds, it joins nothing.
            if byte == 39 or byte == 34 or byte == 96:
                at = end_of_quoted(data, at, end)
                whole = at >= 0
                continue
            if is_word(byte):
                stop = at + 1
                while stop < end and is_word(data[stop]):
                    stop += 1
                # Words within parentheses join nothing at this level.
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
        # A row of one term, or one that turned out to be something else, leaves no terms: it is parsed as a whole.
        if whole and depth == 0 and between == 0 and count > first:
            owners[count] = number
            starts[count], ends[count] = trimmed(data, begin, end)
            count += 1
        else:
            count = first
    return count


def terms_of(texts: pa.StringArray, rows: npt.NDArray[np.int64]) -> tuple[pa.StringArray, npt.NDArray[np.int64]]:
    """Terms of those rows that are plain conjunctions, and for each term the number of its row among `rows`."""
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
