"""Numeric tables of joins: changes and rows by number, and the ordered index (B-tree) over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.arrays import Floats, Int64s
from tamis.joins.index.kernels import (
    BLOCK,
    BLOCK_HEAD,
    ENTRIES,
    ENTRY,
    PLACE,
    PLACES,
    SPARE,
    Ordered,
    insert_all,
    remove_all,
)
from tamis.joins.index.ranges import Records, Shape

NO_ROW = -1


@dataclass(frozen=True)
class Changes:
    """Changes of tables in the order in which they happen, by row number: `old` goes, `new` comes.

    An insertion has no old row, a deletion no new one (-1), an update both. New rows are put into their `TableRows`
    before, old ones are still there; both can be read until the next changes.
    """

    table: Int64s
    old: Int64s
    new: Int64s

    def __len__(self) -> int:
        return len(self.table)

    @classmethod
    def of(cls, table: npt.ArrayLike, old: npt.ArrayLike, new: npt.ArrayLike) -> Changes:
        return cls(*(np.ascontiguousarray(part, np.int64).reshape(-1) for part in (table, old, new)))


class TableRows:
    """Rows of one table by number: selection attributes, and for each of the table's edges the join key.

    A row keeps its number until it is given back; numbers are used again. Join keys are codes from 0 on, the same on
    both sides of an edge; -1 joins nothing. Absent attributes are minus infinity.
    """

    def __init__(self, shape: Shape, table: int) -> None:
        self.edges = tuple(edge for edge, tables in enumerate(shape.edges) if table in tables)
        self.values: Floats = np.empty((16, shape.widths[table]))
        self.keys: dict[int, Int64s] = {edge: np.empty(16, np.int64) for edge in self.edges}
        self._free: Int64s = np.arange(15, -1, -1, dtype=np.int64)
        self._spare = 16

    def __len__(self) -> int:
        return len(self.values) - self._spare

    def put(self, values: npt.ArrayLike, keys: npt.ArrayLike) -> Int64s:
        """Adds rows and returns their numbers: values by row and attribute, keys by row and edge (`edges`)."""
        values = np.asarray(values, np.float64).reshape(-1, self.values.shape[1])
        keys = np.asarray(keys, np.int64).reshape(len(values), len(self.edges))
        if np.isnan(values).any():
            raise ValueError("NaN is no value of a selection attribute")
        while self._spare < len(values):
            self._grow()
        self._spare -= len(values)
        numbers = self._free[self._spare : self._spare + len(values)][::-1].copy()
        self.values[numbers] = values
        for place, edge in enumerate(self.edges):
            self.keys[edge][numbers] = keys[:, place]
        return numbers

    def give_back(self, numbers: Int64s) -> None:
        """Frees the numbers of rows; they may be others' from now on."""
        self._free[self._spare : self._spare + len(numbers)] = numbers
        self._spare += len(numbers)

    def _grow(self) -> None:
        old = len(self.values)
        self.values = np.concatenate([self.values, np.empty_like(self.values)])
        self.keys = {edge: np.concatenate([keys, np.empty_like(keys)]) for edge, keys in self.keys.items()}
        self._free = np.concatenate([np.arange(2 * old - 1, old - 1, -1, dtype=np.int64), self._free])
        self._spare += old


# An ordered composite index: (key, value) in order, in blocks that kernels search and change.

_FULL_AT_FIRST = BLOCK * 3 // 4


class OrderedIndex:
    """Ordered index on (key, value), a B-tree of two levels: blocks of entries and the order of the blocks.

    An entry is a key (a non-negative integer), a value (a float, infinities included), an item (a row or subscription
    number), and three more floats that scans need beside them (`ENTRY`). No two entries are alike in key, value and
    item. Kernels change `arrays` in place; `reserve` makes room for them beforehand, and replaces the arrays.
    """

    def __init__(self) -> None:
        self.arrays = _empty(16)

    def __len__(self) -> int:
        return int(self.arrays.counters[ENTRIES])

    @classmethod
    def of(cls, entries: Records) -> OrderedIndex:
        """Builds an index of many entries at once, in any order."""
        index = cls()
        count = len(entries)
        if count == 0:
            return index
        ordered = entries[np.lexsort((entries["number"], entries["value"], entries["key"]))]
        blocks = -(-count // _FULL_AT_FIRST)
        index.arrays = o = _empty(blocks + blocks // 4 + 16)
        position = np.arange(count)
        o.entries[position // _FULL_AT_FIRST, position % _FULL_AT_FIRST] = ordered
        starts = np.arange(blocks) * _FULL_AT_FIRST
        o.heads["length"][:blocks] = np.minimum(_FULL_AT_FIRST, count - starts)
        o.heads["least"][:blocks] = np.minimum.reduceat(ordered["end"], starts)
        o.places["block"][:blocks] = np.arange(blocks)
        for name in ("key", "value", "number"):
            o.places[name][:blocks] = ordered[name][starts]
        spare = len(o.heads) - blocks
        o.heads["spare"][:spare] = np.arange(len(o.heads) - 1, blocks - 1, -1)
        o.counters[:] = blocks, spare, count
        return index

    def insert(self, entries: Records) -> None:
        done = 0
        while done < len(entries):
            self.reserve(1)
            done += insert_all(self.arrays, entries[done:])

    def remove(self, entries: Records) -> int:
        """Removes entries by key, value and item; returns how many of them were there."""
        return int(remove_all(self.arrays, entries))

    def reserve(self, blocks: int) -> None:
        """Makes room for so many blocks more: one for each insertion is always enough."""
        o = self.arrays
        if o.counters[SPARE] >= blocks:
            return
        old = len(o.heads)
        new = _empty(old + max(old // 2, blocks))
        new.entries[:old], new.heads[:old], new.places[:old] = o.entries, o.heads, o.places
        spare, added = int(o.counters[SPARE]), len(new.heads) - old
        new.heads["spare"][:added] = np.arange(len(new.heads) - 1, old - 1, -1)
        new.heads["spare"][added : added + spare] = o.heads["spare"][:spare]
        new.counters[:] = o.counters[PLACES], added + spare, o.counters[ENTRIES]
        self.arrays = new

    def entries(self) -> Records:
        """All entries in order: for tests, and to build anew."""
        o = self.arrays
        blocks = o.places["block"][: o.counters[PLACES]]
        there = np.arange(BLOCK) < o.heads["length"][blocks, None]
        return o.entries[blocks][there].view(np.recarray)


def entries_of(
    key: npt.ArrayLike, value: npt.ArrayLike, item: Int64s, end: npt.ArrayLike = 0.0, low: npt.ArrayLike = 0.0,
    high: npt.ArrayLike = 0.0,
) -> Records:  # fmt: skip
    """Entries by their parts."""
    entries = np.recarray(len(item), ENTRY)
    for name, part in (("key", key), ("value", value), ("number", item), ("end", end), ("low", low), ("high", high)):
        entries[name] = part
    return entries


def _empty(blocks: int) -> Ordered:
    heads = np.zeros(blocks, BLOCK_HEAD).view(np.recarray)
    heads["spare"][: blocks - 1] = np.arange(blocks - 1, 0, -1)
    return Ordered(
        np.zeros((blocks, BLOCK), ENTRY).view(np.recarray), heads, np.zeros(blocks, PLACE).view(np.recarray),
        np.array([1, blocks - 1, 0], np.int64),
    )  # fmt: skip
