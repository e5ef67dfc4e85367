"""How many events to take at a time, so that their matches fit into memory whatever their number."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

_FIRST = 1_000
_LEAST = 16


class Pace:
    """Learns how many matches an event has, and takes as many events as have about `matches` of them."""

    def __init__(self, matches: int) -> None:
        self._aim = matches
        self._rows = _FIRST

    def saw(self, events: int, matches: int) -> None:
        """So many events had so many matches."""
        if events:
            # At most fourfold at a time: the next events may match more.
            self._rows = max(_LEAST, min(4 * self._rows, self._aim * events // max(1, matches)))

    def pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The batch in slices, each as long as seems right when it is asked for."""
        at = 0
        while at < batch.num_rows:
            piece = batch.slice(at, self._rows)
            at += piece.num_rows
            yield piece

    def rounds(self, batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
        """Slices of batches put together until there are enough events for a round."""
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            for piece in self.pieces(batch):
                waiting.append(piece)
                if sum(piece.num_rows for piece in waiting) >= self._rows:
                    yield waiting
                    waiting = []
        if waiting:
            yield waiting
