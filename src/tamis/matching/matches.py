"""What a matcher answers: which subscriptions each event of a batch matched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Part:
    """The matches of consecutive events with some of the subscriptions.

    Event `first + i` matched `names[numbers[offsets[i]:offsets[i + 1]]]`. The parts of one answer hold disjoint
    (event, subscription) pairs, so nothing is counted twice when they are put together.
    """

    first: int
    offsets: Int64s
    numbers: Int32s
    names: pa.Array


class Work:
    """What an answer cost: candidates verified, buckets hit, table probes made."""

    def __init__(self) -> None:
        self.counters = np.zeros(3, np.int64)

    @property
    def candidates(self) -> int:
        return int(self.counters[0])

    @property
    def buckets(self) -> int:
        return int(self.counters[1])

    @property
    def probes(self) -> int:
        return int(self.counters[2])


class Matches:
    """The (event, subscription) pairs of one batch, as flat arrays: no Python object a match.

    A subscription's number is its position among `names`; it means something only beside this answer.
    """

    def __init__(self, events: int, parts: Sequence[Part], names: Sequence[pa.Array], work: Work | None = None) -> None:
        self.events = events
        self.work = work or Work()
        self._parts = tuple(part for part in parts if len(part.offsets) > 1)
        self._names = tuple(names)

    def __len__(self) -> int:
        return sum(int(part.offsets[-1] - part.offsets[0]) for part in self._parts)

    @cached_property
    def counts(self) -> Int64s:
        """How many subscriptions each event matched."""
        counts = np.zeros(self.events, np.int64)
        for part in self._parts:
            counts[part.first : part.first + len(part.offsets) - 1] += np.diff(part.offsets)
        return counts

    @cached_property
    def offsets(self) -> Int64s:
        """Event i's matches are `numbers[offsets[i]:offsets[i + 1]]`."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts)])

    @cached_property
    def names(self) -> pa.ChunkedArray:
        """The ids of all subscriptions that could have matched, by number."""
        return pa.chunked_array(list(self._names), pa.string())

    @cached_property
    def numbers(self) -> Int64s:
        """Subscription numbers, event by event."""
        bases, base = {}, 0
        for names in self._names:
            bases[id(names)] = base
            base += len(names)
        if len(self._parts) == 1:
            part = self._parts[0]
            shift = bases[id(part.names)]
            run = part.numbers[part.offsets[0] : part.offsets[-1]]
            return run.astype(np.int64) + shift
        out = np.empty(len(self), np.int64)
        filled = self.offsets[:-1].copy()
        for part in self._parts:
            counts = np.diff(part.offsets)
            rows = slice(part.first, part.first + len(counts))
            starts = np.repeat(filled[rows] - (part.offsets[:-1] - part.offsets[0]), counts)
            run = part.numbers[part.offsets[0] : part.offsets[-1]]
            out[starts + np.arange(len(run))] = run + np.int64(bases[id(part.names)])
            filled[rows] += counts
        return out

    def ids(self, numbers: npt.ArrayLike) -> pa.Array:
        """The ids of these subscription numbers."""
        return self.names.take(pa.array(np.asarray(numbers, np.int64))).combine_chunks()

    def to_arrow(self) -> pa.Table:
        """One row a match: `event` (row number in the batch) and `subscription` (id)."""
        rows = np.repeat(np.arange(self.events, dtype=np.int64), self.counts)
        return pa.table({"event": rows, "subscription": self.ids(self.numbers)})

    def to_lists(self) -> list[list[str]]:
        """For each event the ids it matched: for small batches and for tests."""
        found: list[str] = self.ids(self.numbers).to_pylist()
        bounds = self.offsets.tolist()
        return [found[a:b] for a, b in pairwise(bounds)]
