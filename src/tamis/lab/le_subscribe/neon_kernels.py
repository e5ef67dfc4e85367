"""Predicate tables: every predicate of an operation is evaluated and counted for its subscription."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.compiled import bare_kernel
from tamis.lab.le_subscribe.kernels import load, settle
from tamis.lab.le_subscribe.predicates import EQUAL, FROM
from tamis.matching.codes.codes import ABSENT
from tamis.matching.columnar.probing_kernels import any_within
from tamis.matching.matches import BUCKETS, CANDIDATES, PREDICATES


@bare_kernel
def note(c: int, hits: Any, touched: Any, count: int) -> int:
    """Counts for a subscription, which is entered the first time."""
    if hits[c] == 0:
        touched[count] = c
        count += 1
    hits[c] += np.uint8(1)
    return count


@bare_kernel
def evaluate(tables: Any, o: int, e: int, event: Any, sets: Any, hits: Any, touched: Any, count: int, work: Any) -> int:
    """All predicates of operation o."""
    set_ends, set_codes = sets
    singles, column = len(event) - 1, tables.columns[o]
    first, last = tables.starts[o], tables.starts[o + 1]
    if column >= singles:
        start, stop = set_ends[column - singles, e], set_ends[column - singles, e + 1]
        if start == stop:
            return count
        for i in range(first, last):
            if any_within(set_codes, start, stop, tables.bounds[i], tables.bounds[i]):
                count = note(tables.rows[i], hits, touched, count)
    else:
        code, comparison = event[column], tables.comparisons[o]
        if code == ABSENT:
            return count
        if comparison == EQUAL:
            for i in range(first, last):
                if tables.bounds[i] == code:
                    count = note(tables.rows[i], hits, touched, count)
        elif comparison == FROM:
            for i in range(first, last):
                if tables.bounds[i] <= code:
                    count = note(tables.rows[i], hits, touched, count)
        else:
            for i in range(first, last):
                if code <= tables.bounds[i]:
                    count = note(tables.rows[i], hits, touched, count)
    work[BUCKETS] += 1
    work[PREDICATES] += last - first
    return count


@bare_kernel
def match_by_tables(
    codes: Any, sets: Any, first: int, own: Any, rest: Any, memory: Any, seen: Any, stamp: int, room: int, event: Any,
    scratch: Any, out: Any, ends: Any, work: Any,
) -> int:  # fmt: skip
    """See `Level.run`."""
    (tables,) = own
    hits, touched = scratch
    end = ends[first]
    for e in range(first, len(codes)):
        if end + room > len(out):
            return e
        stamp += 1
        load(codes, e, event)
        count = 0
        for o in range(len(tables.columns)):
            count = evaluate(tables, o, e, event, sets, hits, touched, count, work)
        work[CANDIDATES] += count + len(tables.loose)
        for i in range(count):
            c = touched[i]
            if hits[c] == tables.needs[c]:
                out[end] = c
                end += 1
            hits[c] = 0
        for i in range(len(tables.loose)):
            out[end] = tables.loose[i]
            end += 1
        end = settle(ends[e], end, e, event, sets, rest, memory, seen, stamp, out, work)
        ends[e + 1] = end
    return len(codes)
