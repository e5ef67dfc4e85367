"""Entries in order of key, value and item, in blocks: found, put in and taken out. Arrays are those of `Ordered`."""

from __future__ import annotations

from typing import Any, NamedTuple

from tamis.compiled import bare_kernel, inlined_kernel
from tamis.joins.ranges import Floats, Integers

BLOCK = 128  # entries: shifting half of them costs about as much as finding the block
LEAST_ITEM, LAST_ITEM = -1, 1 << 62
IN_ORDER, SPARE, ENTRIES = range(3)


class Ordered(NamedTuple):
    """The arrays of an ordered index, for kernels. Blocks are named by number and stand in `order`.

    A block holds `length` entries, in order and without gaps; all of them come before those of the next block in
    `order`. `first_*` repeat the first entry of each block, by its place in `order`, so that searching stays in few
    cache lines. Only the first block may be empty, and only if it is alone. `least` is the least first companion of a
    block's entries. `spare` is a stack of blocks that are not used.
    """

    keys: Integers
    values: Floats
    items: Integers
    companions: Floats
    least: Floats
    length: Integers
    order: Integers
    first_key: Integers
    first_value: Floats
    first_item: Integers
    spare: Integers
    counters: Integers


@inlined_kernel
def _place(o: Any, key: int, value: float, item: int) -> int:
    """The last place in order whose first entry does not come after (key, value, item); 0 if there is none."""
    low, high = 0, o.counters[IN_ORDER]
    while high - low > 1:
        middle = (low + high) >> 1
        first = o.first_key[middle]
        after = first > key
        if first == key:
            number = o.first_value[middle]
            after = number > value or (number == value and o.first_item[middle] > item)
        if after:
            high = middle
        else:
            low = middle
    return low


@inlined_kernel
def _offset(o: Any, block: int, key: int, value: float, item: int) -> int:
    """How many entries of the block come before (key, value, item)."""
    low, high = 0, o.length[block]
    while low < high:
        middle = (low + high) >> 1
        here = o.keys[block, middle]
        before = here < key
        if here == key:
            number = o.values[block, middle]
            before = number < value or (number == value and o.items[block, middle] < item)
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
    block = o.order[place]
    offset = _offset(o, block, key, value, item)
    if offset == o.length[block]:
        return place + 1, 0
    return place, offset


@inlined_kernel
def following(o: Any, place: int, offset: int) -> tuple[int, int]:
    """The entry after this one."""
    if offset + 1 < o.length[o.order[place]]:
        return place, offset + 1
    return place + 1, 0


@inlined_kernel
def preceding(o: Any, place: int, offset: int) -> tuple[int, int]:
    """The entry before this one; place is -1 if there is none."""
    if offset > 0:
        return place, offset - 1
    if place == 0 or o.counters[ENTRIES] == 0:
        return -1, 0
    return place - 1, o.length[o.order[place - 1]] - 1


@inlined_kernel
def is_entry(o: Any, place: int) -> bool:
    """Whether a place, as the functions above give it, is that of an entry."""
    return place >= 0 and place < o.counters[IN_ORDER]


@bare_kernel
def insert(o: Any, key: int, value: float, item: int, companions: Any) -> None:
    """Puts an entry in. There must be a spare block, and no equal entry."""
    place = _place(o, key, value, item)
    block = o.order[place]
    if o.length[block] == BLOCK:
        _split(o, place)
        if _after_first(o, place + 1, key, value, item):
            place += 1
            block = o.order[place]
    offset = _offset(o, block, key, value, item)
    width = o.companions.shape[2]
    for k in range(o.length[block], offset, -1):
        o.keys[block, k] = o.keys[block, k - 1]
        o.values[block, k] = o.values[block, k - 1]
        o.items[block, k] = o.items[block, k - 1]
        for w in range(width):
            o.companions[block, k, w] = o.companions[block, k - 1, w]
    o.keys[block, offset] = key
    o.values[block, offset] = value
    o.items[block, offset] = item
    for w in range(width):
        o.companions[block, offset, w] = companions[w]
    if width > 0 and (o.length[block] == 0 or companions[0] < o.least[block]):
        o.least[block] = companions[0]
    o.length[block] += 1
    o.counters[ENTRIES] += 1
    if offset == 0:
        _note_first(o, place)


