"""Rows of an edge's two tables, by join key: looked up, and kept in step with changes. Tables are `Side`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tamis.arrays import Floats, Int64s
from tamis.compiled import bare_kernel
from tamis.joins.index.kernels import LEAST_ITEM, PLACES, SPARE, Ordered, find, insert, remove
from tamis.joins.index.ranges import Records
from tamis.joins.index.stabbing_kernels import Stabbing
from tamis.joins.index.tables import NO_ROW
from tamis.matching.base.flat_arrays import first_above, first_from

OUTBOX_FULL, INDEX_FULL, GAPS_FULL = 1, 2, 3  # what a change was not done for lack of
NO_GAP = -1
ROW = np.dtype([("number", "i8"), ("mark", "i8")])


class Side(NamedTuple):
    """One of the two tables of an edge, for kernels.

    `entries` has its rows by the edge's join key and their first selection attribute; the companion is a number that
    semijoins may keep with a row (NO_GAP to begin with). `values` and `keys` are by row: selection attributes, and the
    edge's join key (negative: it joins nothing). `stabbing` has the subscriptions of the group whose base the table is.
    """

    entries: Ordered
    values: Floats
    keys: Int64s
    stabbing: Stabbing
    table: int


class Members(NamedTuple):
    """All subscriptions' intervals by column, their filtering edges by table, and where tables' columns begin.

    `signature` is the number of the signature that is this edge alone, -1 if nobody has it.
    """

    low: Floats
    high: Floats
    filtering: Int64s
    first_column: Int64s
    signature: int


class Scratch(NamedTuple):
    """Room for kernels: `found` for as many as a group has members, `points` and `rows` for a table's rows and one."""

    found: Records
    points: Floats
    rows: Records


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
def values_of_key(o: Any, key: int, points: Any) -> int:
    """The different values of a key's rows, ascending; how many."""
    count = 0
    place, offset = find(o, key, -np.inf, LEAST_ITEM)
    while place < o.counters[PLACES]:
        block = o.places[place].block
        for k in range(offset, o.heads[block].length):
            if o.entries[block, k].key != key:
                return count
            if count == 0 or points[count - 1] != o.entries[block, k].value:
                points[count] = o.entries[block, k].value
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


@bare_kernel
def follow(entries: Any, keys: Any, values: Any, old: int, new: int) -> None:
    """Puts a new row into its table's index, then takes the old one out. There must be a spare block."""
    if new != NO_ROW and keys[new] >= 0:
        insert(entries, keys[new], values[new, 0], new, float(NO_GAP), 0.0, 0.0)
    if old != NO_ROW and keys[old] >= 0:
        remove(entries, keys[old], values[old, 0], old)


@bare_kernel
def follow_all(
    entries: Any, keys: Any, values: Any, number: int, table: Any, old: Any, new: Any, start: int, stop: int
) -> int:
    """Follows those changes that are of the table `number`, until blocks run out; gives the first that is not done."""
    for event in range(start, stop):
        if table[event] == number:
            if entries.counters[SPARE] == 0:
                return event
            follow(entries, keys, values, old[event], new[event])
    return stop
