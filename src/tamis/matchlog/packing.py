"""Kernels of packed keys: ascending int64 keys packed in blocks and unpacked, sorted in both orders, and looked up by
numbers or their bitmap.

Of a block the first key is in a directory, and the gaps between the others are packed into as many bits as the largest
of them needs.

A block's place, its number of keys and the bits of a gap are one word of `meta`: place << 16 | keys << 8 | bits. Gaps
are stored less one, so a block of neighbours takes no words at all. Words have a spare one at their end, since a gap
may reach into the next.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import Int64s, UInt64s
from tamis.compiled import kernel

BLOCK = 128


@kernel
def pack(keys: Int64s, firsts: Int64s, meta: Int64s, words: UInt64s, start: int) -> int:
    """Packs strictly ascending keys from word `start` on; only the last block may be short. Returns the next word."""
    gaps = np.empty(BLOCK, np.uint64)
    at = start
    for block in range((len(keys) + BLOCK - 1) // BLOCK):
        low = block * BLOCK
        count = min(BLOCK, len(keys) - low)
        firsts[block] = keys[low]
        # The union of all gaps has its highest bit where the largest gap has.
        union = np.uint64(0)
        for i in range(1, count):
            gap = np.uint64(keys[low + i] - keys[low + i - 1] - 1)
            gaps[i - 1] = gap
            union |= gap
        bits = np.uint64(0)
        while union:
            bits += np.uint64(1)
            union >>= np.uint64(1)
        meta[block] = at << 16 | count << 8 | np.int64(bits)
        if not bits:
            continue
        # Gaps are put into `held` from its low end, and a word is written whenever it is full.
        held, filled = np.uint64(0), np.uint64(0)
        for i in range(count - 1):
            held |= gaps[i] << filled
            filled += bits
            if filled >= np.uint64(64):
                words[at] = held
                at += 1
                filled -= np.uint64(64)
                held = gaps[i] >> (bits - filled) if filled else np.uint64(0)
        if filled:
            words[at] = held
            at += 1
    return at


@kernel
def unpack(firsts: Int64s, meta: Int64s, words: UInt64s, low: int, high: int, out: Int64s) -> int:
    """Writes the keys of blocks `low` to `high` into `out`; returns their number."""
    n = 0
    for block in range(low, high):
        about = meta[block]
        count, bits = (about >> 8) & 255, np.uint64(about & 255)
        key = firsts[block]
        out[n] = key
        n += 1
        if not bits:
            for _ in range(1, count):
                key += 1
                out[n] = key
                n += 1
            continue
        start = about >> 16
        mask = (np.uint64(1) << bits) - np.uint64(1)
        bit = np.uint64(0)
        for _ in range(1, count):
            word = start + np.int64(bit >> np.uint64(6))
            shift = bit & np.uint64(63)
            gap = words[word] >> shift
            if shift + bits > np.uint64(64):
                gap |= words[word + 1] << (np.uint64(64) - shift)
            key += np.int64(gap & mask) + 1
            out[n] = key
            n += 1
            bit += bits
    return n


@kernel
def transpose(
    offsets: Int64s, numbers: Int64s, width: int, counts: Int64s, by_event: Int64s, by_number: Int64s
) -> None:
    """Keys in both orders from lists of numbers, one an event, in any order within it: two counting sorts.

    `counts` has a zero for each number there may be, and one more.
    """
    events = len(offsets) - 1
    for number in numbers:
        counts[number + 1] += 1
    for number in range(len(counts) - 1):
        counts[number + 1] += counts[number]
    # Events are gone through in order, so the list of each number comes out ascending; counts become the lists' ends.
    for event in range(events):
        for i in range(offsets[event], offsets[event + 1]):
            number = numbers[i]
            by_number[counts[number]] = number * events + event
            counts[number] += 1
    # Numbers are gone through in order, so the list of each event comes out ascending too.
    place = offsets[:-1].copy()
    low = 0
    for number in range(len(counts) - 1):
        for i in range(low, counts[number]):
            event = by_number[i] - number * events
            by_event[place[event]] = event * width + number
            place[event] += 1
        low = counts[number]


@kernel
def keys_in_lists(
    firsts: Int64s, meta: Int64s, words: UInt64s, numbers: Int64s, width: int, low: int, high: int, out: Int64s
) -> int:
    """Keys number * width + x with low <= x < high, of ascending numbers; returns their number, which may exceed `out`.

    The directory is searched from where the last number ended, in growing steps.
    """
    n, block, blocks = 0, 0, len(firsts)
    unpacked, count = -1, 0
    keys = np.empty(BLOCK, np.int64)
    for number in numbers:
        first, end = number * width + low, number * width + high
        step = 1
        while block + step < blocks and firsts[block + step] <= first:
            block += step
            step *= 2
        while step > 1:
            step //= 2
            if block + step < blocks and firsts[block + step] <= first:
                block += step
        at = block
        while at < blocks and firsts[at] < end:
            if at != unpacked:
                count = unpack(firsts, meta, words, at, at + 1, keys)
                unpacked = at
            for i in range(count):
                if first <= keys[i] < end:
                    if n < len(out):
                        out[n] = keys[i]
                    n += 1
            at += 1
    return n


@kernel
def keys_wanted(
    firsts: Int64s,
    meta: Int64s,
    words: UInt64s,
    blocks: tuple[int, int],
    span: tuple[int, int],
    width: int,
    wanted: UInt64s,
    out: Int64s,
) -> tuple[int, int]:
    """Keys x * width + number of some blocks, within `span`, with numbers in a bitmap; and the block to go on with.

    Ends before a block that may not find room in `out`.
    """
    n = 0
    keys = np.empty(BLOCK, np.int64)
    known = len(wanted) << 6
    for block in range(blocks[0], blocks[1]):
        if n + BLOCK > len(out):
            return n, block
        count = unpack(firsts, meta, words, block, block + 1, keys)
        # Keys ascend: the multiple of the width below one is found by steps from the last, without a division.
        floor = keys[0] // width * width
        for i in range(count):
            key = keys[i]
            while key >= floor + width:
                floor += width
            number = key - floor
            inside = number < known and span[0] <= key < span[1]
            if inside and (wanted[number >> 6] >> np.uint64(number & 63)) & np.uint64(1):
                out[n] = key
                n += 1
    return n, blocks[1]


@kernel
def set_bits(bitmap: UInt64s, numbers: Int64s) -> None:
    """Sets the bit of each number that the bitmap has."""
    for number in numbers:
        if number >> 6 < len(bitmap):
            bitmap[number >> 6] |= np.uint64(1) << np.uint64(number & 63)
