"""The rows of a table as they came, by number."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tamis.joins.index.ranges import Integers

_NOWHERE = -1


class KeptRows:
    """Whole rows in Arrow, found by their numbers.

    Rows stand in chunks, in the order in which they came; a chunk is put together with the one before it while that is
    not at least twice as long, so that there are few of them however small the batches. What is dropped stays until
    half of all is; then the rest moves together.
    """

    def __init__(self, empty: pa.RecordBatch) -> None:
        self._empty = empty
        self._chunks: list[pa.RecordBatch] = []
        self._position: Integers = np.full(16, _NOWHERE, np.int64)
        self._length = 0
        self._dropped = 0

    def put(self, numbers: Integers, rows: pa.RecordBatch) -> None:
        """Takes rows in under numbers that nobody has."""
        if not len(numbers):
            return
        most = int(numbers.max()) + 1
        if most > len(self._position):
            more = np.full(max(most - len(self._position), len(self._position)), _NOWHERE, np.int64)
            self._position = np.concatenate([self._position, more])
        self._position[numbers] = self._length + np.arange(len(numbers))
        self._length += len(numbers)
        self._chunks.append(rows)
        while len(self._chunks) > 1 and self._chunks[-2].num_rows < 2 * self._chunks[-1].num_rows:
            self._chunks[-2:] = [_together(self._chunks[-2:])]

    def drop(self, numbers: Integers) -> None:
        self._position[numbers] = _NOWHERE
        self._dropped += len(numbers)
        if self._dropped > self._length // 2 + 1024:
            there = np.flatnonzero(self._position != _NOWHERE)
            there = there[np.argsort(self._position[there])]
            self._chunks = [self.take(there)] if len(there) else []
            self._position[there] = np.arange(len(there))
            self._length, self._dropped = len(there), 0

    def take(self, numbers: Integers, columns: list[str] | None = None) -> pa.RecordBatch:
        """Rows by number, in that order; all columns, or some."""
        empty = self._empty if columns is None else self._empty.select(columns)
        if not len(numbers):
            return empty
        chunks = self._chunks if columns is None else [chunk.select(columns) for chunk in self._chunks]
        places = pa.array(self._position[numbers])
        return _together(pa.Table.from_batches(chunks).take(places).to_batches())


def _together(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
