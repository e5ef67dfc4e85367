"""State of joins, edge by edge: both tables' rows by join key and the subscriptions that join along the edge;
`JoinState` has all edges.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.arrays import Floats, Int64s
from tamis.compiled import bare_kernel
from tamis.joins.index.kernels import LEAST_ITEM, PLACES, SPARE, Ordered, find, insert, remove
from tamis.joins.index.outbox import Outbox
from tamis.joins.index.ranges import LEFT, NOT_THERE, RIGHT, Ranges, Records, Shape
from tamis.joins.index.stabbing import StabbingIndex
from tamis.joins.index.stabbing_kernels import FOUND, WRITTEN, Stabbing
from tamis.joins.index.tables import NO_ROW, Changes, OrderedIndex, TableRows, entries_of
from tamis.matching.base.flat_arrays import first_above, first_from

# Rows of an edge's two tables, by join key: looked up, and kept in step with changes. Tables are `Side`.

OUTBOX_FULL, INDEX_FULL, GAPS_FULL = 1, 2, 3  # what a change was not done for lack of
NO_GAP = -1
ROW = np.dtype([("number", "i8"), ("mark", "i8")])


class Side(NamedTuple):
    """One of the two tables of an edge, as arrays for kernels.

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
    """Intervals of all subscriptions by column, their filtering edges by table, and where tables' columns begin.

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
    """Writes a key's rows with their values, ascending; returns how many."""
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
    """Writes the distinct values of a key's rows, ascending; returns how many."""
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
    """Writes to `rows[k].mark` how many members' intervals hold point k."""
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
    """Follows the changes of table `number`, until blocks run out; returns the first that is not done."""
    for event in range(start, stop):
        if table[event] == number:
            if entries.counters[SPARE] == 0:
                return event
            follow(entries, keys, values, old[event], new[event])
    return stop


