"""Subscription graph of schedules: predicates of each subscription, and subscriptions of each predicate, in lists of
numbers that may grow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import Int32s, Int64s
from tamis.errors import TamisError
from tamis.matching.base.flat_arrays import doubled, extended
from tamis.operators.schedules.problem import MOST_MEMBERS, Problem


class Rows(NamedTuple):
    """Lists of numbers as kernels see them: row r is `pool[start[r] : start[r] + length[r]]`."""

    start: Int64s
    length: Int32s
    pool: Int32s


class Lists:
    """Lists of numbers in one pool, any of which may grow.

    A list that outgrows its room moves to the pool's end with twice the room; what it leaves is lost until the graph is
    built anew, at most as much again as is in use. Order within a list is kept but by `remove`, which fills the gap
    with the last.
    """

    def __init__(self, offsets: Int64s, numbers: Int32s) -> None:
        self._start = offsets[:-1].copy()
        self._length = np.diff(offsets).astype(np.int32)
        self._room = self._length.copy()
        self._pool = numbers.copy()
        self._rows = len(self._start)
        self._used = len(numbers)

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, row: int) -> Int32s:
        return self._pool[self._start[row] : self._start[row] + self._length[row]]

    @property
    def rows(self) -> Rows:
        return Rows(self._start[: self._rows], self._length[: self._rows], self._pool)

    def add_row(self) -> int:
        if self._rows == len(self._start):
            self._start, self._length, self._room = (doubled(a) for a in (self._start, self._length, self._room))
        row = self._rows
        self._start[row] = self._length[row] = self._room[row] = 0
        self._rows += 1
        return row

    def set(self, row: int, numbers: Int32s) -> None:
        if len(numbers) > self._room[row]:
            self._move(row, len(numbers), keep=False)
        self._length[row] = len(numbers)
        self[row][:] = numbers

    def append(self, row: int, number: int) -> None:
        length = int(self._length[row])
        if length == self._room[row]:
            self._move(row, max(4, 2 * length), keep=True)
        self._length[row] += 1
        self[row][length] = number

    def remove(self, row: int, number: int) -> None:
        numbers = self[row]
        numbers[np.flatnonzero(numbers == number)[0]] = numbers[-1]
        self._length[row] -= 1

    def _move(self, row: int, room: int, keep: bool) -> None:
        self._pool = extended(self._pool, self._used + room)
        if keep:
            self._pool[self._used : self._used + self._length[row]] = self[row]
        self._start[row], self._room[row] = self._used, room
        self._used += room


class Graph:
    """Graph of subscriptions and predicates, both directions kept together (Liu et al. 2007, §5.1: two hash tables).

    Numbers of deleted subscriptions are reused. `members` of a deleted number is empty.
    """

    def __init__(self, problem: Problem) -> None:
        offsets, subscribers = inverse(problem.offsets, problem.members, problem.predicates)
        self.members = Lists(problem.offsets, problem.members)
        self.subscribers = Lists(offsets, subscribers)
        self._free: list[int] = []
        self._present = np.ones(problem.subscriptions, np.bool_)

    @property
    def predicates(self) -> int:
        return len(self.subscribers)

    @property
    def size(self) -> int:
        """One more than the largest number of a subscription that there ever was."""
        return len(self.members)

    @property
    def count(self) -> int:
        return self.size - len(self._free)

    def present(self, number: int) -> bool:
        return 0 <= number < self.size and bool(self._present[number])

    def numbers(self) -> Int32s:
        """Numbers of all subscriptions present, ascending."""
        return np.flatnonzero(self._present[: self.size]).astype(np.int32)

    def add_predicate(self) -> int:
        return self.subscribers.add_row()

    def insert(self, members: Int32s) -> int:
        """Inserts a subscription, its predicates in the order given."""
        if not 0 < len(members) <= MOST_MEMBERS or len(np.unique(members)) != len(members):
            raise TamisError(f"a subscription has from 1 to {MOST_MEMBERS:,} predicates, each of them once")
        if not (members.min() >= 0 and members.max() < self.predicates):
            raise TamisError(f"a subscription names a predicate that is not among the {self.predicates}; add it first")
        number = self._free.pop() if self._free else self.members.add_row()
        if number >= len(self._present):
            self._present = doubled(self._present)
        self._present[number] = True
        self.members.set(number, members)
        for member in members.tolist():
            self.subscribers.append(member, number)
        return number

    def delete(self, number: int) -> None:
        if not self.present(number):
            raise TamisError(f"there is no subscription {number}")
        for member in self.members[number].tolist():
            self.subscribers.remove(member, number)
        self.members.set(number, np.empty(0, np.int32))
        self._present[number] = False
        self._free.append(number)

    def as_lists(self) -> tuple[Int64s, Int32s]:
        """Offsets and members of all numbers, those deleted being empty."""
        rows = self.members.rows
        offsets = np.concatenate([[0], np.cumsum(rows.length, dtype=np.int64)]).astype(np.int64)
        where = np.repeat(rows.start - offsets[:-1], rows.length) + np.arange(offsets[-1])
        return offsets, rows.pool[where]


def inverse(offsets: Int64s, members: Int32s, columns: int) -> tuple[Int64s, Int32s]:
    """Offsets and rows by member: for each number under `columns` the rows that have it, ascending."""
    rows = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    counts = np.bincount(members, minlength=columns)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), rows[np.argsort(members, kind="stable")]
