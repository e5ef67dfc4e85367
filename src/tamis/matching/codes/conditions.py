"""Conditions of a level while it is compiled: intervals, tests and lists collected loose, then gathered by conjunction,
freed of repeats and packed into rows.

Each condition stands beside the number of its conjunction; codes are filled in once all constants are known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.arrays import Int32s, Int64s
from tamis.compiled import kernel
from tamis.language.predicates import Like, RLike
from tamis.matching.codes.columns import Column, Encoder, Kind
from tamis.matching.codes.constants import Constants, Edge, Fixed
from tamis.matching.codes.encoding import LISTED, MOST_COLUMNS, MOST_NUMBERED, Conjuncts, refuse_excess
from tamis.matching.patterns import PatternSet
from tamis.schema import Schema

# Packing of loose conditions, each with the number of its conjunction, into compact rows.

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIXER = np.uint64(0xBF58476D1CE4E5B9)


@kernel
def gather_intervals(count: int, conjuncts: Any, columns: Any, lows: Any, highs: Any, possible: Any) -> Any:
    """Intervals by conjunction, ascending by column, those on one column intersected.

    `possible[c]` turns False where an intersection is empty. Returns offsets, columns, lows, highs.
    """
    # Counting sort by conjunction: its rows get `filled[c]:` of the output, with room for every interval given.
    starts = np.zeros(count + 1, np.int64)
    for i in range(len(conjuncts)):
        starts[conjuncts[i] + 1] += 1
    for c in range(count):
        starts[c + 1] += starts[c]
    filled = starts[:-1].copy()
    out_columns = np.empty(len(columns), np.int32)
    out_lows, out_highs = np.empty(len(columns), np.int32), np.empty(len(columns), np.int32)
    # Insert each interval into its conjunction's run, kept ascending by column. A second interval on a column narrows
    # the first instead of taking a row; runs are a handful long, so insertion is fastest.
    ends = filled.copy()
    for i in range(len(conjuncts)):
        c = conjuncts[i]
        at = ends[c]
        while at > filled[c] and out_columns[at - 1] > columns[i]:
            at -= 1
        if at > filled[c] and out_columns[at - 1] == columns[i]:
            out_lows[at - 1] = max(out_lows[at - 1], lows[i])
            out_highs[at - 1] = min(out_highs[at - 1], highs[i])
            continue
        for j in range(ends[c], at, -1):
            out_columns[j], out_lows[j], out_highs[j] = out_columns[j - 1], out_lows[j - 1], out_highs[j - 1]
        out_columns[at], out_lows[at], out_highs[at] = columns[i], lows[i], highs[i]
        ends[c] += 1
    # Close the gaps that intersections left, and note conjunctions with an empty interval: they can never hold.
    offsets = np.zeros(count + 1, np.int64)
    end = 0
    for c in range(count):
        for i in range(filled[c], ends[c]):
            out_columns[end], out_lows[end], out_highs[end] = out_columns[i], out_lows[i], out_highs[i]
            possible[c] &= out_lows[i] <= out_highs[i]
            end += 1
        offsets[c + 1] = end
    return offsets, out_columns[:end].copy(), out_lows[:end].copy(), out_highs[:end].copy()


@kernel
def distinct_rows(rows: Any, numbers: Any) -> Any:
    """Numbers equal rows alike, by first appearance; returns the positions of the first appearances."""
    # Open addressing, at most half full. The table holds numbers only; a row is compared with the first of its number.
    size = 16
    while size < 2 * len(rows):
        size *= 2
    table = np.full(size, -1, np.int64)
    firsts = np.empty(len(rows), np.int64)
    count = 0
    for i in range(len(rows)):
        # Mixing after every word keeps rows that differ in the order of their words apart.
        value = np.uint64(0)
        for j in range(rows.shape[1]):
            value = (value ^ np.uint64(rows[i, j])) * _MULTIPLIER
            value ^= value >> np.uint64(31)
        slot = np.int64((value * _MIXER) >> np.uint64(24)) & (size - 1)
        while True:
            number = table[slot]
            if number < 0:
                table[slot] = count
                firsts[count] = i
                numbers[i] = count
                count += 1
                break
            same = True
            for j in range(rows.shape[1]):
                if rows[firsts[number], j] != rows[i, j]:
                    same = False
                    break
            if same:
                numbers[i] = number
                break
            slot = (slot + 1) & (size - 1)
    return firsts[:count].copy()


@kernel
def gather_numbers(count: int, conjuncts: Any, numbers: Any) -> Any:
    """Test numbers by conjunction. Returns offsets and numbers."""
    offsets = np.zeros(count + 1, np.int64)
    for i in range(len(conjuncts)):
        offsets[conjuncts[i] + 1] += 1
    for c in range(count):
        offsets[c + 1] += offsets[c]
    filled = offsets[:-1].copy()
    out = np.empty(len(numbers), np.int32)
    for i in range(len(conjuncts)):
        out[filled[conjuncts[i]]] = numbers[i]
        filled[conjuncts[i]] += 1
    return offsets, out


@kernel
def take_rows(rows: Any, offsets: Any, out_offsets: Any) -> Any:
    """Positions of the items of the given rows, row by row; fills their offsets."""
    out_offsets[0] = 0
    for i in range(len(rows)):
        out_offsets[i + 1] = out_offsets[i] + offsets[rows[i] + 1] - offsets[rows[i]]
    positions = np.empty(out_offsets[len(rows)], np.int64)
    for i in range(len(rows)):
        for j in range(out_offsets[i + 1] - out_offsets[i]):
            positions[out_offsets[i] + j] = offsets[rows[i]] + j
    return positions


MOST_INTERVALS = 60  # of one conjunction, in the segments of the pool


@dataclass(frozen=True, slots=True)
class Interval:
    """Condition `low <= code <= high` on a single-code column, or one code on a set column."""

    conjuncts: Int64s
    column: Column
    low: Edge
    high: Edge


@dataclass(frozen=True, slots=True)
class Test:
    """Condition that some code of the column lies between low and high; `flags` as in `Conjuncts`."""

    conjuncts: Int64s
    column: Column
    flags: int
    low: Edge
    high: Edge


@dataclass(frozen=True, slots=True)
class Listing:
    """Condition that some code of the column is among those of the edges, or in `common`, a list shared by all rows."""

    conjuncts: Int64s
    column: Column
    flags: int
    edges: tuple[Edge, ...]
    common: Edge | None


@dataclass
class Conditions:
    """Conditions collected so far of `count` conjunctions; conjunction c belongs to subscription row `owners[c]`."""

    schema: Schema
    constants: Constants
    count: int = 0
    owners: list[Int64s] = field(default_factory=list)
    intervals: list[Interval] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)
    listings: list[Listing] = field(default_factory=list)
    patterns: dict[str, dict[Like | RLike, int]] = field(default_factory=dict)

    def conjunctions(self, owners: Int64s) -> Int64s:
        """Numbers for new conjunctions of these subscription rows."""
        numbers = np.arange(self.count, self.count + len(owners), dtype=np.int64)
        self.owners.append(owners)
        self.count += len(owners)
        return numbers

    def pattern(self, pattern: Like | RLike) -> int:
        known = self.patterns.setdefault(pattern.attribute, {})
        return known.setdefault(pattern, len(known))

    def finish(self, rows: int) -> tuple[Encoder, Conjuncts, Int64s]:
        """The encoder, the compact conjunctions, and the subscription rows in the order of their new numbers."""
        self.constants.rank()
        listed, tests = self._listed_tests()
        self.tests.extend(tests)
        encoder = self._encoder()
        possible = np.ones(self.count, np.bool_)
        offsets, columns, lows, highs = gather_intervals(self.count, *self._interval_arrays(encoder), possible)
        excess = _excess(offsets)
        test_rows, test_conjuncts = self._test_arrays(encoder, offsets, columns, lows, highs, excess)
        offsets, columns, lows, highs = _without(excess, offsets, columns, lows, highs)
        numbers = np.empty(len(test_rows), np.int32)
        firsts = distinct_rows(test_rows, numbers)
        test_offsets, tests_of = gather_numbers(self.count, test_conjuncts, numbers)

        owners = np.concatenate([np.zeros(0, np.int64), *self.owners])
        order, simple, names = _numbering(owners, possible, rows)
        refuse_excess(max(len(columns), len(tests_of), len(listed)), MOST_NUMBERED, "comparisons")
        kept, kept_tests = np.empty(len(order) + 1, np.int64), np.empty(len(order) + 1, np.int64)
        positions, test_positions = take_rows(order, offsets, kept), take_rows(order, test_offsets, kept_tests)
        place = np.empty(rows, np.int32)
        place[names] = np.arange(rows, dtype=np.int32)
        distinct = test_rows[firsts].astype(np.int32)
        conjuncts = Conjuncts(
            simple=simple,
            owners=place[owners[order[simple:]]],
            offsets=kept.astype(np.int32),
            columns=columns[positions].astype(np.uint16),
            lows=lows[positions],
            highs=highs[positions],
            test_offsets=kept_tests.astype(np.int32),
            tests=tests_of[test_positions],
            test_columns=np.ascontiguousarray(distinct[:, 0]),
            test_flags=np.ascontiguousarray(distinct[:, 1]),
            test_lows=np.ascontiguousarray(distinct[:, 2]),
            test_highs=np.ascontiguousarray(distinct[:, 3]),
            listed=listed,
        )
        return encoder, conjuncts, names

    def _listed_tests(self) -> tuple[Int32s, list[Test]]:
        """Listings as tests over one array of codes; on single-code columns, an interval around the list as well."""
        pieces: list[Int32s] = []
        tests: list[Test] = []
        base = 0
        for listing in self.listings:
            count = len(listing.conjuncts)
            columns = [np.broadcast_to(e.codes(self.constants), count) for e in listing.edges]
            common = listing.common.codes(self.constants) if listing.common is not None else np.zeros(0, np.int64)
            if columns:
                matrix = np.column_stack([*columns, np.broadcast_to(common, (count, len(common)))])
            else:
                matrix = common.reshape(1, -1)
            matrix = np.sort(matrix, axis=1)
            which = np.zeros(len(matrix), np.int32)
            lists = matrix[distinct_rows(matrix, which)]
            # A list may say a value twice: it would be found twice.
            new = np.ones(lists.shape, np.bool_)
            new[:, 1:] = lists[:, 1:] != lists[:, :-1]
            ends = base + np.concatenate([np.zeros(1, np.int64), np.cumsum(new.sum(1))])
            pieces.append(lists[new].astype(np.int32))
            starts, stops = Fixed(ends[which]), Fixed(ends[which + 1])
            tests.append(Test(listing.conjuncts, listing.column, listing.flags | LISTED, starts, stops))
            base = int(ends[-1])
            if not listing.flags and not listing.column.kind.is_set:
                low, high = Fixed(matrix[:, 0]), Fixed(matrix[:, -1])
                self.intervals.append(Interval(listing.conjuncts, listing.column, low, high))
        return np.concatenate(pieces) if pieces else np.zeros(0, np.int32), tests

    def _encoder(self) -> Encoder:
        used = {i.column for i in self.intervals} | {t.column for t in self.tests}
        refuse_excess(len(used), MOST_COLUMNS, "attributes to look at")
        columns = tuple(sorted(used, key=lambda c: (c.kind.is_set, c)))
        patterns = {
            c.attribute: PatternSet.build(list(self.patterns[c.attribute])) for c in columns if c.kind is Kind.PATTERNS
        }
        dictionaries = {
            c.attribute: self.constants.dictionaries[c.attribute]
            for c in columns
            if c.kind in (Kind.VALUE, Kind.VALUES, Kind.LEAST, Kind.GREATEST)
        }
        return Encoder(columns, dictionaries, patterns, self.schema)

    def _interval_arrays(self, encoder: Encoder) -> tuple[Int64s, Int32s, Int32s, Int32s]:
        sizes = [len(i.conjuncts) for i in self.intervals]
        conjuncts, columns = np.empty(sum(sizes), np.int64), np.empty(sum(sizes), np.int32)
        lows, highs = np.empty(sum(sizes), np.int32), np.empty(sum(sizes), np.int32)
        end = 0
        for interval, size in zip(self.intervals, sizes, strict=True):
            here = slice(end, end + size)
            conjuncts[here] = interval.conjuncts
            columns[here] = encoder.number[interval.column]
            lows[here] = interval.low.codes(self.constants)
            highs[here] = interval.high.codes(self.constants)
            end += size
        # Members of one set are separate conditions: they stay apart under codes of their own.
        return _without_repeats(conjuncts, columns, lows, highs, encoder.singles)

    def _test_arrays(
        self, encoder: Encoder, offsets: Int64s, columns: Int32s, lows: Int32s, highs: Int32s, excess: Int64s
    ) -> tuple[Int64s, Int64s]:
        """Rows (column, flags, low, high) and their conjunctions; excess intervals come first."""
        total = len(excess) + sum(len(t.conjuncts) for t in self.tests)
        rows, conjuncts = np.zeros((total, 4), np.int64), np.empty(total, np.int64)
        end = len(excess)
        rows[:end, 0], rows[:end, 2], rows[:end, 3] = columns[excess], lows[excess], highs[excess]
        conjuncts[:end] = np.searchsorted(offsets, excess, side="right") - 1
        for test in self.tests:
            here = slice(end, end + len(test.conjuncts))
            conjuncts[here] = test.conjuncts
            rows[here, 0] = encoder.number[test.column]
            rows[here, 1] = test.flags
            rows[here, 2] = test.low.codes(self.constants)
            rows[here, 3] = test.high.codes(self.constants)
            end = here.stop
        return rows, conjuncts


def _excess(offsets: Int64s) -> Int64s:
    """Positions of intervals beyond what segments hold: they are tested one by one."""
    places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
    return np.flatnonzero(places >= MOST_INTERVALS)


def _without(
    excess: Int64s, offsets: Int64s, columns: Int32s, lows: Int32s, highs: Int32s
) -> tuple[Int64s, Int32s, Int32s, Int32s]:
    if not len(excess):
        return offsets, columns, lows, highs
    keep = np.ones(len(columns), np.bool_)
    keep[excess] = False
    kept = np.concatenate([np.zeros(1, np.int64), np.cumsum(keep)])[offsets]
    return kept, columns[keep], lows[keep], highs[keep]


def _without_repeats(
    conjuncts: Int64s, columns: Int32s, lows: Int32s, highs: Int32s, singles: int
) -> tuple[Int64s, Int32s, Int32s, Int32s]:
    """Keeps one member of a set per conjunction to find it by: intersecting two would be wrong."""
    members = np.flatnonzero(columns >= singles)
    if not len(members):
        return conjuncts, columns, lows, highs
    keys = conjuncts[members] * (int(columns.max()) + 1) + columns[members]
    _, firsts = np.unique(keys, return_index=True)
    keep = np.ones(len(columns), np.bool_)
    keep[members] = False
    keep[members[firsts]] = True
    return conjuncts[keep], columns[keep], lows[keep], highs[keep]


def _numbering(owners: Int64s, possible: npt.NDArray[np.bool_], rows: int) -> tuple[Int64s, int, Int64s]:
    """Subscriptions of one conjunction first.

    Returns the conjunctions to keep in their new order, how many subscriptions are simple, and the rows in the order
    of their new numbers. A subscription without a possible conjunction keeps a number, and matches nothing.
    """
    alive = np.flatnonzero(possible)
    per_row = np.bincount(owners[alive], minlength=rows)
    simple = per_row[owners[alive]] == 1
    singles, others = (some[np.argsort(owners[some], kind="stable")] for some in (alive[simple], alive[~simple]))
    names = np.concatenate([np.flatnonzero(per_row == 1), np.flatnonzero(per_row != 1)])
    return np.concatenate([singles, others]), len(singles), names
