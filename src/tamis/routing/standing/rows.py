"""Conjunctions of a covering table as rows of predicate numbers, and the kernel that compares one with all rows.

Rows are in buckets by the columns they are on, so most rows are skipped by a bit mask.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tamis.arrays import Int64s
from tamis.compiled import bare_kernel, inlined_kernel
from tamis.matching.base.flat_arrays import doubled, extended
from tamis.routing.standing.predicate_index import POINT, RANGES, SEVERAL, WHOLE, PredicateIndex, Terms

# Kernel arrays. `buckets`: signatures of the columns, widths, first rows, numbers of rows, first cells, first
# columns. A row of a bucket has one cell, a predicate, for each column; its owner is twice a number, plus one if the
# owner has other rows as well. `predicates` is `PredicateIndex.flat`.

# Answers: not implied; undecided by bounds, needs a closer look; implied.
NO, ASK, YES = range(3)
# Directions that `relate_to_all` looks for.
COVERING, COVERED = 1, 2
# Counters of `relate_to_all`: rows that cover, rows that are covered, rows compared, and a flag that room ran out.
FOUND_COVERING, FOUND_COVERED, COMPARED, FULL = range(4)


@inlined_kernel
def follows(stronger: int, weaker: int, predicates: Any) -> int:
    """Implication between two predicates on the same column: NO, ASK or YES."""
    lows, highs, flags, starts, counts, range_lows, range_highs = predicates
    if stronger == weaker or flags[weaker] & WHOLE:
        return YES
    if (flags[stronger] | flags[weaker]) & SEVERAL:
        return ASK
    if lows[stronger] < lows[weaker] or highs[stronger] > highs[weaker]:
        return NO
    if flags[weaker] & RANGES:
        if counts[weaker] == 1:
            return YES
        k, end = starts[weaker], starts[weaker] + counts[weaker]
        for i in range(starts[stronger], starts[stronger] + counts[stronger]):
            while k < end and range_highs[k] < range_lows[i]:
                k += 1
            if k == end or range_lows[i] < range_lows[k] or range_highs[i] > range_highs[k]:
                return NO
        return YES
    return NO if flags[weaker] & POINT else ASK


@bare_kernel
def aligned(small: Any, first: int, width: int, large: Any, begin: int, end: int, places: Any) -> bool:
    """True if all of some columns are among others, both ascending; their positions are written to `places`."""
    k = begin
    for j in range(width):
        while k < end and large[k] < small[first + j]:
            k += 1
        if k == end or large[k] != small[first + j]:
            return False
        places[j] = k - begin
    return True


@inlined_kernel
def all_follow(strong: Any, first: int, places: Any, weak: Any, start: int, width: int, predicates: Any) -> int:
    """Implication of each of some predicates by the one at its place among others: the weakest of NO, ASK, YES."""
    answer = YES
    for j in range(width):
        answer = min(answer, follows(strong[first + places[j]], weak[start + j], predicates))
        if answer == NO:
            break
    return answer


@inlined_kernel
def note(found: Any, kind: int, owner: int, answer: int, work: Any) -> None:
    """Writes a pair down, or sets the flag that there is no room."""
    if work[kind] == len(found):
        work[FULL] = 1
    else:
        found[work[kind], 0], found[work[kind], 1] = owner, answer
        work[kind] += 1


@bare_kernel
def relate_to_all(
    wanted: int, once: bool, signature: Any, columns: Any, terms: Any, width: int, buckets: Any, count: int,
    bucket_columns: Any, cells: Any, owners: Any, predicates: Any, places: Any, covering: Any, covered: Any, work: Any,
) -> None:  # fmt: skip
    """Finds rows that cover a conjunction (into `covering`) and rows it covers (into `covered`), as pairs (owner,
    answer).

    `once`: the first row that surely covers it ends the search, and the first owner that it surely covers ends the
    search for rows that cover it, which then there are none of (the paper's Fig 7). `work`: how many were found.
    """
    signatures, widths, first_rows, row_counts, first_cells, first_columns = buckets
    upward, downward = wanted & COVERING != 0, wanted & COVERED != 0
    for b in range(count):
        rows, size, first = row_counts[b], widths[b], first_columns[b]
        if rows == 0:
            continue
        # A covering row has only columns that the conjunction has too: one mask test, and one alignment, a
        # bucket.
        above = upward and signatures[b] & ~signature == 0 and size <= width
        if above and aligned(bucket_columns, first, size, columns, 0, width, places):
            work[COMPARED] += rows
            for r in range(rows):
                answer = all_follow(terms, 0, places, cells, first_cells[b] + r * size, size, predicates)
                if answer != NO:
                    note(covering, FOUND_COVERING, owners[first_rows[b] + r] >> 1, answer, work)
                    if answer == YES and once:
                        return
        # The other direction: covered rows have all columns of the conjunction. A certain cover was found
        # above first, because with `once` it makes this search unnecessary.
        below = downward and signature & ~signatures[b] == 0 and size >= width
        if below and aligned(columns, 0, width, bucket_columns, first, first + size, places):
            work[COMPARED] += rows
            for r in range(rows):
                answer = all_follow(cells, first_cells[b] + r * size, places, terms, 0, width, predicates)
                if answer != NO:
                    owner = owners[first_rows[b] + r]
                    note(covered, FOUND_COVERED, owner >> 1, answer, work)
                    if answer == YES and once and owner & 1 == 0:
                        upward = False


# Result buffers of a comparison with all rows, which grow to what it finds.

Related = tuple[Int64s, Int64s]
"""Pairs (owner, answer): of the rows that cover a conjunction, and of those that it covers."""


class Relating:
    """Reusable buffers for such pairs; results are valid until the next comparison."""

    def __init__(self, room: int) -> None:
        self.covering = np.zeros((room, 2), np.int64)
        self.covered = np.zeros((room, 2), np.int64)
        self._work = np.zeros(4, np.int64)

    def find(self, compare: Callable[[Int64s, Int64s, Int64s], object]) -> Related:
        """Runs a comparison into the buffers, again with more room if it ran out; returns the pairs of both
        directions."""
        while True:
            self._work[:] = 0
            compare(self.covering, self.covered, self._work)
            if not self._work[FULL]:
                found = self._work.tolist()
                return self.covering[: found[FOUND_COVERING]], self.covered[: found[FOUND_COVERED]]
            self.covering = np.zeros((4 * len(self.covering), 2), np.int64)
            self.covered = np.zeros((4 * len(self.covered), 2), np.int64)


_ROOM = 64
_BITS = 64
_FEW_ROWS = 4
MOST_ASKED = 256


class Rows:
    """Buckets of rows; all rows of a bucket are on the same columns, and its `signatures` have a bit a column.

    Bucket b has rows `first_rows[b]` on, `counts[b]` of them and room for more, with their cells, predicates, from
    `first_cells[b]` on; `owners` tells whose conjunction a row is. A bucket that outgrows its room moves to the end;
    what it leaves behind is swept up when the end is reached.
    """

    def __init__(self, index: PredicateIndex) -> None:
        self._index = index
        self._numbers: dict[tuple[int, ...], int] = {}
        self._keys: list[tuple[int, ...]] = []
        self.signatures = np.zeros(_ROOM, np.uint64)
        self.widths = np.zeros(_ROOM, np.int32)
        self.counts = np.zeros(_ROOM, np.int32)
        self._room = np.zeros(_ROOM, np.int64)
        self.first_rows = np.zeros(_ROOM, np.int64)
        self.first_cells = np.zeros(_ROOM, np.int64)
        self.first_columns = np.zeros(_ROOM, np.int64)
        self._columns = np.zeros(4 * _ROOM, np.int32)
        self._used_columns = 0
        self.owners = np.zeros(16 * _ROOM, np.int32)
        self.cells = np.zeros(32 * _ROOM, np.int32)
        self._used_rows = self._used_cells = 0
        self._places: dict[tuple[int, Terms], tuple[int, int]] = {}
        self._relating = Relating(MOST_ASKED)
        self._aligned = np.zeros(_ROOM, np.int32)
        self._one = np.zeros(_ROOM, np.int32), np.zeros(_ROOM, np.int32)

    def add(self, owner: int, terms: Terms, alone: bool) -> None:
        """Adds a conjunction of an owner, who does not have it yet; `alone`: it will be the owner's only one."""
        key = tuple(map(self._index.column, terms))
        bucket = self._numbers.get(key)
        if bucket is None:
            bucket = self._new_bucket(key)
        row = int(self.counts[bucket])
        if row == self._room[bucket]:
            self._move(bucket)
        self.owners[self.first_rows[bucket] + row] = 2 * owner + (not alone)
        cell = int(self.first_cells[bucket]) + row * len(terms)
        self.cells[cell : cell + len(terms)] = terms
        self.counts[bucket] = row + 1
        self._places[owner, terms] = bucket, row

    def remove(self, owner: int, terms: Terms) -> None:
        """Removes a row; the last of its bucket takes its place."""
        bucket, row = self._places.pop((owner, terms))
        last, width = int(self.counts[bucket]) - 1, len(terms)
        if row < last:
            start = int(self.first_cells[bucket])
            moved = self.cells[start + last * width : start + (last + 1) * width]
            self.cells[start + row * width : start + (row + 1) * width] = moved
            first = int(self.first_rows[bucket])
            self.owners[first + row] = self.owners[first + last]
            self._places[int(self.owners[first + row]) >> 1, tuple(moved.tolist())] = bucket, row
        self.counts[bucket] = last

    def relate(self, terms: Terms, *, covering: bool = True, covered: bool = True, once: bool = True) -> Related:
        """Pairs of the rows that cover a conjunction, and of those that it covers."""
        width = len(terms)
        if width > len(self._aligned):
            self._aligned = np.zeros(2 * width, np.int32)
            self._one = np.zeros(2 * width, np.int32), np.zeros(2 * width, np.int32)
        columns, numbers = self._one
        signature = 0
        for k, term in enumerate(terms):
            column = self._index.column(term)
            columns[k], numbers[k] = column, term
            signature |= 1 << column % _BITS
        buckets = self.signatures, self.widths, self.first_rows, self.counts, self.first_cells, self.first_columns
        wanted = COVERING * covering + COVERED * covered
        told = (
            wanted, once, np.uint64(signature), columns, numbers, width, buckets, len(self._keys), self._columns,
            self.cells, self.owners, self._index.flat, self._aligned,
        )  # fmt: skip
        return self._relating.find(partial(relate_to_all, *told))

    def _new_bucket(self, key: tuple[int, ...]) -> int:
        bucket = len(self._keys)
        if bucket == len(self.signatures):
            for name in ("signatures", "widths", "counts", "_room", "first_rows", "first_cells", "first_columns"):
                setattr(self, name, doubled(getattr(self, name)))
        self._columns = extended(self._columns, self._used_columns + len(key))
        self._columns[self._used_columns : self._used_columns + len(key)] = key
        self.first_columns[bucket] = self._used_columns
        self._used_columns += len(key)
        signature = 0
        for column in key:
            signature |= 1 << column % _BITS
        self.signatures[bucket], self.widths[bucket] = signature, len(key)
        self._keys.append(key)
        self._numbers[key] = bucket
        return bucket

    def _move(self, bucket: int) -> None:
        """Moves a bucket to the end, with twice the room."""
        room, width = max(_FEW_ROWS, 2 * int(self._room[bucket])), int(self.widths[bucket])
        if self._used_rows + room > len(self.owners) or self._used_cells + room * width > len(self.cells):
            self._sweep(room, room * width)
        self._place(bucket, room, self.owners, self.cells, self.owners, self.cells)

    def _sweep(self, rows: int, cells: int) -> None:
        """Lays all buckets out anew, with room for so many more rows and cells."""
        held = self._room[: len(self._keys)]
        all_rows, all_cells = int(held.sum()), int((held * self.widths[: len(self._keys)]).sum())
        owners = np.zeros(2 * (all_rows + rows), np.int32)
        new_cells = np.zeros(2 * (all_cells + cells) + 1, np.int32)
        self._used_rows = self._used_cells = 0
        for bucket in range(len(self._keys)):
            self._place(bucket, int(self._room[bucket]), self.owners, self.cells, owners, new_cells)
        self.owners, self.cells = owners, new_cells

    def _place(self, bucket: int, room: int, owners: Any, cells: Any, new_owners: Any, new_cells: Any) -> None:
        count, width = int(self.counts[bucket]), int(self.widths[bucket])
        first, start = int(self.first_rows[bucket]), int(self.first_cells[bucket])
        new_owners[self._used_rows : self._used_rows + count] = owners[first : first + count]
        new_cells[self._used_cells : self._used_cells + count * width] = cells[start : start + count * width]
        self.first_rows[bucket], self.first_cells[bucket] = self._used_rows, self._used_cells
        self._room[bucket] = room
        self._used_rows += room
        self._used_cells += room * width
