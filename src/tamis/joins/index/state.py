"""What all schemes keep: tables, subscriptions, and the edges between tables."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.joins.index.edge import EdgeState
from tamis.joins.index.edge_kernels import Members
from tamis.joins.index.ranges import NOT_THERE, Integers, Ranges, Shape
from tamis.joins.index.tables import Changes, TableRows


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
        self._free: Integers = np.empty(0, np.int64)
        self._gone: list[tuple[int, Integers]] = []

    @property
    def subscriptions(self) -> Ranges:
        """By number; numbers that are free have empty intervals and no tables. To be read at once: it changes."""
        return self._ranges.take(slice(self._used))

    def subscribe(self, ranges: Ranges) -> Integers:
        """Takes subscriptions in and gives their numbers."""
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
        """Lets subscriptions go; numbers that nobody has are passed over."""
        named = np.unique(np.asarray(numbers, np.int64))
        going: Integers = named[self._ranges.signature[named] != NOT_THERE]
        ranges = self._ranges.take(going)
        for edge in self.edges:
            edge.remove(going, ranges)
        for mine, nobody in zip(self._ranges.arrays, _nobody(self.shape, len(going)).arrays, strict=True):
            mine[going] = nobody
        self._free = np.concatenate([self._free, going])

    def load(self, table: int, values: npt.ArrayLike, keys: npt.ArrayLike) -> Integers:
        """Rows that are there from the beginning: nobody is told. Gives their numbers."""
        numbers = self.rows[table].put(values, keys)
        for edge in self.rows[table].edges:
            self.edges[edge].load(table, numbers)
        return numbers

    def members(self, signature: int = NOT_THERE) -> Members:
        """The subscriptions for kernels; `signature` that of an edge alone."""
        return Members(self._ranges.low, self._ranges.high, self._ranges.filtering, self.shape.first_column, signature)

    def begin(self, changes: Changes) -> int:
        """Ends the life of rows that went before; gives the sequence number of the first change."""
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
