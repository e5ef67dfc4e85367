"""What passing events look like, for whoever decides which filters are worth merging."""

from __future__ import annotations

from collections import deque
from typing import Final

import pyarrow as pa

from tamis.matching.statistics import Statistics

_FIRST: Final = 500
_SAMPLE: Final = 5_000
_WIDE: Final = 256  # bytes a value: a column of such is not compared by much, and dear to count


class Observed:
    """The newest events that passed. Statistics of them are due after the first 500, and then ever more rarely."""

    def __init__(self) -> None:
        self._batches: deque[pa.RecordBatch] = deque()
        self._held = self._since = 0
        self._wanted = _FIRST

    def take(self, events: pa.RecordBatch) -> None:
        self._batches.append(events.slice(0, _SAMPLE))
        self._held += min(events.num_rows, _SAMPLE)
        self._since += events.num_rows
        while self._held - self._batches[0].num_rows >= _SAMPLE:
            self._held -= self._batches.popleft().num_rows

    def due(self) -> Statistics | None:
        """Of the newest events, if it is time."""
        if self._since < self._wanted:
            return None
        self._since, self._wanted = 0, min(10 * self._wanted, 10 * _SAMPLE)
        return self.statistics()

    def statistics(self) -> Statistics:
        """Of the newest events."""
        return Statistics.from_events(pa.concat_tables(map(_narrow, self._batches), promote_options="default"))


def _narrow(batch: pa.RecordBatch) -> pa.Table:
    names = zip(batch.schema.names, batch.columns, strict=True)
    kept = {name: column for name, column in names if column.nbytes <= _WIDE * max(1, len(column))}
    return pa.table(kept) if kept else pa.table({"tamis:none": pa.nulls(batch.num_rows)})
