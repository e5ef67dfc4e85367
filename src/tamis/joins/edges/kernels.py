"""Changes run through an edge one after the other: what is to be sent is written, then the tables' indexes follow."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tamis.compiled import bare_kernel, inlined_kernel
from tamis.joins.kernels import SPARE, find, insert, remove
from tamis.joins.ranges import Floats, Integers
from tamis.joins.schemes.kernels import inside
from tamis.joins.semijoins.kernels import (
    NONE,
    describe,
    drop,
    expose,
    mark,
    rows_of_key,
    tell_affected,
    tell_dropped,
    tell_exposed,
)
from tamis.joins.sending.kernels import FULL, NUMBERS, SENT, TUPLES, begin, put_tuple, take_back
from tamis.joins.skylines.kernels import NO_GAP, forget_gap
from tamis.joins.stabbing.kernels import reaching

ENUM_SJ, ENUM_J, REF_J, REF_J_PLUS, ONLY_FOLLOW = range(4, 9)  # after the four skylines
OUTBOX_FULL, GAPS_FULL, INDEX_FULL = 1, 2, 3
_JOINED, _RESULTS = 1, 7
_INSERT, _DELETE = 0, 1
_EVERYBODY = -1


class Members(NamedTuple):
    """All subscriptions' intervals by column, their filtering edges by table, and where tables' columns begin.

    `signature` is the number of the signature that is this edge alone, -1 if nobody has it.
    """

    low: Floats
    high: Floats
    filtering: Integers
    first_column: Integers
    signature: int


@bare_kernel
def run(
    out: Any, how: int, left: Any, right: Any, members: Any, table: Any, old: Any, new: Any, start: int, stop: int,
    scratch: Any,
) -> tuple[int, int]:  # fmt: skip
    """Changes from start to stop, of any tables; gives the first that is not done, and what was missing for it."""
    for event in range(start, stop):
        sent, tuples, numbers = out.counters[SENT], out.counters[TUPLES], out.counters[NUMBERS]
        missing = 0
        if left.entries.counters[SPARE] == 0 or right.entries.counters[SPARE] == 0:
            missing = INDEX_FULL
        elif table[event] == left.table or table[event] == right.table:
            own, other = (left, right) if table[event] == left.table else (right, left)
            missing = _change(out, how, event, own, other, members, old[event], new[event], scratch)
        if missing:
            take_back(out, sent, tuples, numbers)
            return event, missing
    return stop, 0


@bare_kernel
def _change(
    out: Any, how: int, event: int, own: Any, other: Any, members: Any, old: int, new: int, scratch: Any
) -> int:
    if new != NONE and own.keys[new] < 0:
        new = NONE
    if old != NONE and own.keys[old] < 0:
        old = NONE
    done = True
    both = new != NONE and old != NONE and own.keys[new] == own.keys[old]
    for step in range(1 if both else 2):
        # An update that keeps its join key is one piece of news; else what comes is one, and what goes another.
        comes = new if both or step == 0 else NONE
        goes = old if both or step == 1 else NONE
        if comes == NONE and goes == NONE:
            continue
        if how < ENUM_SJ:
            done = describe(out, how, event, own, other, comes, goes, scratch) and done
        elif how == ENUM_SJ:
            tell_affected(out, event, own, other, comes, goes, scratch)
    if new != NONE:
        if how < ENUM_SJ:
            expose(out, event, own, other, new, scratch)
        elif how == ENUM_SJ:
            tell_exposed(out, event, own, other, new, scratch)
    if old != NONE and other.one_sided > 0:
        if how < ENUM_SJ:
            drop(out, event, own, other, new, old, scratch)
        elif how == ENUM_SJ:
            tell_dropped(out, event, own, other, new, old, members.filtering, scratch)
    if how > ENUM_SJ:
        for step in range(2):
            row, operation = (new, _INSERT) if step == 0 else (old, _DELETE)
            if row == NONE:
                continue
            if how == ENUM_J:
                _tell_results(out, event, own, other, row, operation, members, scratch)
            elif how != ONLY_FOLLOW:
                _send_results(out, event, own, other, row, operation, members, how == REF_J_PLUS, scratch)
    if not done:
        return GAPS_FULL
    if out.counters[FULL]:
        return OUTBOX_FULL
    if new != NONE:
        insert(own.entries, own.keys[new], own.values[new, 0], new, float(NO_GAP), 0.0, 0.0)
    if old != NONE:
        _take_out(own, other, old)
    return 0


@inlined_kernel
def _take_out(own: Any, other: Any, old: int) -> None:
    key, value = own.keys[old], own.values[old, 0]
    place, offset = find(own.entries, key, value, old)
    gap = int(own.entries.entries[own.entries.places[place].block, offset].end)
    if gap != NO_GAP:
        forget_gap(other.gaps, gap)
    remove(own.entries, key, value, old)


@inlined_kernel
def _put_result(out: Any, operation: int, own: Any, row: int, other: Any, joined: int) -> None:
    """A pair of rows, the lower table first."""
    if own.table < other.table:
        put_tuple(out, operation, own.table, row)
        put_tuple(out, operation, other.table, joined)
    else:
        put_tuple(out, operation, other.table, joined)
        put_tuple(out, operation, own.table, row)


@bare_kernel
def _tell_results(
    out: Any, event: int, own: Any, other: Any, row: int, operation: int, members: Any, scratch: Any
) -> None:
    """Enum-J: to every member of the edge's signature its new or old results."""
    rows = rows_of_key(other.entries, own.keys[row], scratch.points, scratch.rows)
    count = reaching(own.stabbing, scratch.points, rows, own.values[row, 0], np.nan, scratch.found)
    first, width = members.first_column[own.table], own.values.shape[1]
    joined, joined_width = members.first_column[other.table], other.values.shape[1]
    for k in range(count):
        member = scratch.found[k].number
        if not inside(members.low, members.high, member, first, own.values[row], 0, width):
            continue
        sent, tuples, numbers = out.counters[SENT], out.counters[TUPLES], out.counters[NUMBERS]
        begin(out, event, _RESULTS, members.signature, member)
        here = 0
        while here < rows and scratch.points[here] < scratch.found[k].low:
            here += 1
        while here < rows and scratch.points[here] <= scratch.found[k].high:
            candidate = scratch.rows[here].number
            if inside(members.low, members.high, member, joined, other.values[candidate], 0, joined_width):
                _put_result(out, operation, own, row, other, candidate)
            here += 1
        if out.counters[TUPLES] == tuples:
            take_back(out, sent, tuples, numbers)


@bare_kernel
def _send_results(
    out: Any, event: int, own: Any, other: Any, row: int, operation: int, members: Any, wanted_only: bool, scratch: Any
) -> None:
    """Ref-J: all new or old results of the join; Ref-J⁺: those that somebody wants."""
    rows = rows_of_key(other.entries, own.keys[row], scratch.points, scratch.rows)
    if wanted_only:
        base = own.values[row, 0]
        count = reaching(own.stabbing, scratch.points, rows, base, np.nan, scratch.found)
        mark(scratch.points, scratch.rows, rows, scratch.found, count)
    for k in range(rows):
        if not wanted_only or scratch.rows[k].mark > 0:
            begin(out, event, _JOINED, members.signature, _EVERYBODY)
            _put_result(out, operation, own, row, other, scratch.rows[k].number)
