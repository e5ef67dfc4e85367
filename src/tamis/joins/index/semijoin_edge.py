"""Edges of semijoin schemes: kernels that write the news of a change, and rows of the other table that come into reach
or go out of it; edge states.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tamis.arrays import Floats, Int64s
from tamis.compiled import bare_kernel, inlined_kernel
from tamis.joins.index.edge import GAPS_FULL, EdgeState, mark, rows_of_key, values_of_key
from tamis.joins.index.gaps import Gaps, GapStore
from tamis.joins.index.kernels import LEAST_ITEM, Ordered, find, following, is_entry, preceding
from tamis.joins.index.messages import EVERYBODY, Form, Operation
from tamis.joins.index.outbox import FULL, NUMBERS, SENT, TUPLES, begin, put_number, put_tuple
from tamis.joins.index.ranges import LEFT, RIGHT, Ranges, Shape
from tamis.joins.index.stabbing_kernels import Stabbing, between, maybe_between, reaching
from tamis.joins.index.tables import NO_ROW, TableRows
from tamis.matching.base.flat_arrays import first_above, first_from

# Messages of a table's change to semijoins: described once (Ref-SJ), or told to each subscription (Enum-SJ). A change
# is of the `own` table of an edge, the `other` is its neighbour; both are `SemijoinSide`. For the group whose base is
# the own table the changed tuple itself is news. For the group whose base is the other table, and whose filter the own
# one is, rows of the other table may come into reach, or go out of it.


class SemijoinSide(NamedTuple):
    """One of the two tables of an edge, as `Side`, for semijoins; `group` is the one whose base the table is.

    `one_sided` of its members have to be told when its filter's rows go.
    """

    entries: Ordered
    values: Floats
    keys: Int64s
    stabbing: Stabbing
    table: int
    group: int
    one_sided: int


@inlined_kernel
def joining(keys: Any, row: int) -> int:
    """The row if it joins something, else NO_ROW."""
    if row != NO_ROW and keys[row] < 0:
        return NO_ROW
    return row


@inlined_kernel
def news(keys: Any, old: int, new: int, step: int) -> tuple[int, int]:
    """Rows that come and go with the first or the second piece of news of a change; NO_ROW where there is none.

    An update that keeps its join key is one piece of news; else the row that comes is one, and the row that goes
    another.
    """
    comes, goes = joining(keys, new), joining(keys, old)
    if comes != NO_ROW and goes != NO_ROW and keys[comes] == keys[goes]:
        if step == 0:
            return comes, goes
        return NO_ROW, NO_ROW
    if step == 0:
        return comes, NO_ROW
    return NO_ROW, goes


@inlined_kernel
def selected_by(values: Any, comes: int, goes: int) -> tuple[float, float]:
    """First values of the rows that come and go, by which a member selects the news; NaN for a second that is none."""
    row = comes if comes != NO_ROW else goes
    base = values[row, 0]
    if comes != NO_ROW and goes != NO_ROW:
        return base, values[goes, 0]
    return base, np.nan


@bare_kernel
def begin_described(out: Any, event: int, form: int, own: Any, comes: int, goes: int) -> None:
    """Begins a message to everybody of tuples that come and go; its description is to follow."""
    begin(out, event, form, own.group, EVERYBODY)
    if comes != NO_ROW:
        put_tuple(out, Operation.INSERT, own.table, comes)
    if goes != NO_ROW:
        put_tuple(out, Operation.DELETE, own.table, goes)


@inlined_kernel
def end_described(out: Any) -> None:
    """Takes the last message back if it is described by nothing: nothing joins with its tuples."""
    last = out.counters[SENT] - 1
    if out.counters[FULL] == 0 and out.messages[last].first_number == out.counters[NUMBERS]:
        out.counters[TUPLES] = out.messages[last].first_tuple
        out.counters[SENT] = last


@bare_kernel
def tell_reach(out: Any, event: int, own: Any, other: Any, old: int, new: int, scratch: Any) -> None:
    """Ref-SJ, after the news: writes rows of the other table that a change brings into or out of reach."""
    comes, goes = joining(own.keys, new), joining(own.keys, old)
    if comes != NO_ROW:
        expose(out, event, own, other, comes, scratch)
    if goes != NO_ROW and other.one_sided > 0:
        drop(out, event, own, other, comes, goes, scratch)


@inlined_kernel
def _neighbours(o: Any, key: int, value: float) -> tuple[float, float]:
    """Nearest values of a key's rows at or below a value, and at or above it; NaN where there is none."""
    place, offset = find(o, key, value, LEAST_ITEM)
    above = _value(o, key, place, offset)
    if above == value:
        return value, value
    place, offset = preceding(o, place, offset)
    return _value(o, key, place, offset), above


@inlined_kernel
def _neighbours_without(o: Any, key: int, value: float, row: int) -> tuple[float, float]:
    """Nearest values as if one row with that value were not there."""
    place, offset = find(o, key, value, row)
    before, at = preceding(o, place, offset)
    after, there = following(o, place, offset)
    return _value(o, key, before, at), _value(o, key, after, there)


@inlined_kernel
def _value(o: Any, key: int, place: int, offset: int) -> float:
    if is_entry(o, place) and o.entries[o.places[place].block, offset].key == key:
        return float(o.entries[o.places[place].block, offset].value)
    return np.nan


