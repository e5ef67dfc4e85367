"""Runs of ascending keys in packed blocks: searched through the directory of first keys, packed from pieces, and
chained.

Only the last block of a piece that was packed at once is short, so a run may have short ones anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from tamis.arrays import Int64s, UInt64s
from tamis.matchlog.packing import BLOCK, keys_in_lists, keys_wanted, pack, set_bits, unpack

_AT_ONCE = 1 << 16  # keys looked for at a time where their number is not known


Check: TypeAlias = Callable[[int, int], None]
"""Complains if an array is damaged from one place to before another."""


class Run:
    """Three flat arrays: first keys, what blocks are like, and packed gaps; read-only, perhaps in a mapped file.

    `check` is asked before words are read.
    """

    __slots__ = ("_check", "firsts", "meta", "words")

    def __init__(self, firsts: Int64s, meta: Int64s, words: UInt64s, check: Check | None = None) -> None:
        self.firsts, self.meta, self.words = firsts, meta, words
        self._check = check

    @classmethod
    def of(cls, keys: Int64s) -> Run:
        """A run of strictly ascending keys."""
        packer = Packer(len(keys), int(keys[-1]) - int(keys[0]) + 1 if len(keys) else 0)
        packer.add(keys)
        return packer.run()

    def keys(self, low: int = 0, high: int | None = None) -> Int64s:
        """Keys of the blocks from `low` to before `high`."""
        high = len(self.firsts) if high is None else high
        if self._check is not None and low < high:
            end = int(self.meta[high]) >> 16 if high < len(self.meta) else len(self.words)
            self._check(int(self.meta[low]) >> 16, end)
        out = np.empty(max(0, high - low) * BLOCK, np.int64)
        return out[: unpack(self.firsts, self.meta, self.words, low, high, out)]

    def blocks(self, low: int, high: int) -> tuple[int, int]:
        """Blocks in which keys from `low` to before `high` may be."""
        first = max(0, int(np.searchsorted(self.firsts, low, "right")) - 1)
        return first, max(first, int(np.searchsorted(self.firsts, high, "left")))

    def between(self, low: int, high: int) -> Int64s:
        """Keys from `low` to before `high`."""
        keys = self.keys(*self.blocks(low, high))
        return keys[np.searchsorted(keys, low) : np.searchsorted(keys, high)]

    def count(self, low: int, high: int) -> int:
        """Number of keys from `low` to before `high`; of the blocks between nothing is unpacked."""
        first, end = self.blocks(low, high)
        if end - first <= 2:
            return len(self.between(low, high))
        inner = int(((self.meta[first + 1 : end - 1] >> 8) & 255).sum())
        outer = np.concatenate([self.keys(first, first + 1), self.keys(end - 1, end)])
        return inner + int(np.count_nonzero((outer >= low) & (outer < high)))

    def first_between(self, low: int, high: int, most: int) -> Int64s:
        """The least `most` keys from `low` to before `high`."""
        first, end = self.blocks(low, high)
        some = min(end, first + 2 + most // BLOCK)
        keys = self.keys(first, some)
        keys = keys[np.searchsorted(keys, low) : np.searchsorted(keys, high)]
        if some < end and len(keys) < most:
            keys = self.between(low, high)  # short blocks at the beginning
        return keys[:most]

    def last_between(self, low: int, high: int, most: int) -> Int64s:
        """The greatest `most` keys from `low` to before `high`, ascending."""
        first, end = self.blocks(low, high)
        some = max(first, end - 2 - most // BLOCK)
        keys = self.keys(some, end)
        keys = keys[np.searchsorted(keys, low) : np.searchsorted(keys, high)]
        if some > first and len(keys) < most:
            keys = self.between(low, high)  # short blocks at the end
        return keys[max(0, len(keys) - most) :]

    def in_lists(self, numbers: Int64s, width: int, low: int, high: int) -> Int64s:
        """Keys number * width + x, low <= x < high, of ascending numbers."""
        self._check_all()
        out = np.empty(max(len(numbers) * 4, 1_024), np.int64)
        while True:
            found = keys_in_lists(self.firsts, self.meta, self.words, numbers, width, low, high, out)
            if found <= len(out):
                return out[:found]
            out = np.empty(found, np.int64)

    def wanted(self, low: int, high: int, width: int, bitmap: UInt64s, most: int) -> tuple[Int64s, int]:
        """Keys x * width + number in a range, with numbers in a bitmap, about `most`; and up to where it looked."""
        self._check_all()
        block, end = self.blocks(low, high)
        found: list[Int64s] = []
        total = 0
        while block < end and total < most:
            out = np.empty(_AT_ONCE, np.int64)
            count, block = keys_wanted(
                self.firsts, self.meta, self.words, (block, end), (low, high), width, bitmap, out
            )
            found.append(out[:count])
            total += count
        reached = high if block >= end else int(self.firsts[block])
        return (np.concatenate(found) if found else np.empty(0, np.int64)), reached

    def _check_all(self) -> None:
        if self._check is not None:
            self._check(0, len(self.words))


class Packer:
    """Packs keys that come in pieces of any length, so that only the last block is short."""

    def __init__(self, total: int, span: int) -> None:
        """`total`: keys to come, in all, and `span`: what they lie within, by which words are reserved."""
        blocks = -(-total // BLOCK)
        bits = max(1, int(max(span, 1)).bit_length())
        # The gaps of a block add up to no more than the span. Pages that are not written are not there.
        self._words = np.empty(min(total * bits // 64 + 3 * blocks, total * 2) + 8, np.uint64)
        self._firsts, self._meta = np.empty(blocks, np.int64), np.empty(blocks, np.int64)
        self._block, self._word = 0, 0
        self._rest = np.empty(0, np.int64)

    def add(self, keys: Int64s) -> None:
        """Keys above all that came before."""
        keys = np.concatenate([self._rest, keys]) if len(self._rest) else np.ascontiguousarray(keys)
        whole = len(keys) // BLOCK * BLOCK
        self._put(keys[:whole])
        self._rest = keys[whole:].copy()

    def run(self) -> Run:
        """The run of all keys."""
        self._put(self._rest)
        self._words[self._word] = 0
        return Run(self._firsts[: self._block], self._meta[: self._block], self._words[: self._word + 1])

    def _put(self, keys: Int64s) -> None:
        if len(keys):
            block, blocks = self._block, -(-len(keys) // BLOCK)
            firsts, meta = self._firsts[block : block + blocks], self._meta[block : block + blocks]
            self._word = pack(keys, firsts, meta, self._words, self._word)
            self._block += blocks


def chained(runs: Sequence[Run], shifts: Sequence[int]) -> Run:
    """Runs one after the other, the keys of each shifted: gaps stay as they are, so nothing is unpacked."""
    starts = np.cumsum([0, *(len(run.words) - 1 for run in runs)]).tolist()
    return Run(
        np.concatenate([run.firsts + shift for run, shift in zip(runs, shifts, strict=True)]),
        np.concatenate([run.meta + (start << 16) for run, start in zip(runs, starts, strict=False)]),
        np.concatenate([*(run.words[:-1] for run in runs), np.zeros(1, np.uint64)]),
    )


def bitmap_of(numbers: Int64s) -> UInt64s:
    """A bit a number, up to the greatest."""
    bitmap = np.zeros((int(numbers.max()) >> 6) + 1 if len(numbers) else 1, np.uint64)
    set_bits(bitmap, numbers)
    return bitmap
