"""Subscriptions as conjunctions over keys for the matching tree (predicates it holds, tests it cannot), and events
as keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Int32s, Int64s, UInt8s
from tamis.compiled import bare_kernel
from tamis.lab.tree.checks import Checks
from tamis.lab.tree.layout import TESTED
from tamis.lab.tree.vocabulary import Given, Source, Vocabulary, float_keys
from tamis.language.shapes import Bound
from tamis.matching.codes.columns import Kind, nan_refused
from tamis.matching.codes.conditions import Conditions, Interval, Listing, Test
from tamis.matching.codes.encoding import ABSENT
from tamis.matching.codes.lower import lower_into
from tamis.schema import EVENT_TYPE
from tamis.schema.columns import typed


@dataclass(frozen=True)
class Conjunctions:
    """Conjunctions of new subscriptions: conjunction c belongs to subscription `owners[c]`.

    Its predicates are `offsets[c]:offsets[c + 1]`, ascending by level, a level once: a key of the level's column lies
    between low and high; on a column of sets, low is high; from TESTED on, the test of that number holds (1).
    `specials[c]` is its number among the checks, -1 if its predicates are all there is.
    """

    owners: Int32s
    offsets: Int64s
    levels: Int32s
    lows: Int64s
    highs: Int64s
    specials: Int32s

    def __len__(self) -> int:
        return len(self.owners)


@dataclass(frozen=True, slots=True)
class _Predicates:
    conjuncts: Int64s
    source: Source
    lows: Int64s
    highs: Int64s


def conjunctions_of(bound: Bound, rows: Int64s, vocabulary: Vocabulary, checks: Checks, general: bool) -> Conjunctions:
    """Conjunctions of the bound subscriptions; text t of `bound` is subscription `rows[t]`.

    `general`: tests are predicates too.
    """
    return _Reading(bound, rows, vocabulary, checks, general).conjunctions()


class _Reading:
    """Addition of subscriptions: lowered as for the columnar engine, but to keys that never change."""

    def __init__(self, bound: Bound, rows: Int64s, vocabulary: Vocabulary, checks: Checks, general: bool) -> None:
        self._vocabulary, self._checks, self._general = vocabulary, checks, general
        self._given = Given(vocabulary.schema)
        self._conditions = Conditions(vocabulary.schema, self._given)
        lower_into(self._conditions, bound, rows)
        self._patterns = vocabulary.pattern_numbers(self._conditions.patterns)
        self._predicates: list[_Predicates] = []
        self._tests: list[tuple[Int64s, Int64s]] = []  # conjunctions and the numbers of their tests
        self._ordered: list[tuple[Test | Interval, Source]] = []

    def conjunctions(self) -> Conjunctions:
        conditions = self._conditions
        for interval in conditions.intervals:
            self._interval(interval)
        members: dict[Source, list[Test]] = {}
        plain: list[tuple[Test, Source]] = []
        for test in conditions.tests:
            source = self._vocabulary.source_of(test.column, test.low, test.high)
            if source.column.kind.is_set and not test.flags and test.low is test.high:
                members.setdefault(source, []).append(test)
            else:
                plain.append((test, source))
        for source, some in members.items():
            self._members(source, some)
        listings = [(listing, *self._matrix(listing)) for listing in conditions.listings]
        self._number_levels()
        for test, source in plain:
            self._test(test.conjuncts, source, test.flags, *self._bounds(test, source))
        for ordered, source in self._ordered:
            self._test(ordered.conjuncts, source, 0, *self._bounds(ordered, source))
        for listing, source, matrix in listings:
            numbers = self._checks.number_lists(self._vocabulary.number(source), listing.flags, matrix)
            self._tests.append((listing.conjuncts, np.broadcast_to(numbers, len(listing.conjuncts))))
        return self._gathered()

    def _bounds(self, condition: Interval | Test, source: Source) -> tuple[Int64s, Int64s]:
        low = self._vocabulary.keys(source, condition.low, self._given, self._patterns)
        if condition.high is condition.low:
            return low, low
        return low, self._vocabulary.keys(source, condition.high, self._given, self._patterns)

    def _interval(self, interval: Interval) -> None:
        source = self._vocabulary.source_of(interval.column, interval.low, interval.high)
        if source.ranked:
            self._ordered.append((interval, source))
        elif not source.column.kind.is_set:  # members of sets stand among the tests as well
            self._predicate(interval.conjuncts, source, *self._bounds(interval, source))

    def _predicate(self, conjuncts: Int64s, source: Source, lows: Int64s, highs: Int64s) -> None:
        count = len(conjuncts)
        self._predicates.append(
            _Predicates(conjuncts, source, np.broadcast_to(lows, count), np.broadcast_to(highs, count))
        )

    def _members(self, source: Source, tests: list[Test]) -> None:
        """Splits conditions on a set: one member a conjunction is a predicate, the others are tests."""
        conjuncts = np.concatenate([test.conjuncts for test in tests])
        keys = np.concatenate([np.broadcast_to(self._bounds(t, source)[0], len(t.conjuncts)) for t in tests])
        firsts = np.unique(conjuncts, return_index=True)[1]
        self._predicate(conjuncts[firsts], source, keys[firsts], keys[firsts])
        rest = np.delete(np.arange(len(keys)), firsts)
        if len(rest):
            self._test(conjuncts[rest], source, 0, keys[rest], keys[rest])

    def _matrix(self, listing: Listing) -> tuple[Source, Int64s]:
        """Keys of a listing, a row a conjunction or one for all; with a surrounding range that the tree can hold."""
        source, count = Source(listing.column), len(listing.conjuncts)
        keys = [self._vocabulary.keys(source, edge, self._given, self._patterns) for edge in listing.edges]
        columns = [np.broadcast_to(some, count) for some in keys]
        common = np.zeros(0, np.int64)
        if listing.common is not None:
            common = self._vocabulary.keys(source, listing.common, self._given, self._patterns)
        matrix = common.reshape(1, -1)
        if columns:
            matrix = np.column_stack([*columns, np.broadcast_to(common, (count, len(common)))])
        if not listing.flags and not source.column.kind.is_set:
            self._predicate(listing.conjuncts, source, matrix.min(axis=1), matrix.max(axis=1))
        return source, matrix

    def _test(self, conjuncts: Int64s, source: Source, flags: int, lows: Int64s, highs: Int64s) -> None:
        rows = np.empty((max(len(lows), len(highs)), 4), np.int64)
        rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3] = self._vocabulary.number(source), flags, lows, highs
        if source.ranked:
            self._vocabulary.order(source.column.attribute, rows[:, 2:].reshape(-1))
        numbers = self._checks.number_rows(rows)
        self._tests.append((conjuncts, np.broadcast_to(numbers, len(conjuncts))))

    def _number_levels(self) -> None:
        """Numbers levels for new columns: first those that most conjunctions fix to a value, then those that bound
        it."""
        weights: dict[Source, tuple[int, int]] = {}
        for some in self._predicates:
            fixed = int((some.lows == some.highs).sum())
            known = weights.get(some.source, (0, 0))
            weights[some.source] = known[0] + fixed, known[1] + len(some.conjuncts)
        for source in sorted(weights, key=lambda source: (*(-w for w in weights[source]), source)):
            self._vocabulary.number(source)

    def _gathered(self) -> Conjunctions:
        count = self._conditions.count
        conjuncts, levels, lows, highs = self._sorted()
        starts = np.flatnonzero(np.concatenate([[True], (np.diff(conjuncts) != 0) | (np.diff(levels) != 0)]))
        if len(conjuncts):
            lows, highs = np.maximum.reduceat(lows, starts), np.minimum.reduceat(highs, starts)
            conjuncts, levels = conjuncts[starts], levels[starts]
        possible = np.ones(count, np.bool_)
        possible[conjuncts[lows > highs]] = False
        kept = possible[conjuncts]
        counts = np.bincount(conjuncts[kept], minlength=count)[possible]
        owners = np.concatenate([np.zeros(0, np.int64), *self._conditions.owners])[possible]
        return Conjunctions(
            owners.astype(np.int32),
            np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]),
            levels[kept].astype(np.int32),
            lows[kept],
            highs[kept],
            self._specials(possible, owners),
        )

    def _sorted(self) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        nothing = np.zeros(0, np.int64)
        tests = self._tests if self._general else []
        conjuncts = np.concatenate([nothing, *(p.conjuncts for p in self._predicates), *(some for some, _ in tests)])
        numbers = (np.full(len(p.conjuncts), self._vocabulary.number(p.source), np.int64) for p in self._predicates)
        levels = np.concatenate([nothing, *numbers, *(TESTED + numbers for _, numbers in tests)])
        order = np.argsort(conjuncts * (2 * TESTED) + levels, kind="stable")
        held = np.ones(len(conjuncts) - sum(len(p.conjuncts) for p in self._predicates), np.int64)
        lows = np.concatenate([nothing, *(p.lows for p in self._predicates), held])
        highs = np.concatenate([nothing, *(p.highs for p in self._predicates), held])
        return conjuncts[order], levels[order], lows[order], highs[order]

    def _specials(self, possible: npt.NDArray[np.bool_], owners: Int64s) -> Int32s:
        conjuncts = np.concatenate([np.zeros(0, np.int64), *(some for some, _ in self._tests)])
        tests = np.concatenate([np.zeros(0, np.int64), *(numbers for _, numbers in self._tests)])
        numbers = np.cumsum(possible) - 1
        alive = possible[conjuncts]
        order = np.argsort(conjuncts[alive], kind="stable")
        conjuncts, tests = numbers[conjuncts[alive][order]], tests[alive][order]
        counts = np.bincount(conjuncts, minlength=len(owners))
        _, which, times = np.unique(owners, return_inverse=True, return_counts=True)
        several = times[which] > 1
        special = np.flatnonzero((counts > 0) | several)
        found = np.full(len(owners), -1, np.int32)
        found[special] = self._checks.make(owners[special], several[special], counts[special], tests)
        return found


# Events as keys: what the tree tests.

_PLAIN = (Kind.VALUE, Kind.LEAST, Kind.GREATEST, Kind.VALUES)


class Encoded(NamedTuple):
    """Encoded events: `values[event, column]` where `present`, for the columns of one key an event.

    `sets[column]` is -1 for those, else the number s of a column of sets, whose keys for event e are
    `set_keys[set_ends[s, e]:set_ends[s, e + 1]]`, each once.
    """

    values: Int64s
    present: UInt8s
    sets: Int32s
    set_ends: Int64s
    set_keys: Int64s


@bare_kernel
def sort_sets(starts: Any, valid: Any, keys: Any, ends: Any, out: Any) -> int:
    """Sorts and deduplicates the keys of each row. Returns the end."""
    end = 0
    ends[0] = 0
    for row in range(len(starts) - 1):
        first = end
        if valid[row]:
            for i in range(starts[row], starts[row + 1]):
                at = end
                while at > first and out[at - 1] > keys[i]:
                    at -= 1
                if at > first and out[at - 1] == keys[i]:
                    continue
                for j in range(end, at, -1):
                    out[j] = out[j - 1]
                out[at] = keys[i]
                end += 1
        ends[row + 1] = end
    return end


def encode(vocabulary: Vocabulary, batch: pa.RecordBatch) -> Encoded:
    """Encodes a canonical batch; attributes it lacks are absent."""
    return _Encoding(vocabulary, batch).encoded()


class _Encoding:
    def __init__(self, vocabulary: Vocabulary, batch: pa.RecordBatch) -> None:
        self._vocabulary, self._batch, self._rows = vocabulary, batch, len(batch)
        self._given = {name: batch.column(i) for i, name in enumerate(batch.schema.names)}
        default = vocabulary.schema.default_event_type
        if default is not None:
            self._given[EVENT_TYPE] = typed(self._given.get(EVENT_TYPE), default, self._rows)
        count = len(vocabulary.sources)
        self._values = np.zeros((self._rows, count), np.int64)
        self._present = np.zeros((self._rows, count), np.uint8)
        self._found: dict[int, tuple[Int64s, Int64s]] = {}
        self._lists: dict[str, tuple[Int64s, Int64s]] = {}

    def encoded(self) -> Encoded:
        sets = np.full(len(self._vocabulary.sources) + 1, -1, np.int32)
        for column, source in enumerate(self._vocabulary.sources):
            if source.column.kind.is_set:
                sets[column] = sets.max() + 1
            if source.column.kind in _PLAIN and not source.ranked and source.column.attribute in self._given:
                self._plain(column, source)
        self._from_side()
        ends = np.zeros((int(sets.max()) + 1, self._rows + 1), np.int64)
        pieces, base = [np.zeros(0, np.int64)], 0
        for column, (some_ends, keys) in self._found.items():
            ends[sets[column]] = some_ends + base
            pieces.append(keys)
            base += len(keys)
        return Encoded(self._values, self._present, sets, ends, np.concatenate(pieces))

    def _plain(self, column: int, source: Source) -> None:
        attribute, kind = source.column.attribute, source.column.kind
        values = self._given[attribute]
        if kind is Kind.VALUE:
            valid = np.asarray(pc.is_valid(values))
            self._values[:, column] = self._keys(attribute, values, np.arange(self._rows + 1))
            self._present[:, column] = valid
            return
        if attribute not in self._lists:
            self._lists[attribute] = self._sets(attribute, values)
        ends, keys = self._lists[attribute]
        if kind is Kind.VALUES:
            self._found[column] = ends, keys
            return
        some = ends[:-1] < ends[1:]
        self._present[:, column] = some
        self._values[some, column] = keys[ends[:-1][some] if kind is Kind.LEAST else ends[1:][some] - 1]

    def _sets(self, attribute: str, lists: pa.Array) -> tuple[Int64s, Int64s]:
        offsets = lists.offsets.to_numpy().astype(np.int64)
        flat = lists.values.slice(offsets[0], offsets[-1] - offsets[0])
        starts, valid = offsets - offsets[0], np.asarray(pc.is_valid(lists))
        keys = self._keys(attribute, flat, starts)
        sizes = np.diff(starts)
        if sizes.max(initial=0) > 64:  # else sorted by insertion
            keys = keys[np.lexsort((keys, np.repeat(np.arange(len(sizes)), sizes)))]
        ends, out = np.empty(self._rows + 1, np.int64), np.empty(len(keys), np.int64)
        return ends, out[: sort_sets(starts, valid, keys, ends, out)]

    def _keys(self, attribute: str, values: pa.Array, starts: Int64s) -> Int64s:
        """Keys of the values, arbitrary for nulls; row r has the values `starts[r]:starts[r + 1]`."""
        kind = self._vocabulary.schema.attributes[attribute].domain.kind
        if kind in ("integer", "timestamp"):
            return _words(values, np.int64)
        if kind == "boolean":
            return 2 * np.asarray(pc.fill_null(values, False)).astype(np.int64) + 1
        if kind == "float":
            floats = _words(values, np.float64)
            if (nan := np.flatnonzero(np.isnan(floats) & np.asarray(pc.is_valid(values)))).size:
                raise nan_refused(attribute, int(np.searchsorted(starts, nan[0], side="right")) - 1)
            return float_keys(floats)
        numbers = self._vocabulary.words_of(attribute).numbers(values)
        return numbers if kind == "string" else 2 * numbers + 1

    def _from_side(self) -> None:
        """Encodes patterns, strings by order, and attribute against attribute, as the columnar engine does."""
        side = self._vocabulary.side
        if side is None:
            return
        encoded = side.encode(self._batch)
        for column, source in enumerate(self._vocabulary.sources):
            if source.column.kind in _PLAIN and not source.ranked:
                continue
            number = side.number[source.column]
            if number < side.singles:
                codes = encoded.codes[:, number]
                self._values[:, column], self._present[:, column] = codes, codes != ABSENT
                continue
            ends = encoded.set_ends[number - side.singles]
            members = encoded.set_codes[ends[0] : ends[-1]].astype(np.int64)
            self._found[column] = ends - ends[0], members if source.ranked else members // 2


def _words(values: pa.Array, kind: type) -> npt.NDArray[Any]:
    """Values of an Arrow array as eight-byte words, arbitrary at nulls."""
    buffer = values.buffers()[1]
    if buffer is None or not len(values):
        return np.zeros(len(values), kind)
    return np.frombuffer(buffer, kind, len(values), 8 * values.offset)
