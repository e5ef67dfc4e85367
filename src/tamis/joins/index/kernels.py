"""B-tree kernels: entries in order of key, value and item, in blocks; search, insertion and removal."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tamis.arrays import Int64s
from tamis.compiled import bare_kernel, inlined_kernel
from tamis.joins.index.ranges import Records

BLOCK = 128  # entries: shifting half of them costs about as much as finding the block
# Numbers of a type, and not literals: for each literal that `find` is called with Numba would compile it once more.
LEAST_ITEM, LAST_ITEM = np.int64(-1), np.int64(1 << 62)
PLACES, SPARE, ENTRIES = range(3)


ENTRY = np.dtype([("key", "i8"), ("value", "f8"), ("number", "i8"), ("end", "f8"), ("low", "f8"), ("high", "f8")])
BLOCK_HEAD = np.dtype([("length", "i8"), ("least", "f8"), ("spare", "i8")])
PLACE = np.dtype([("block", "i8"), ("key", "i8"), ("value", "f8"), ("number", "i8")])


class Ordered(NamedTuple):
    """Arrays of an ordered index (`OrderedIndex`), for kernels.

    They are few, of records, since Numba hands over every array in parts. `entries[block, k]` for k below
    `heads[block].length` are in order and without gaps. Blocks stand in `places`, in order, each with its first entry,
    so that searching stays in few cache lines; all entries of a block come before those of the next. Only the first
    block may be empty, and only if it is alone. `least` is the least `end` of a block's entries. The `spare` fields of
    `heads` are a stack of free blocks. `counters` says how many places there are, how many spare blocks, and how many
    entries.
    """

    entries: Records
    heads: Records
    places: Records
    counters: Int64s


@inlined_kernel
def _place(o: Any, key: int, value: float, item: int) -> int:
    """Last place in order whose first entry does not come after (key, value, item); 0 if there is none."""
    low, high = 0, o.counters[PLACES]
    while high - low > 1:
        middle = (low + high) >> 1
        first = o.places[middle].key
        after = first > key
        if first == key:
            number = o.places[middle].value
            after = number > value or (number == value and o.places[middle].number > item)
        if after:
            high = middle
        else:
            low = middle
    return low


@inlined_kernel
def _offset(o: Any, block: int, key: int, value: float, item: int) -> int:
    """Count of a block's entries that come before (key, value, item)."""
    low, high = 0, o.heads[block].length
    while low < high:
        middle = (low + high) >> 1
        here = o.entries[block, middle].key
        before = here < key
        if here == key:
            number = o.entries[block, middle].value
            before = number < value or (number == value and o.entries[block, middle].number < item)
        if before:
            low = middle + 1
        else:
            high = middle
    return low


@bare_kernel
def find(o: Any, key: int, value: float, item: int) -> tuple[int, int]:
    """Place and offset of the first entry that does not come before (key, value, item); place is past the end if none.

    With `LEAST_ITEM` the first with that value or a higher one, with `LAST_ITEM` the first with a higher one.
    """
    place = _place(o, key, value, item)
    block = o.places[place].block
    offset = _offset(o, block, key, value, item)
    if offset == o.heads[block].length:
        return place + 1, 0
    return place, offset


@inlined_kernel
def following(o: Any, place: int, offset: int) -> tuple[int, int]:
    """Position of the entry after this one."""
    if offset + 1 < o.heads[o.places[place].block].length:
        return place, offset + 1
    return place + 1, 0


@inlined_kernel
def preceding(o: Any, place: int, offset: int) -> tuple[int, int]:
    """Position of the entry before this one; place is -1 if there is none."""
    if offset > 0:
        return place, offset - 1
    if place == 0 or o.counters[ENTRIES] == 0:
        return -1, 0
    return place - 1, o.heads[o.places[place - 1].block].length - 1


@inlined_kernel
def is_entry(o: Any, place: int) -> bool:
    """True if a place, as the functions above give it, is that of an entry."""
    return place >= 0 and place < o.counters[PLACES]


