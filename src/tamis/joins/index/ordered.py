"""An ordered composite index: (key, value) in order, in blocks that kernels search and change."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
from tamis.joins.index.ranges import Integers, Records

_FULL_AT_FIRST = BLOCK * 3 // 4


class OrderedIndex:
    """What a B-tree on (key, value) is elsewhere: two levels, blocks of entries and the order of the blocks.

    An entry is a key (a non-negative integer), a value (a float, infinities included), an item (a row or subscription
    number), and three more floats that scans need beside them (`ENTRY`). No two entries are alike in key, value and
    item. Kernels change `arrays` in place; `reserve` makes room for them beforehand, and gives other arrays.
    """

    def __init__(self) -> None:
        self.arrays = _empty(16)

    def __len__(self) -> int:
        return int(self.arrays.counters[ENTRIES])

    @classmethod
    def of(cls, entries: Records) -> OrderedIndex:
        """An index of many entries at once, in any order."""
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
        """Takes entries out, by key, value and item, and gives how many of them were there."""
        return int(remove_all(self.arrays, entries))

    def reserve(self, blocks: int) -> None:
        """Room for so many blocks more: one for each insertion is always enough."""
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
    key: npt.ArrayLike, value: npt.ArrayLike, item: Integers, end: npt.ArrayLike = 0.0, low: npt.ArrayLike = 0.0,
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