class EdgeState:
    """State of an edge: two tables that join, and the subscriptions with semijoins of the one with the other.

    Rows belong to the tables (`TableRows`), which several edges share; an edge indexes them by its own join key. After
    `run` its indexes include the changes.
    """

    def __init__(self, shape: Shape, edge: int, rows: tuple[TableRows, ...]) -> None:
        self.number = edge
        self._shape = shape
        self._tables = shape.edges[edge]
        self._rows = tuple(rows[table] for table in self._tables)
        self._entries = [OrderedIndex(), OrderedIndex()]
        self.stabbing = [StabbingIndex(), StabbingIndex()]  # by the side of the base
        self._scratch = _scratch(0, 0)

    def add(self, numbers: Int64s, ranges: Ranges) -> None:
        """Subscriptions by their numbers; those without a semijoin here are passed over."""
        for side in (LEFT, RIGHT):
            base, held = (self._shape.first_column[table] for table in (self._tables[side], self._tables[1 - side]))
            here = ranges.members(self._shape, self._group(side))
            low, high = ranges.low[here], ranges.high[here]
            self.stabbing[side].add(numbers[here], (low[:, held], high[:, held]), (low[:, base], high[:, base]))

    def remove(self, numbers: Int64s, ranges: Ranges) -> None:
        for side in (LEFT, RIGHT):
            self.stabbing[side].remove(numbers[ranges.members(self._shape, self._group(side))])

    def load(self, table: int, numbers: Int64s) -> None:
        """Loads many rows of one table at once, without messages."""
        side = self._tables.index(table)
        rows, entries = self._rows[side], self._entries[side]
        keys = rows.keys[self.number][numbers]
        numbers, keys = numbers[keys >= 0], keys[keys >= 0]
        loaded = entries_of(keys, rows.values[numbers, 0], numbers, float(NO_GAP))
        if len(entries):
            entries.insert(loaded)
        else:
            self._entries[side] = OrderedIndex.of(loaded)

    def run(self, kernel: Any, out: Outbox, changes: Changes, members: Members) -> None:
        """Runs a scheme's kernel, which writes the messages of changes into the outbox and follows the changes.

        The kernel goes on from a change, and returns the first that is not done and what was missing for it.
        """
        start, stop = 0, len(changes)
        while start < stop:
            self._make_room(stop - start)
            start, missing = kernel(
                out.arrays, self.side(LEFT), self.side(RIGHT), members, changes.table, changes.old, changes.new, start,
                self._scratch,
            )  # fmt: skip
            if missing == OUTBOX_FULL:
                out.grow()
            elif missing:
                self.grow(missing)

    def follow(self, changes: Changes, start: int, stop: int) -> None:
        """Follows changes without messages: others have sent them."""
        for side in (LEFT, RIGHT):
            rows, done = self._rows[side], start
            while done < stop:
                done = follow_all(
                    self._entries[side].arrays, rows.keys[self.number], rows.values, self._tables[side], changes.table,
                    changes.old, changes.new, done, stop,
                )  # fmt: skip
                if done < stop:
                    self.grow(INDEX_FULL)

    def grow(self, missing: int) -> None:
        """Makes room where a kernel had too little."""
        if missing == INDEX_FULL:
            for entries in self._entries:
                entries.reserve(len(entries.arrays.heads) // 2)

    def rows_with(self, table: int, key: int) -> Int64s:
        """Rows of one of the tables that have a join key, by their first selection attribute."""
        side = self._tables.index(table)
        self._make_room(0)
        count = rows_of_key(self._entries[side].arrays, key, self._scratch.points, self._scratch.rows)
        numbers: Int64s = self._scratch.rows["number"][:count].copy()
        return numbers

    def version(self, side: int) -> int:
        """Number of changes of a group's members, by the side of its base."""
        return int(self.stabbing[side].arrays.counters[WRITTEN])

    def side(self, side: int) -> tuple[Any, ...]:
        """Arrays of one of the tables, for kernels; invalid after a run."""
        rows = self._rows[side]
        return Side(
            self._entries[side].arrays, rows.values, rows.keys[self.number], self.stabbing[side].arrays,
            self._tables[side],
        )  # fmt: skip

    def _group(self, side: int) -> int:
        """Number of the group that has the table on that side as its base."""
        return 2 * self.number + side

    def _make_room(self, changes: int) -> None:
        members = max(len(self.stabbing[LEFT]), len(self.stabbing[RIGHT]))
        rows = max(len(self._entries[LEFT]), len(self._entries[RIGHT])) + changes
        if members > len(self._scratch.found) or rows >= len(self._scratch.points):
            self._scratch = _scratch(members + members // 4, rows + rows // 4)


def _scratch(members: int, rows: int) -> Scratch:
    members, rows = members + 16, rows + 16
    return Scratch(np.zeros(members, FOUND).view(np.recarray), np.zeros(rows), np.zeros(rows, ROW).view(np.recarray))


# State of all schemes: tables, subscriptions, and the edges between tables.


class JoinState:
    """Tables and subscriptions of one shape, indexed edge by edge.

    Not safe for use by several threads at once.
    """

    def __init__(self, shape: Shape, edge: type[EdgeState] = EdgeState) -> None:
        self.shape = shape
        self.rows = tuple(TableRows(shape, table) for table in range(shape.tables))
        self.edges = tuple(edge(shape, number, self.rows) for number in range(len(shape.edges)))
        self.sequence = 0
        self._ranges = _nobody(shape, 0)
        self._used = 0
        self._free: Int64s = np.empty(0, np.int64)
        self._gone: list[tuple[int, Int64s]] = []

    @property
    def subscriptions(self) -> Ranges:
        """Subscriptions by number; free numbers have empty intervals and no tables. Valid until the next change."""
        return self._ranges.take(slice(self._used))

    def subscribe(self, ranges: Ranges) -> Int64s:
        """Adds subscriptions and returns their numbers."""
        again = self._free[: len(ranges)]
        self._free = self._free[len(again) :]
        fresh = len(ranges) - len(again)
        if self._used + fresh > len(self._ranges):
            more = _nobody(self.shape, max(self._used // 2, fresh))
            parts = zip(self._ranges.arrays, more.arrays, strict=True)
            self._ranges = Ranges(*(np.concatenate(pair) for pair in parts))
        numbers = np.concatenate([again, np.arange(self._used, self._used + fresh)])
        self._used += fresh
        for mine, theirs in zip(self._ranges.arrays, ranges.arrays, strict=True):
            mine[numbers] = theirs
        for edge in self.edges:
            edge.add(numbers, ranges)
        return numbers

    def unsubscribe(self, numbers: npt.ArrayLike) -> None:
        """Removes subscriptions; numbers that nobody has are passed over."""
        named = np.unique(np.asarray(numbers, np.int64))
        going: Int64s = named[self._ranges.signature[named] != NOT_THERE]
        ranges = self._ranges.take(going)
        for edge in self.edges:
            edge.remove(going, ranges)
        for mine, nobody in zip(self._ranges.arrays, _nobody(self.shape, len(going)).arrays, strict=True):
            mine[going] = nobody
        self._free = np.concatenate([self._free, going])

    def load(self, table: int, values: npt.ArrayLike, keys: npt.ArrayLike) -> Int64s:
        """Loads rows that are there from the beginning, without messages. Returns their numbers."""
        numbers = self.rows[table].put(values, keys)
        for edge in self.rows[table].edges:
            self.edges[edge].load(table, numbers)
        return numbers

    def members(self, signature: int = NOT_THERE) -> Members:
        """Subscriptions for kernels; `signature` is that of an edge alone."""
        return Members(self._ranges.low, self._ranges.high, self._ranges.filtering, self.shape.first_column, signature)

    def begin(self, changes: Changes) -> int:
        """Releases the rows removed by the last batch; returns the sequence number of the first change."""
        for table, numbers in self._gone:
            self.rows[table].give_back(numbers)
        went = changes.old >= 0
        self._gone = [(table, changes.old[went & (changes.table == table)]) for table in range(self.shape.tables)]
        first = self.sequence
        self.sequence += len(changes)
        return first


def _nobody(shape: Shape, count: int) -> Ranges:
    return Ranges(
        np.full((count, shape.columns), np.inf), np.full((count, shape.columns), -np.inf),
        np.full((count, shape.tables), NOT_THERE, np.int64), np.full(count, NOT_THERE, np.int64),
    )  # fmt: skip
