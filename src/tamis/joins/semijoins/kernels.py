"""What a change of a table does to semijoins, written into messages: described (Ref-SJ), or told to each (Enum-SJ).

A change is of the `own` table of an edge, the `other` is its neighbour; both are `Side`. For the group whose base is
the own table the changed tuple itself is news. For the group whose base is the other table, and whose filter the own
one is, rows of the other table may come into reach, or go out of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tamis.compiled import bare_kernel, inlined_kernel
from tamis.joins.kernels import LEAST_ITEM, PLACES, Ordered, find, following, is_entry, preceding
from tamis.joins.ranges import Floats, Integers
from tamis.joins.sending.kernels import NUMBERS, SENT, TUPLES, begin, put_number, put_tuple, take_back
from tamis.joins.skylines.kernels import Gaps, cluster_based, joining_tuples, minimum_area, values_of_key
from tamis.joins.stabbing.kernels import Stabbing, between, maybe_between, reaching
from tamis.matching.searching import first_above, first_from

TUP, CLU, CLU_PLUS, SUB = range(4)
_POINTS, _SKYLINE, _EXPOSED, _DROPPED, _SEMIJOINS = 2, 3, 4, 5, 6
_INSERT, _DELETE, _DROP = range(3)
_EVERYBODY = -1
NONE = -1  # no row


class Side(NamedTuple):
    """One of the two tables of an edge, for kernels.

    `entries` has its rows by the edge's join key and their first selection attribute; the companion is the number of
    the gap above the row, which belongs to the other side's group. `values` and `keys` are by row: selection
    attributes, and the edge's join key (negative: it joins nothing). `stabbing` and `gaps` are those of `group`, whose
    base the table is; `one_sided` of its members have to be told when its filter's rows go.
    """

    entries: Ordered
    values: Floats
    keys: Integers
    stabbing: Stabbing
    gaps: Gaps
    table: int
    group: int
    one_sided: int


@bare_kernel
def describe(out: Any, how: int, event: int, own: Any, other: Any, new: int, old: int, scratch: Any) -> bool:
    """Tells of a new and an old tuple of one join key (NONE: there is none), with a skyline. False if gaps ran out.

    Where nothing joins with them there is no message.
    """
    row = new if new != NONE else old
    key = own.keys[row]
    base = own.values[row, 0]
    alternative = own.values[old, 0] if new != NONE and old != NONE else np.nan
    sent, tuples, numbers = out.counters[SENT], out.counters[TUPLES], out.counters[NUMBERS]
    begin(out, event, _POINTS if how <= CLU else _SKYLINE, own.group, _EVERYBODY)
    if new != NONE:
        put_tuple(out, _INSERT, own.table, new)
    if old != NONE:
        put_tuple(out, _DELETE, own.table, old)
    done = True
    if how == TUP:
        joining_tuples(out, other.entries, key)
    elif how == SUB:
        minimum_area(out, other.entries, own.stabbing, key, base, alternative, scratch)
    else:
        done = cluster_based(
            out, other.entries, own.stabbing, own.gaps, key, base, alternative, how == CLU_PLUS, scratch
        )
    if out.counters[NUMBERS] == numbers:
        take_back(out, sent, tuples, numbers)
    return done


@inlined_kernel
def _neighbours(o: Any, key: int, value: float) -> tuple[float, float]:
    """The nearest values of a key's rows at or below a value, and at or above it; NaN where there is none."""
    place, offset = find(o, key, value, LEAST_ITEM)
    above = _value(o, key, place, offset)
    if above == value:
        return value, value
    place, offset = preceding(o, place, offset)
    return _value(o, key, place, offset), above


@inlined_kernel
def _neighbours_without(o: Any, key: int, value: float, row: int) -> tuple[float, float]:
    """The same as if one row with that value were not there."""
    place, offset = find(o, key, value, row)
    before, at = preceding(o, place, offset)
    after, there = following(o, place, offset)
    return _value(o, key, before, at), _value(o, key, after, there)


@inlined_kernel
def _value(o: Any, key: int, place: int, offset: int) -> float:
    if is_entry(o, place) and o.entries[o.places[place].block, offset].key == key:
        return float(o.entries[o.places[place].block, offset].value)
    return np.nan


@bare_kernel
def rows_of_key(o: Any, key: int, points: Any, rows: Any) -> int:
    """A key's rows with their values, ascending; how many."""
    count = 0
    place, offset = find(o, key, -np.inf, LEAST_ITEM)
    while place < o.counters[PLACES]:
        block = o.places[place].block
        for k in range(offset, o.heads[block].length):
            if o.entries[block, k].key != key:
                return count
            points[count] = o.entries[block, k].value
            rows[count].number = o.entries[block, k].number
            count += 1
        place += 1
        offset = 0
    return count


@bare_kernel
def mark(points: Any, rows: Any, count: int, found: Any, members: int) -> None:
    """`rows[k].mark` of so many rows: how many members' intervals hold point k."""
    for k in range(count + 1):
        rows[k].mark = 0
    for k in range(members):
        start = first_from(points, 0, count, found[k].low)
        stop = first_above(points, start, count, found[k].high)
        rows[start].mark += 1
        rows[stop].mark -= 1
    for k in range(1, count):
        rows[k].mark += rows[k - 1].mark


@inlined_kernel
def joins_any(o: Any, key: int) -> bool:
    """Whether a key has rows."""
    place, offset = find(o, key, -np.inf, LEAST_ITEM)
    return is_entry(o, place) and o.entries[o.places[place].block, offset].key == key


