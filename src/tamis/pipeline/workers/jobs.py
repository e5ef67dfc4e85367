"""Batch jobs of Spark's workers: the search for covers, and backtests of a part of a history.

A cover job looks up its share of the filters in an index of others.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Int64s
from tamis.matching.codes.files import read_arrays
from tamis.operators.learning import Lessons
from tamis.pipeline.table.calling import Report
from tamis.pipeline.table.subscriptions import Part, Snapshot
from tamis.pipeline.workers.charging import legible
from tamis.pipeline.workers.inputs import Pace, opened
from tamis.routing.covering.search.corners import Corners
from tamis.routing.covering.search.covers import compare_here
from tamis.routing.covering.search.ground import Ground

# Kinds of rows: a class and one that covers it, a class and one that may, a class not looked at, and candidates.
COVERED, ASKED, LEFT, CANDIDATES = range(4)

THEIRS = "theirs"

T = TypeVar("T")

# Cached searches: one at a time, and two rounds of it, since a task may be run again.
_KEPT = 2
_GROUNDS: OrderedDict[str, Ground] = OrderedDict()
_INDEXES: OrderedDict[str, Corners] = OrderedDict()


@dataclass(frozen=True, slots=True)
class Covering:
    """Takes rows (start, stop): places in the array of filters to look up. Answers rows of kind, class, other class.

    Everything of size is in files, which are mapped into memory.
    """

    ground: str
    index: str
    theirs: str
    most: int

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ground = _opened(_GROUNDS, self.ground, lambda: Ground.open(Path(self.ground)))
        index = _opened(_INDEXES, self.index, lambda: Corners.open(Path(self.index), ground))
        theirs = read_arrays(Path(self.theirs), verify=False)[0][THEIRS]
        for batch in batches:
            for start, stop in zip(*(batch.column(place).to_pylist() for place in range(2)), strict=True):
                found = compare_here(ground, index, theirs[start:stop], self.most)
                yield _rows(COVERED, found.covered[:, 0], found.covered[:, 1])
                yield _rows(ASKED, found.asked[:, 0], found.asked[:, 1])
                yield _rows(LEFT, found.left, found.left)
                yield _rows(CANDIDATES, np.array([found.candidates]), np.zeros(1, np.int64))


def _opened(kept: OrderedDict[str, T], name: str, read: Callable[[], T]) -> T:
    if name not in kept:
        kept[name] = read()
    kept.move_to_end(name)
    while len(kept) > _KEPT:
        kept.popitem(last=False)
    return kept[name]


def _rows(kind: int, classes: Int64s, others: Int64s) -> pa.RecordBatch:
    columns = [np.full(len(classes), kind, np.int32), classes, others]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], ["c0", "c1", "c2"])


# Backtest of a part of a history: counts by subscription and time, and a few examples of each.

# Kinds of rows: events in a window, matches of a subscription in a window, one example, events left out.
EVENTS, MATCHES, SAMPLE, ILLEGIBLE = range(4)

_MATCHES_A_ROUND = 8_000_000
_CELLS = 4_000_000
# Window of events without a time, far before all others.
_TIMELESS = -(1 << 38)
# Counts added between merges, which sort: now and then is often enough.
MERGE_AT = 4_000_000


@dataclass(frozen=True, slots=True)
class _Seen:
    """Legible events of a piece, their rows, and their windows."""

    piece: pa.RecordBatch
    events: pa.RecordBatch
    rows: Int64s
    windows: Int64s


@dataclass(frozen=True, slots=True)
class LookingBack:
    """Takes batches of `columns`: those at `attributes` are matched, the one at `time` says when, and those at `kept`
    make up an example. Answers rows of kind, subscription, start of the window, count, and the example's columns.

    `window` is in microseconds; windows begin at multiples of it since 1970.
    """

    snapshot: Snapshot
    columns: tuple[str, ...]
    attributes: tuple[int, ...]
    kept: tuple[int, ...]
    time: int | None
    window: int
    samples: int
    report: Report | None = None

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pace, volume, illegible = Pace(_MATCHES_A_ROUND), Tally(1), 0
        sharded = len(self.snapshot.parts) > 1
        tallies: dict[Part, tuple[Tally, pa.ChunkedArray]] = {}
        taken: dict[Part, npt.NDArray[np.uint8]] = {}
        nothing: list[pa.Array] = []
        lessons = Lessons()
        for pieces in pace.rounds(batches):
            nothing = nothing or [column.slice(0, 0) for column in map(pieces[0].column, self.kept)]
            read = [self._seen(piece) for piece in pieces]
            for seen in read:
                volume.add(seen.windows, np.zeros(len(seen.windows), np.int64))
                illegible += seen.piece.num_rows - len(seen.rows)
            matched = 0
            for part in self.snapshot.parts:
                index = opened(part, self.snapshot.crew, alone=sharded)
                for seen in read:
                    matches = index.match(seen.events)
                    matched += len(matches)
                    tally, names = tallies.setdefault(part, (Tally(len(matches.names)), matches.names))
                    rows = np.repeat(np.arange(matches.events), matches.counts)
                    tally.add(seen.windows[rows], matches.numbers)
                    counted = taken.setdefault(part, np.zeros(len(names), np.uint8))
                    yield self._examples(seen, rows, matches.numbers, names, counted)
                if self.snapshot.crew is not None and index.calling is not None:
                    lessons += index.calling.lessons()
                # A shard's names must not keep it in memory while the next one is at work.
                if sharded or len(tallies[part][0]) > _CELLS:
                    yield self._counts(MATCHES, *tallies.pop(part), nothing)
            pace.saw(sum(len(seen.rows) for seen in read), matched)
        if self.report is not None and self.snapshot.crew is not None:
            self.report.tell(self.snapshot.crew.ledger, lessons)
        for tally, names in tallies.values():
            yield self._counts(MATCHES, tally, names, nothing)
        if nothing or not self.kept:
            yield self._counts(EVENTS, volume, None, nothing)
            yield self._rows(ILLEGIBLE, None, None, np.array([illegible]), nothing)

    def _seen(self, piece: pa.RecordBatch) -> _Seen:
        raw = [piece.column(place) for place in self.attributes]
        named = pa.RecordBatch.from_arrays(raw, [self.columns[place] for place in self.attributes])
        events, rows = legible(self.snapshot.schema, named)
        return _Seen(piece, events, rows, self._windows(piece)[rows])

    def _windows(self, piece: pa.RecordBatch) -> Int64s:
        if self.time is None:
            return np.full(piece.num_rows, _TIMELESS)
        times = piece.column(self.time).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        windows = np.asarray(times.fill_null(0)) // self.window
        windows[np.asarray(times.is_null())] = _TIMELESS
        return windows

    def _examples(
        self, seen: _Seen, rows: Int64s, numbers: Int64s, names: pa.ChunkedArray, taken: npt.NDArray[np.uint8]
    ) -> pa.RecordBatch:
        chosen = first_of_each(numbers, taken, self.samples)
        events = pa.array(seen.rows[rows[chosen]])
        columns = [seen.piece.column(place).take(events) for place in self.kept]
        ids = names.take(pa.array(numbers[chosen])).combine_chunks()
        return self._rows(SAMPLE, ids, seen.windows[rows[chosen]], np.ones(len(chosen), np.int64), columns)

    def _counts(
        self, kind: int, tally: Tally, names: pa.ChunkedArray | None, nothing: list[pa.Array]
    ) -> pa.RecordBatch:
        windows, numbers, counts = tally.cells()
        ids = None if names is None else names.take(pa.array(numbers)).combine_chunks()
        return self._rows(kind, ids, windows, counts, nothing)

    def _rows(
        self, kind: int, ids: pa.Array | None, windows: Int64s | None, counts: Int64s, columns: list[pa.Array]
    ) -> pa.RecordBatch:
        count = len(counts)
        starts = pa.nulls(count, pa.int64())
        if windows is not None:
            starts = pa.array(windows * self.window, mask=windows == _TIMELESS)
        rows = [
            pa.array(np.full(count, kind, np.int32)),
            pa.nulls(count, pa.string()) if ids is None else ids.cast(pa.string()),
            starts.cast(pa.timestamp("us", "UTC")),
            pa.array(counts),
            *(column if len(column) == count else pa.nulls(count, column.type) for column in columns),
        ]
        return pa.RecordBatch.from_arrays(rows, [f"c{place}" for place in range(len(rows))])


class Tally:
    """Counter of each number in each window. A cell is `window * width + number`, `width` above all numbers.

    `cells` that came in are merged when there are many, so memory follows the distinct cells, not the counts.
    """

    def __init__(self, width: int) -> None:
        self._width = max(1, width)
        self._cells: list[Int64s] = []
        self._counts: list[Int64s] = []
        self._waiting = 0

    def add(self, windows: Int64s, numbers: Int64s) -> None:
        """Counts number i once in window i."""
        cells, counts = np.unique(windows * self._width + numbers, return_counts=True)
        self._cells.append(cells)
        self._counts.append(counts)
        self._waiting += len(cells)
        if self._waiting > MERGE_AT:
            self._merge()

    def __len__(self) -> int:
        """Number of distinct cells."""
        self._merge()
        return len(self._cells[0])

    def cells(self) -> tuple[Int64s, Int64s, Int64s]:
        """Windows, numbers and counts."""
        self._merge()
        windows, numbers = np.divmod(self._cells[0], self._width)
        return windows, numbers, self._counts[0]

    def _merge(self) -> None:
        cells, places = np.unique(np.concatenate([np.zeros(0, np.int64), *self._cells]), return_inverse=True)
        counts = np.zeros(len(cells), np.int64)
        np.add.at(counts, places, np.concatenate([np.zeros(0, np.int64), *self._counts]))
        self._cells, self._counts, self._waiting = [cells], [counts], 0


def first_of_each(numbers: Int64s, taken: npt.NDArray[np.uint8], limit: int) -> Int64s:
    """Places of numbers that were taken less than `limit` times so far, up to the limit of each.

    `taken` counts them in.
    """
    open_places = np.flatnonzero(taken[numbers] < limit)
    order = open_places[np.argsort(numbers[open_places], kind="stable")]
    ordered = numbers[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, np.int64)
    lengths = np.diff(np.append(starts, len(ordered)))
    rank = np.arange(len(ordered)) - np.repeat(starts, lengths)
    chosen = rank < limit - taken[ordered]
    np.add.at(taken, ordered[chosen], 1)
    return np.sort(order[chosen])
