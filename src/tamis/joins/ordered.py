"""An ordered composite index: (key, value) in order, in blocks that kernels search and change."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.joins.kernels import BLOCK, ENTRIES, IN_ORDER, SPARE, Ordered, insert_all, remove_all
from tamis.joins.ranges import Floats, Integers

_FULL_AT_FIRST = BLOCK * 3 // 4


class OrderedIndex:
    """What a B-tree on (key, value) is elsewhere: two levels, blocks of entries and the order of the blocks.

    An entry is a key (a non-negative integer), a value (a float, infinities included), an item (a row or subscription
    number) and `companions` more floats that scans need beside them. No two entries are alike in key, value and item.
    Kernels change `arrays` in place; `reserve` makes room for them beforehand, and gives other arrays.
    """

    def __init__(self, companions: int = 0) -> None:
        self.arrays = _empty(16, companions)

    def __len__(self) -> int:
        return int(self.arrays.counters[ENTRIES])

    @classmethod
    def of(cls, keys: Integers, values: Floats, items: Integers, companions: Floats | None = None) -> OrderedIndex:
        """An index of many entries at once, in any order."""
        if companions is None:
            companions = np.empty((len(keys), 0))
        index = cls(companions.shape[1])
        count = len(keys)
        if count == 0:
            return index
        order = np.lexsort((items, values, keys))
        blocks = -(-count // _FULL_AT_FIRST)
        index.arrays = o = _empty(blocks + blocks // 4 + 16, companions.shape[1])
        position = np.arange(count)
        block, offset = position // _FULL_AT_FIRST, position % _FULL_AT_FIRST
        o.keys[block, offset] = keys[order]
        o.values[block, offset] = values[order]
        o.items[block, offset] = items[order]
        o.companions[block, offset] = companions[order]
        starts = np.arange(blocks) * _FULL_AT_FIRST
        o.length[:blocks] = np.minimum(_FULL_AT_FIRST, count - starts)
        if companions.shape[1]:
            o.least[:blocks] = np.minimum.reduceat(companions[order, 0], starts)
        o.order[:blocks] = np.arange(blocks)
        for first, entries in ((o.first_key, o.keys), (o.first_value, o.values), (o.first_item, o.items)):
            first[:blocks] = entries[:blocks, 0]
        o.spare[: len(o.order) - blocks] = np.arange(len(o.order) - 1, blocks - 1, -1)
        o.counters[:] = blocks, len(o.order) - blocks, count
        return index

    def insert(self, keys: Integers, values: Floats, items: Integers, companions: Floats | None = None) -> None:
        if companions is None:
            companions = np.empty((len(keys), 0))
        done = 0
        while done < len(keys):
            self.reserve(1)
            done += insert_all(self.arrays, keys[done:], values[done:], items[done:], companions[done:])

    def remove(self, keys: Integers, values: Floats, items: Integers) -> int:
        """Takes entries out, and gives how many of them were there."""
        return int(remove_all(self.arrays, keys, values, items))

    def reserve(self, blocks: int) -> None:
        """Room for so many blocks more: one for each insertion is always enough."""
        o = self.arrays
        if o.counters[SPARE] >= blocks:
            return
        old = len(o.order)
        new = _empty(old + max(old // 2, blocks), o.companions.shape[2])
        for name in Ordered._fields[:-2]:
            getattr(new, name)[:old] = getattr(o, name)
        spare = int(o.counters[SPARE])
        added = len(new.order) - old
        new.spare[:added] = np.arange(len(new.order) - 1, old - 1, -1)
        new.spare[added : added + spare] = o.spare[:spare]
        new.counters[:] = o.counters[IN_ORDER], added + spare, o.counters[ENTRIES]
        self.arrays = new

    def entries(self) -> tuple[Integers, Floats, Integers]:
        """All keys, values and items in order: for tests, and to build anew."""
        o = self.arrays
        blocks = o.order[: o.counters[IN_ORDER]]
        there = np.arange(BLOCK) < o.length[blocks, None]
        return o.keys[blocks][there], o.values[blocks][there], o.items[blocks][there]


def _empty(blocks: int, companions: int) -> Ordered:
    def integers(*shape: int) -> Integers:
        return np.zeros(shape, np.int64)

    def floats(*shape: int) -> npt.NDArray[np.float64]:
        return np.zeros(shape, np.float64)

    spare = np.zeros(blocks, np.int64)
    spare[: blocks - 1] = np.arange(blocks - 1, 0, -1)
    return Ordered(
        keys=integers(blocks, BLOCK), values=floats(blocks, BLOCK), items=integers(blocks, BLOCK),
        companions=floats(blocks, BLOCK, companions), least=np.full(blocks, np.inf), length=integers(blocks),
        order=integers(blocks), first_key=integers(blocks), first_value=floats(blocks), first_item=integers(blocks),
        spare=spare, counters=np.array([1, blocks - 1, 0], np.int64),
    )  # fmt: skip