@inlined_kernel
def joins_any(o: Any, key: int) -> bool:
    """True if a key has rows."""
    place, offset = find(o, key, -np.inf, LEAST_ITEM)
    return is_entry(o, place) and o.entries[o.places[place].block, offset].key == key


@inlined_kernel
def _reached_alone(other: Any, key: int, value: float, below: float, above: float, found: Any, most: int) -> int:
    """Finds members whose interval holds a value of a key and none of its neighbours; returns how many.

    Seldom is there one, so the quickest check for that comes first.
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
            begin(out, event, Form.EXPOSED, other.group, EVERYBODY)
            put_tuple(out, Operation.INSERT, other.table, scratch.rows[k].number)
            _put_neighbours(out, value, below, above)


@inlined_kernel
def _left_alone(own: Any, new: int, old: int) -> tuple[float, float]:
    """Neighbours of an old row's value once it is gone and the new row is there."""
    key, value = own.keys[old], own.values[old, 0]
    below, above = _neighbours_without(own.entries, key, value, old)
    if new != NO_ROW and own.keys[new] == key:
        instead = own.values[new, 0]
        if instead >= value and not (instead >= above):
            above = instead
        if instead <= value and not (instead <= below):
            below = instead
    return below, above


@bare_kernel
def drop(out: Any, event: int, own: Any, other: Any, new: int, old: int, scratch: Any) -> None:
    """Writes that rows of the other table join nothing any more, to those who reached them by the old row alone."""
    key, value = own.keys[old], own.values[old, 0]
    below, above = _left_alone(own, new, old)
    if _reached_alone(other, key, value, below, above, scratch.found, 1) > 0:
        begin(out, event, Form.DROPPED, other.group, EVERYBODY)
        put_tuple(out, Operation.DROP, other.table, old)
        _put_neighbours(out, value, below, above)


@bare_kernel
def tell_affected(out: Any, event: int, own: Any, other: Any, new: int, old: int, scratch: Any) -> None:
    """Enum-SJ: writes a message to every member that keeps, kept, or exchanges a tuple. The join key is the same."""
    key = own.keys[new if new != NO_ROW else old]
    base, instead = selected_by(own.values, new, old)
    count = values_of_key(other.entries, key, scratch.points)
    count = reaching(own.stabbing, scratch.points, count, base, instead, scratch.found)
    for k in range(count):
        begin(out, event, Form.SEMIJOINS, own.group, scratch.found[k].number)
        if new != NO_ROW:
            put_tuple(out, Operation.INSERT, own.table, new)
        if old != NO_ROW:
            put_tuple(out, Operation.DELETE, own.table, old)


@bare_kernel
def tell_exposed(out: Any, event: int, own: Any, other: Any, new: int, scratch: Any) -> None:
    """Enum-SJ: writes a message to every member that a new row brings rows of the other table into reach of."""
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
            begin(out, event, Form.SEMIJOINS, other.group, scratch.found[k].number)
            for here in range(start, stop):
                put_tuple(out, Operation.INSERT, other.table, scratch.rows[here].number)


@bare_kernel
def tell_dropped(out: Any, event: int, own: Any, other: Any, new: int, old: int, filtering: Any, scratch: Any) -> None:
    """Enum-SJ: writes a message to every one-sided member whose only row of a key an old row was."""
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
            begin(out, event, Form.SEMIJOINS, other.group, member)
            put_tuple(out, Operation.DROP, other.table, old)


class SemijoinEdge(EdgeState):
    """Edge of a semijoin scheme: counts the members of each group to be told when rows of the filter go."""

    def __init__(self, shape: Shape, edge: int, rows: tuple[TableRows, ...]) -> None:
        super().__init__(shape, edge, rows)
        self._one_sided = [0, 0]

    def add(self, numbers: Int64s, ranges: Ranges) -> None:
        super().add(numbers, ranges)
        for side in (LEFT, RIGHT):
            self._one_sided[side] += int(ranges.one_sided(self._shape, self._group(side)).sum())

    def remove(self, numbers: Int64s, ranges: Ranges) -> None:
        super().remove(numbers, ranges)
        for side in (LEFT, RIGHT):
            self._one_sided[side] -= int(ranges.one_sided(self._shape, self._group(side)).sum())

    def side(self, side: int) -> tuple[Any, ...]:
        return SemijoinSide._make((*super().side(side), self._group(side), self._one_sided[side]))


# Edges for skylines that are merged over gaps.


class MergingSide(NamedTuple):
    """One of the two tables of an edge, as `SemijoinSide`; a row's companion is the number of the gap above it.

    `gaps` are those between rows of the other table: they belong to the group whose base this table is.
    """

    entries: Ordered
    values: Floats
    keys: Int64s
    stabbing: Stabbing
    table: int
    group: int
    one_sided: int
    gaps: Gaps


class MergingEdge(SemijoinEdge):
    """Edge of Ref-SJ-Clu⁺: a semijoin edge with the cache of the gaps between rows."""

    def __init__(self, shape: Shape, edge: int, rows: tuple[TableRows, ...]) -> None:
        super().__init__(shape, edge, rows)
        self._gaps = [GapStore(), GapStore()]

    def grow(self, missing: int) -> None:
        if missing == GAPS_FULL:
            for gaps in self._gaps:
                gaps.grow()
        super().grow(missing)

    def side(self, side: int) -> tuple[Any, ...]:
        return MergingSide._make((*super().side(side), self._gaps[side].arrays))
