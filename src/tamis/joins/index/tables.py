"""Rows of tables by number, as the numbers that joins look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.joins.index.ranges import Floats, Integers, Shape

NO_ROW = -1


@dataclass(frozen=True)
class Changes:
    """Changes of tables in the order in which they happen, by row number: `old` goes, `new` comes.

    An insertion has no old row, a deletion no new one (-1), an update both. New rows are put into their `TableRows`
    before, old ones are still there; both can be read until the next changes.
    """

    table: Integers
    old: Integers
    new: Integers

    def __len__(self) -> int:
        return len(self.table)

    @classmethod
    def of(cls, table: npt.ArrayLike, old: npt.ArrayLike, new: npt.ArrayLike) -> Changes:
        return cls(*(np.ascontiguousarray(part, np.int64).reshape(-1) for part in (table, old, new)))


class TableRows:
    """The rows of one table: selection attributes, and for each of its edges the join key.

    A row keeps its number until it is given back; numbers are used again. Join keys are codes from 0 on, the same on
    both sides of an edge; -1 joins nothing. Absent attributes are minus infinity.
    """

    def __init__(self, shape: Shape, table: int) -> None:
        self.edges = tuple(edge for edge, tables in enumerate(shape.edges) if table in tables)
        self.values: Floats = np.empty((16, shape.widths[table]))
        self.keys: dict[int, Integers] = {edge: np.empty(16, np.int64) for edge in self.edges}
        self._free: Integers = np.arange(15, -1, -1, dtype=np.int64)
        self._spare = 16

    def __len__(self) -> int:
        return len(self.values) - self._spare

    def put(self, values: npt.ArrayLike, keys: npt.ArrayLike) -> Integers:
        """Takes rows in and gives their numbers: values by row and attribute, keys by row and edge (`edges`)."""
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

    def give_back(self, numbers: Integers) -> None:
        """Ends the life of rows; their numbers may be others' from now on."""
        self._free[self._spare : self._spare + len(numbers)] = numbers
        self._spare += len(numbers)

    def _grow(self) -> None:
        old = len(self.values)
        self.values = np.concatenate([self.values, np.empty_like(self.values)])
        self.keys = {edge: np.concatenate([keys, np.empty_like(keys)]) for edge, keys in self.keys.items()}
        self._free = np.concatenate([np.arange(2 * old - 1, old - 1, -1, dtype=np.int64), self._free])
        self._spare += old
