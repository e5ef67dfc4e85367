"""Matches of a task as segments of the match log, made by the worker that found them.

What goes back to the driver is a row a segment, not a list an event: some 2 bytes a match instead of 8, and none where
the worker can write the file itself.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from tamis.arrays import Int64s
from tamis.matchlog import built
from tamis.matchlog.segment import SUFFIX, encoded, write

SEGMENT: Final = "segment"
SEGMENT_FILE: Final = "segment_file"
COLUMNS: Final = ("offset", "partition", "id", "time", "body")
"""Of the event log's records, in this order."""
SMALL: Final = 64 << 10
"""Bytes up to which a segment goes back as a value: a file costs two flushes."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Positions of a batch's events: `first`, and their offsets with what is to be `added` by partition.

    `folder` is where files of segments go, if workers see it; subscriptions' ids are texts of numbers.
    """

    first: int
    added: Mapping[int, int]
    folder: str | None

    def packed(
        self,
        records: Sequence[pa.RecordBatch],
        rows: Sequence[Int64s],
        offsets: Sequence[Int64s],
        numbers: Sequence[Int64s],
    ) -> tuple[bytes | None, str | None] | None:
        """A segment as bytes or as the name of its file; None if nothing matched.

        Of each of the `records`, event i is in row `rows[i]` and matched `numbers[offsets[i]:offsets[i + 1]]`.
        """
        counts = [np.diff(some) for some in offsets]
        events = [where[count > 0] for where, count in zip(rows, counts, strict=True)]
        if not any(map(len, events)):
            return None
        taken = pa.Table.from_batches(
            [batch.take(pa.array(where)) for batch, where in zip(records, events, strict=True)]
        ).combine_chunks()
        offset, partition, ids, times, bodies = (_whole(column) for column in taken.columns)
        positions = np.asarray(offset, np.int64) + self.first
        for number, added in self.added.items():
            positions[np.asarray(partition) == number] += added
        found = np.concatenate([count[count > 0] for count in counts])
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(found)])
        matched = np.concatenate(numbers)
        if np.any(positions[1:] <= positions[:-1]):
            order = np.argsort(positions, kind="stable")
            matched = np.concatenate([matched[ends[event] : ends[event + 1]] for event in order.tolist()])
            ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(found[order])])
            positions = positions[order]
            ids, times, bodies = (column.take(pa.array(order)) for column in (ids, times, bodies))
        moments = np.asarray(times.cast(pa.timestamp("us", "UTC")).cast(pa.int64()))
        pieces = encoded(built(positions, ends, matched, moments, ids, bodies))
        if self.folder is None or sum(map(len, pieces)) <= SMALL:
            return b"".join(pieces), None
        name = f"{int(positions[0]):016x}-{uuid.uuid4().hex[:12]}"
        write(Path(self.folder) / f"{name}{SUFFIX}", pieces)
        return None, name


def _whole(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)