@inlined_kernel
def _reached_alone(other: Any, key: int, value: float, below: float, above: float, found: Any, most: int) -> int:
    """Members whose interval holds a value of a key and, of its neighbours, none; how many, where rows join the key.

    Seldom is there one, so what is quickest to tell that comes first.
    """
    if below == value or above == value or not maybe_between(other.stabbing, below, above):
        return 0
    if not joins_any(other.entries, key):
        return 0
    return between(other.stabbing, below, above, value, found, most)


@inlined_kernel
def _put_neighbours(out: Any, value: float, below: float, above: float) -> None:
    put_number(out, value)
    if not np.isnan(below):
        put_number(out, below)
    if not np.isnan(above):
        put_number(out, above)


@bare_kernel
def expose(out: Any, event: int, own: Any, other: Any, new: int, scratch: Any) -> None:
    """Sends rows of the other table that a new row brings into somebody's reach, one message each (§3.2.2).

    Somebody is a member whose interval holds the new value and no other of the key's: it lies strictly between the
    neighbours.
    """
    key, value = own.keys[new], own.values[new, 0]
    below, above = _neighbours(own.entries, key, value)
    count = _reached_alone(other, key, value, below, above, scratch.found, len(scratch.found))
    if count == 0:
        return
    rows = rows_of_key(other.entries, key, scratch.points, scratch.rows)
    mark(scratch.points, scratch.rows, rows, scratch.found, count)
    for k in range(rows):
        if scratch.rows[k].mark > 0:
            begin(out, event, _EXPOSED, other.group, _EVERYBODY)
            put_tuple(out, _INSERT, other.table, scratch.rows[k].number)
            _put_neighbours(out, value, below, above)


@inlined_kernel
def _left_alone(own: Any, new: int, old: int) -> tuple[float, float]:
    """The neighbours of an old row's value once it is gone and the new row is there."""
    key, value = own.keys[old], own.values[old, 0]
    below, above = _neighbours_without(own.entries, key, value, old)
    if new != NONE and own.keys[new] == key:
        instead = own.values[new, 0]
        if instead >= value and not (instead >= above):
            above = instead
        if instead <= value and not (instead <= below):
            below = instead
    return below, above


@bare_kernel
def drop(out: Any, event: int, own: Any, other: Any, new: int, old: int, scratch: Any) -> None:
    """Tells whose only row of a key an old row was that their rows of the other table join nothing any more."""
    key, value = own.keys[old], own.values[old, 0]
    below, above = _left_alone(own, new, old)
    if _reached_alone(other, key, value, below, above, scratch.found, 1) > 0:
        begin(out, event, _DROPPED, other.group, _EVERYBODY)
        put_tuple(out, _DROP, other.table, old)
        _put_neighbours(out, value, below, above)


@bare_kernel
def tell_affected(out: Any, event: int, own: Any, other: Any, new: int, old: int, scratch: Any) -> None:
    """Enum-SJ: a message to every member that keeps, kept, or exchanges a tuple. New and old have one join key."""
    row = new if new != NONE else old
    count = values_of_key(other.entries, own.keys[row], scratch.points)
    base = own.values[row, 0]
    alternative = own.values[old, 0] if new != NONE and old != NONE else np.nan
    count = reaching(own.stabbing, scratch.points, count, base, alternative, scratch.found)
    for k in range(count):
        begin(out, event, _SEMIJOINS, own.group, scratch.found[k].number)
        if new != NONE:
            put_tuple(out, _INSERT, own.table, new)
        if old != NONE:
            put_tuple(out, _DELETE, own.table, old)


@bare_kernel
def tell_exposed(out: Any, event: int, own: Any, other: Any, new: int, scratch: Any) -> None:
    """Enum-SJ: a message to every member that a new row brings rows of the other table into reach of, with these."""
    key, value = own.keys[new], own.values[new, 0]
    below, above = _neighbours(own.entries, key, value)
    count = _reached_alone(other, key, value, below, above, scratch.found, len(scratch.found))
    if count == 0:
        return
    rows = rows_of_key(other.entries, key, scratch.points, scratch.rows)
    for k in range(count):
        start = first_from(scratch.points, 0, rows, scratch.found[k].low)
        stop = first_above(scratch.points, start, rows, scratch.found[k].high)
        if start < stop:
            begin(out, event, _SEMIJOINS, other.group, scratch.found[k].number)
            for here in range(start, stop):
                put_tuple(out, _INSERT, other.table, scratch.rows[here].number)


@bare_kernel
def tell_dropped(out: Any, event: int, own: Any, other: Any, new: int, old: int, filtering: Any, scratch: Any) -> None:
    """Enum-SJ: a message to every one-sided member whose only row of a key an old row was, if it holds rows for it."""
    key, value = own.keys[old], own.values[old, 0]
    below, above = _left_alone(own, new, old)
    count = _reached_alone(other, key, value, below, above, scratch.found, len(scratch.found))
    if count == 0:
        return
    rows = rows_of_key(other.entries, key, scratch.points, scratch.rows)
    for k in range(count):
        member = scratch.found[k].number
        start = first_from(scratch.points, 0, rows, scratch.found[k].low)
        holds = start < rows and scratch.points[start] <= scratch.found[k].high
        if holds and filtering[member, own.table] != filtering[member, other.table]:
            begin(out, event, _SEMIJOINS, other.group, member)
            put_tuple(out, _DROP, other.table, old)