@bare_kernel
def remove(o: Any, key: int, value: float, item: int) -> bool:
    """Takes an entry out; False if there is none."""
    place = _place(o, key, value, item)
    block = o.order[place]
    offset = _offset(o, block, key, value, item)
    last = o.length[block] - 1
    if (
        offset > last
        or o.keys[block, offset] != key
        or o.values[block, offset] != value
        or o.items[block, offset] != item
    ):
        return False
    width = o.companions.shape[2]
    for k in range(offset, last):
        o.keys[block, k] = o.keys[block, k + 1]
        o.values[block, k] = o.values[block, k + 1]
        o.items[block, k] = o.items[block, k + 1]
        for w in range(width):
            o.companions[block, k, w] = o.companions[block, k + 1, w]
    o.length[block] = last
    o.counters[ENTRIES] -= 1
    if last == 0:
        if o.counters[IN_ORDER] > 1:
            _take_out(o, place)
        return True
    _note_least(o, block)
    if offset == 0:
        _note_first(o, place)
    if place + 1 < o.counters[IN_ORDER] and last + o.length[o.order[place + 1]] <= BLOCK // 2:
        _join(o, place)
    return True


@inlined_kernel
def _after_first(o: Any, place: int, key: int, value: float, item: int) -> bool:
    first = o.first_key[place]
    if first != key:
        return bool(first < key)
    number = o.first_value[place]
    return bool(number < value or (number == value and o.first_item[place] <= item))


@inlined_kernel
def _note_first(o: Any, place: int) -> None:
    block = o.order[place]
    o.first_key[place] = o.keys[block, 0]
    o.first_value[place] = o.values[block, 0]
    o.first_item[place] = o.items[block, 0]


@inlined_kernel
def _note_least(o: Any, block: int) -> None:
    if o.companions.shape[2] == 0:
        return
    least = o.companions[block, 0, 0]
    for k in range(1, o.length[block]):
        least = min(least, o.companions[block, k, 0])
    o.least[block] = least


@bare_kernel
def _split(o: Any, place: int) -> None:
    """Moves the upper half of a full block into a spare one, which comes next."""
    o.counters[SPARE] -= 1
    new = o.spare[o.counters[SPARE]]
    for k in range(o.counters[IN_ORDER], place + 1, -1):
        o.order[k] = o.order[k - 1]
        o.first_key[k] = o.first_key[k - 1]
        o.first_value[k] = o.first_value[k - 1]
        o.first_item[k] = o.first_item[k - 1]
    o.counters[IN_ORDER] += 1
    o.order[place + 1] = new
    block = o.order[place]
    half = BLOCK // 2
    _copy(o, block, half, new, 0, BLOCK - half)
    o.length[new] = BLOCK - half
    o.length[block] = half
    _note_first(o, place + 1)
    _note_least(o, block)
    _note_least(o, new)


@bare_kernel
def _join(o: Any, place: int) -> None:
    """Moves the entries of the next block to the end of this one."""
    block, other = o.order[place], o.order[place + 1]
    _copy(o, other, 0, block, o.length[block], o.length[other])
    o.length[block] += o.length[other]
    o.length[other] = 0
    _note_least(o, block)
    _take_out(o, place + 1)


@inlined_kernel
def _copy(o: Any, source: int, start: int, target: int, at: int, count: int) -> None:
    for k in range(count):
        o.keys[target, at + k] = o.keys[source, start + k]
        o.values[target, at + k] = o.values[source, start + k]
        o.items[target, at + k] = o.items[source, start + k]
        for w in range(o.companions.shape[2]):
            o.companions[target, at + k, w] = o.companions[source, start + k, w]


@inlined_kernel
def _take_out(o: Any, place: int) -> None:
    """Takes an empty block out of the order."""
    o.spare[o.counters[SPARE]] = o.order[place]
    o.counters[SPARE] += 1
    o.counters[IN_ORDER] -= 1
    for k in range(place, o.counters[IN_ORDER]):
        o.order[k] = o.order[k + 1]
        o.first_key[k] = o.first_key[k + 1]
        o.first_value[k] = o.first_value[k + 1]
        o.first_item[k] = o.first_item[k + 1]


@bare_kernel
def insert_all(o: Any, keys: Any, values: Any, items: Any, companions: Any) -> int:
    """Puts entries in one after the other until blocks run out; gives how many are in."""
    for k in range(len(keys)):
        if o.counters[SPARE] == 0:
            return k
        insert(o, keys[k], values[k], items[k], companions[k])
    return len(keys)


@bare_kernel
def remove_all(o: Any, keys: Any, values: Any, items: Any) -> int:
    """Takes entries out; gives how many were there."""
    found = 0
    for k in range(len(keys)):
        if remove(o, keys[k], values[k], items[k]):
            found += 1
    return found
