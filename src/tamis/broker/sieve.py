"""Matching of events to hops, and statistics of what passes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from tamis.arrays import Int64s
from tamis.engine import compile
from tamis.matching.base.statistics import Statistics
from tamis.schema import Schema

_BETWEEN: Final = "\x1f"  # hop and id; in neither of them


@dataclass(frozen=True, slots=True)
class Catch:
    """Part of a batch for one hop: `places` of events, sorted, and the pairs (event, filter) that say so."""

    hop: str
    places: Int64s
    pair_events: Int64s
    pair_filters: Int64s
    names: list[str]

    def matched(self) -> pa.Array:
        """For each place the ids of the filters that the event satisfies."""
        counts = np.diff(np.append(np.searchsorted(self.pair_events, self.places), len(self.pair_events)))
        offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
        ids = pa.array([name.partition(_BETWEEN)[2] for name in self.names], pa.string())
        return pa.ListArray.from_arrays(offsets, ids.take(pa.array(self.pair_filters)))


class Sieve:
    """The publication routing table at work: the filters of every hop, neighbours and clients alike, in one index."""

    def __init__(self, schema: Schema) -> None:
        self._index = compile({}, schema)

    def add(self, hop: str, filters: Mapping[str, str]) -> None:
        """Filters of a hop, by ids that it does not have yet."""
        if filters:
            self._index.add({f"{hop}{_BETWEEN}{id}": text for id, text in filters.items()})

    def remove(self, hop: str, ids: Iterable[str]) -> None:
        if names := [f"{hop}{_BETWEEN}{id}" for id in ids]:
            self._index.remove(names)

    def __len__(self) -> int:
        return len(self._index)

    def sift(self, events: pa.RecordBatch, source: str | None = None) -> list[Catch]:
        """Assigns events to hops; nothing goes back to the source."""
        matches = self._index.match(events)
        if not len(matches):
            return []
        used, filters = np.unique(matches.numbers, return_inverse=True)
        names: list[str] = matches.ids(used).to_pylist()
        hops = [name.partition(_BETWEEN)[0] for name in names]
        codes = {hop: code for code, hop in enumerate(sorted(set(hops)))}
        hop_of_filter = np.array([codes[hop] for hop in hops], np.int64)
        rows = np.repeat(np.arange(matches.events, dtype=np.int64), matches.counts)
        hop_of_pair = hop_of_filter[filters]
        order = np.lexsort((filters, rows, hop_of_pair))
        rows, filters, hop_of_pair = rows[order], filters[order], hop_of_pair[order]
        cuts = np.searchsorted(hop_of_pair, np.arange(len(codes) + 1))
        return [
            Catch(
                hop,
                np.unique(rows[cuts[code] : cuts[code + 1]]),
                rows[cuts[code] : cuts[code + 1]],
                filters[cuts[code] : cuts[code + 1]],
                names,
            )
            for hop, code in codes.items()
            if hop != source
        ]


# What passing events look like, for whoever decides which filters are worth merging.

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
