"""Counting: the predicates an event satisfies, and a count of them for each conjunction."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import bare_kernel
from tamis.lab.le_subscribe.kernels import load, settle
from tamis.matching.codes.codes import ABSENT
from tamis.matching.matches import BUCKETS, CANDIDATES, PREDICATES, PROBES

BYTES = 8  # counters to a word
_LOW, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_BYTE, _ONE, _EIGHT = np.uint64(0xFF), np.uint64(1), np.uint64(8)


@bare_kernel
def add(predicates: Any, first: int, last: int, hits: Any, work: Any) -> None:
    """Counts for everything that has one of the predicates `first..last - 1`: they stand side by side."""
    if first == last:
        return
    start, stop = predicates.starts[first], predicates.starts[last]
    for i in range(start, stop):
        hits[predicates.targets[i]] += np.uint8(1)
    work[CANDIDATES] += stop - start
    work[BUCKETS] += last - first


@bare_kernel
def not_above(predicates: Any, first: int, last: int, code: int, work: Any) -> int:
    """Where the predicates with a bound not above the code end; those that were looked at and lie above are counted."""
    while first < last:
        middle = (first + last) >> 1
        if predicates.bounds[middle] <= code:
            first = middle + 1
        else:
            last = middle
            work[PREDICATES] += 1
    return first


@bare_kernel
def not_below(predicates: Any, first: int, last: int, code: int, work: Any) -> int:
    """Where the predicates with a bound not below the code begin."""
    while first < last:
        middle = (first + last) >> 1
        if predicates.bounds[middle] < code:
            first = middle + 1
            work[PREDICATES] += 1
        else:
            last = middle
    return first


@bare_kernel
def add_equal(predicates: Any, column: int, code: int, hits: Any, work: Any) -> None:
    p = predicates.equal[predicates.equal_firsts[column] + code]
    work[PROBES] += 1
    if p >= 0:
        work[PREDICATES] += 1
        add(predicates, p, p + 1, hits, work)


@bare_kernel
def count(predicates: Any, e: int, event: Any, sets: Any, hits: Any, work: Any) -> None:
    """Adds one to the counters of every predicate that holds; each is decided at most once."""
    singles = len(event) - 1
    for column in range(singles):
        code = event[column]
        if code == ABSENT:
            continue
        add_equal(predicates, column, code, hits, work)
        first, last = predicates.from_firsts[column], predicates.from_firsts[column + 1]
        stop = not_above(predicates, first, last, code, work)
        work[PREDICATES] += stop - first
        add(predicates, first, stop, hits, work)
        first, last = predicates.up_to_firsts[column], predicates.up_to_firsts[column + 1]
        start = not_below(predicates, first, last, code, work)
        work[PREDICATES] += last - start
        add(predicates, start, last, hits, work)
    set_ends, set_codes = sets
    for s in range(len(set_ends)):
        for i in range(set_ends[s, e], set_ends[s, e + 1]):
            add_equal(predicates, singles + s, set_codes[i], hits, work)


@bare_kernel
def compare(words: Any, needs: Any, rows: Any, out: Any, end: int, work: Any) -> int:
    """Compares every counter with what it needs, eight to a word, and clears it. Counter i stands for `rows[i]`."""
    work[CANDIDATES] += len(rows)
    for w in range(len(words)):
        differ = words[w] ^ needs[w]
        words[w] = 0
        if (differ - _LOW) & ~differ & _HIGH != 0:
            for i in range(BYTES * w, min(BYTES * w + BYTES, len(rows))):
                if differ & _BYTE == 0:
                    out[end] = rows[i]
                    end += 1
                differ >>= _EIGHT
    return end


@bare_kernel
def match_by_counting(
    codes: Any, sets: Any, first: int, own: Any, rest: Any, memory: Any, seen: Any, stamp: int, room: int, event: Any,
    scratch: Any, out: Any, ends: Any, work: Any,
) -> int:  # fmt: skip
    """See `Level.run`. `own`: predicates and counters; `scratch`: counters as bytes and as words."""
    predicates, counters = own
    hits, words = scratch
    end = ends[first]
    for e in range(first, len(codes)):
        if end + room > len(out):
            return e
        stamp += 1
        load(codes, e, event)
        count(predicates, e, event, sets, hits, work)
        end = compare(words, counters.needs, counters.rows, out, end, work)
        end = settle(ends[e], end, e, event, sets, rest, memory, seen, stamp, out, work)
        ends[e + 1] = end
    return len(codes)