@bare_kernel
def insert(o: Any, key: int, value: float, item: int, end: float, low: float, high: float) -> None:
    """Inserts an entry. There must be a spare block, and no equal entry."""
    place = _place(o, key, value, item)
    block = o.places[place].block
    if o.heads[block].length == BLOCK:
        _split(o, place)
        place = _place(o, key, value, item)
        block = o.places[place].block
    offset = _offset(o, block, key, value, item)
    length = o.heads[block].length
    for k in range(length, offset, -1):
        o.entries[block, k] = o.entries[block, k - 1]
    entry = o.entries[block, offset]
    entry.key, entry.value, entry.number = key, value, item
    entry.end, entry.low, entry.high = end, low, high
    if length == 0 or end < o.heads[block].least:
        o.heads[block].least = end
    o.heads[block].length = length + 1
    o.counters[ENTRIES] += 1
    if offset == 0:
        _note_first(o, place)


@bare_kernel
def remove(o: Any, key: int, value: float, item: int) -> bool:
    """Removes an entry; False if there is none."""
    place = _place(o, key, value, item)
    block = o.places[place].block
    offset = _offset(o, block, key, value, item)
    last = o.heads[block].length - 1
    if (
        offset > last
        or o.entries[block, offset].key != key
        or o.entries[block, offset].value != value
        or o.entries[block, offset].number != item
    ):
        return False
    was_least = o.entries[block, offset].end == o.heads[block].least
    for k in range(offset, last):
        o.entries[block, k] = o.entries[block, k + 1]
    o.heads[block].length = last
    o.counters[ENTRIES] -= 1
    if last == 0:
        if o.counters[PLACES] > 1:
            _take_out(o, place)
        return True
    if was_least:
        _note_least(o, block)
    if offset == 0:
        _note_first(o, place)
    if place + 1 < o.counters[PLACES] and last + o.heads[o.places[place + 1].block].length <= BLOCK // 2:
        _join(o, place)
    return True


@inlined_kernel
def _note_first(o: Any, place: int) -> None:
    block = o.places[place].block
    o.places[place].key = o.entries[block, 0].key
    o.places[place].value = o.entries[block, 0].value
    o.places[place].number = o.entries[block, 0].number


@inlined_kernel
def _note_least(o: Any, block: int) -> None:
    least = o.entries[block, 0].end
    for k in range(1, o.heads[block].length):
        if o.entries[block, k].end < least:
            least = o.entries[block, k].end
    o.heads[block].least = least


@bare_kernel
def _split(o: Any, place: int) -> None:
    """Moves the upper half of a full block into a spare one, which comes next."""
    o.counters[SPARE] -= 1
    new = o.heads[o.counters[SPARE]].spare
    for k in range(o.counters[PLACES], place + 1, -1):
        o.places[k] = o.places[k - 1]
    o.counters[PLACES] += 1
    o.places[place + 1].block = new
    block = o.places[place].block
    half = BLOCK // 2
    for k in range(half, BLOCK):
        o.entries[new, k - half] = o.entries[block, k]
    o.heads[new].length = BLOCK - half
    o.heads[block].length = half
    _note_first(o, place + 1)
    _note_least(o, block)
    _note_least(o, new)


@bare_kernel
def _join(o: Any, place: int) -> None:
    """Moves the entries of the next block to the end of this one."""
    block, other = o.places[place].block, o.places[place + 1].block
    length = o.heads[block].length
    for k in range(o.heads[other].length):
        o.entries[block, length + k] = o.entries[other, k]
    o.heads[block].length = length + o.heads[other].length
    _note_least(o, block)
    _take_out(o, place + 1)


@inlined_kernel
def _take_out(o: Any, place: int) -> None:
    """Removes an empty block from the order."""
    o.heads[o.places[place].block].length = 0
    o.heads[o.counters[SPARE]].spare = o.places[place].block
    o.counters[SPARE] += 1
    o.counters[PLACES] -= 1
    for k in range(place, o.counters[PLACES]):
        o.places[k] = o.places[k + 1]


@bare_kernel
def insert_all(o: Any, entries: Any) -> int:
    """Inserts entries one after the other until blocks run out; returns how many are in."""
    for k in range(len(entries)):
        if o.counters[SPARE] == 0:
            return k
        entry = entries[k]
        insert(o, entry.key, entry.value, entry.number, entry.end, entry.low, entry.high)
    return len(entries)


@bare_kernel
def remove_all(o: Any, entries: Any) -> int:
    """Removes entries; returns how many were there."""
    found = 0
    for k in range(len(entries)):
        if remove(o, entries[k].key, entries[k].value, entries[k].number):
            found += 1
    return found
