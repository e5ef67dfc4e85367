"""Le Subscribe's equality-preferred matchers, with counting or quarantine: conjunctions in clusters, hashed by columns
and values of equalities.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.arrays import Bools, Int32s, Int64s
from tamis.compiled import bare_kernel, kernel
from tamis.lab.le_subscribe.counting import (
    Counters,
    Predicates,
    compare,
    count,
    counters_of,
    loose_predicates,
    needs,
    predicates_of,
    zeroed,
)
from tamis.lab.le_subscribe.verified import Intervals, VerifiedLevel, holds, intervals_of, load, rows_of, settle, taken
from tamis.matching.base.matcher import BUCKETS, CANDIDATES, PREDICATES, PROBES
from tamis.matching.codes.columns import Encoder
from tamis.matching.codes.dictionary import power_of_two
from tamis.matching.codes.encoding import ABSENT, Conjuncts
from tamis.matching.codes.levelled_matcher import LevelledMatcher
from tamis.matching.columnar.plan import Knowledge
from tamis.matching.columnar.planning_kernels import mix


@bare_kernel
def hashed(value: Any, word: int) -> Any:
    """Continues a hash by one more word."""
    return mix(np.int64((value ^ np.uint64(np.uint32(word))) & np.uint64(0x7FFFFFFFFFFFFFFF)))


@kernel
def distinct_runs(offsets: Any, words: Any, table: Any, numbers: Any, firsts: Any) -> int:
    """Numbers equal runs `words[offsets[r]:offsets[r + 1]]` alike, with the place where each is first in `firsts`.

    `table`, of a power of two and more than there are runs, holds the numbers by hash, -1 where free.
    """
    mask, found = len(table) - 1, 0
    for r in range(len(offsets) - 1):
        start, size = offsets[r], offsets[r + 1] - offsets[r]
        value = np.uint64(size)
        for i in range(size):
            value = hashed(value, words[start + i])
        slot = np.int64(value & np.uint64(mask))
        while table[slot] >= 0:
            there = firsts[table[slot]]
            same = offsets[there + 1] - offsets[there] == size
            for i in range(size):
                if not same:
                    break
                same = words[offsets[there] + i] == words[start + i]
            if same:
                break
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot], firsts[found] = found, r
            found += 1
        numbers[r] = table[slot]
    return found


@bare_kernel
def look_up(clusters: Any, schema: int, key: Any, size: int, work: Any) -> int:
    """Cluster of a schema with these codes, or -1. `key`: the schema, then the codes."""
    mask = len(clusters.table) - 1
    value = np.uint64(size)
    for i in range(size):
        value = hashed(value, key[i])
    slot = np.int64(value & np.uint64(mask))
    work[PROBES] += 1
    while clusters.table[slot] >= 0:
        there = clusters.table[slot]
        start = clusters.key_offsets[there]
        same = clusters.key_offsets[there + 1] - start == size
        for i in range(size):
            if not same:
                break
            same = clusters.keys[start + i] == key[i]
        if same:
            work[PREDICATES] += size - 1
            work[BUCKETS] += 1
            return there
        slot = (slot + 1) & mask
    return -1


@bare_kernel
def find_clusters(clusters: Any, e: int, event: Any, sets: Any, key: Any, found: Any, work: Any) -> int:
    """Finds the clusters whose equalities all hold, into `found`; returns their number."""
    set_ends, set_codes = sets
    singles, columns = len(event) - 1, len(clusters.schema_firsts) - 1
    end = 0
    for column in range(columns):
        # Schemas are sorted by their first column, so a column that the event lacks skips all schemas that
        # begin with it.
        if column < singles:
            if event[column] == ABSENT:
                continue
        elif set_ends[column - singles, e] == set_ends[column - singles, e + 1]:
            continue
        for schema in range(clusters.schema_firsts[column], clusters.schema_firsts[column + 1]):
            start, stop = clusters.schema_offsets[schema], clusters.schema_offsets[schema + 1]
            # The key of a lookup: the schema and the event's codes on its columns; a set column, always
            # the last, stays open.
            key[0] = schema
            last, present = -1, True
            for i in range(start, stop):
                other = clusters.schema_columns[i]
                if other >= singles:
                    last = other - singles
                    break
                key[1 + i - start] = event[other]
                if event[other] == ABSENT:
                    present = False
                    break
            if not present:
                continue
            if last < 0:
                there = look_up(clusters, schema, key, 1 + stop - start, work)
                if there >= 0:
                    found[end] = there
                    end += 1
                continue
            # One lookup for each value of the set.
            for member in range(set_ends[last, e], set_ends[last, e + 1]):
                key[stop - start] = set_codes[member]
                there = look_up(clusters, schema, key, 1 + stop - start, work)
                if there >= 0:
                    found[end] = there
                    end += 1
    return end


@bare_kernel
def match_by_clusters_and_counting(
    codes: Any, sets: Any, first: int, own: Any, rest: Any, memory: Any, seen: Any, stamp: int, room: int, event: Any,
    scratch: Any, out: Any, ends: Any, work: Any,
) -> int:  # fmt: skip
    """See `Level.run`: equality-preferred."""
    clusters, predicates, counted = own
    key, found, hits = scratch
    end = ends[first]
    for e in range(first, len(codes)):
        if end + room > len(out):
            return e
        stamp += 1
        load(codes, e, event)
        # Counting comes first: `hits` has the satisfied predicates of every conjunction besides its
        # equalities.
        count(predicates, e, event, sets, hits, work)
        # Clusters then give the conjunctions whose equalities hold: those with a full count are matches.
        for f in range(find_clusters(clusters, e, event, sets, key, found, work)):
            start, stop = clusters.offsets[found[f]], clusters.offsets[found[f] + 1]
            work[CANDIDATES] += stop - start
            for i in range(start, stop):
                c = clusters.members[i]
                if hits[c] == counted.needs[c]:
                    out[end] = c
                    end += 1
        # Conjunctions without equalities are in no cluster: all of their counts are compared.
        work[CANDIDATES] += len(counted.unequal)
        for i in range(len(counted.unequal)):
            c = counted.unequal[i]
            if hits[c] == counted.needs[c]:
                out[end] = c
                end += 1
        for c in range(len(hits)):
            hits[c] = 0
        end = settle(ends[e], end, e, event, sets, rest, memory, seen, stamp, out, work)
        ends[e + 1] = end
    return len(codes)


@bare_kernel
def match_by_clusters_and_quarantine(
    codes: Any, sets: Any, first: int, own: Any, rest: Any, memory: Any, seen: Any, stamp: int, room: int, event: Any,
    scratch: Any, out: Any, ends: Any, work: Any,
) -> int:  # fmt: skip
    """See `Level.run`: equality-preferred with nonequality quarantining."""
    clusters, intervals, predicates, counters = own
    key, found, hits, words = scratch
    end = ends[first]
    for e in range(first, len(codes)):
        if end + room > len(out):
            return e
        stamp += 1
        load(codes, e, event)
        for f in range(find_clusters(clusters, e, event, sets, key, found, work)):
            start, stop = clusters.offsets[found[f]], clusters.offsets[found[f] + 1]
            work[CANDIDATES] += stop - start
            for i in range(start, stop):
                if holds(intervals, i, event, work):
                    out[end] = clusters.members[i]
                    end += 1
        count(predicates, e, event, sets, hits, work)
        end = compare(words, counters.needs, counters.rows, out, end, work)
        end = settle(ends[e], end, e, event, sets, rest, memory, seen, stamp, out, work)
        ends[e + 1] = end
    return len(codes)


# Clusters: arrays, and their construction.


class Clusters(NamedTuple):
    """Clusters of conjunctions by schema: s fixes `schema_columns[schema_offsets[s]:schema_offsets[s + 1]]`, at most
    one a set.

    Schemas are sorted by their first column: those of column c are `schema_firsts[c]:schema_firsts[c + 1]`. Cluster k
    has the conjunctions `members[offsets[k]:offsets[k + 1]]`; its key is its schema and then the codes. `table` holds
    the clusters by the hash of their keys.
    """

    schema_firsts: Int64s
    schema_offsets: Int64s
    schema_columns: Int32s
    table: Int32s
    key_offsets: Int64s
    keys: Int32s
    offsets: Int64s
    members: Int32s


def equalities(conjuncts: Conjuncts, rows: Int32s, encoder: Encoder) -> Bools:
    """Mask of the intervals to cluster by: one code on a single-code column, and on the first set of a conjunction."""
    sets = conjuncts.columns >= encoder.singles
    first = np.ones(len(rows), np.bool_)
    first[1:] = (rows[1:] != rows[:-1]) | ~sets[:-1]
    return (conjuncts.lows == conjuncts.highs) & (~sets | first)


def clusters_of(conjuncts: Conjuncts, rows: Int32s, equal: Bools, encoder: Encoder) -> Clusters:
    sizes = np.bincount(rows[equal], minlength=len(conjuncts))
    clustered = np.flatnonzero(sizes)
    sizes = sizes[clustered]
    offsets = _starts(sizes)
    columns, codes = conjuncts.columns[equal].astype(np.int32), conjuncts.lows[equal]
    schema, firsts, _ = _distinct(offsets, columns)
    order = np.argsort(columns[offsets[firsts]], kind="stable")
    firsts = firsts[order]
    schema = _inverse(order)[schema]
    schema_sizes = sizes[firsts]
    schema_offsets = _starts(schema_sizes)
    schema_columns = columns[_runs(offsets[firsts], schema_sizes)]

    keys = np.insert(codes, offsets[:-1], schema).astype(np.int32)
    key_offsets = offsets + np.arange(len(offsets))
    cluster, firsts, table = _distinct(key_offsets, keys)
    key_sizes = sizes[firsts] + 1
    first_columns = schema_columns[schema_offsets[:-1]]
    return Clusters(
        schema_firsts=np.searchsorted(first_columns, np.arange(len(encoder.columns) + 1)).astype(np.int64),
        schema_offsets=schema_offsets,
        schema_columns=schema_columns,
        table=table,
        key_offsets=_starts(key_sizes),
        keys=keys[_runs(key_offsets[firsts], key_sizes)],
        offsets=_starts(np.bincount(cluster, minlength=len(firsts))),
        members=clustered[np.argsort(cluster, kind="stable")].astype(np.int32),
    )


def lookup_memory(clusters: Clusters) -> tuple[Int32s, Int32s]:
    """Scratch for the longest key, and for every cluster that one event may lead to."""
    longest = int(np.diff(clusters.key_offsets).max(initial=1))
    return np.zeros(longest, np.int32), np.zeros(len(clusters.offsets), np.int32)


def _distinct(offsets: Int64s, words: Int32s) -> tuple[Int32s, Int32s, Int32s]:
    """Numbers of the runs, the place where each number is first, and the hash table of the numbers."""
    count = len(offsets) - 1
    table, numbers = np.full(power_of_two(2 * count + 1), -1, np.int32), np.empty(count, np.int32)
    firsts = np.empty(count, np.int32)
    found = distinct_runs(offsets, words, table, numbers, firsts)
    return numbers, firsts[:found], table


def _starts(sizes: npt.NDArray[Any]) -> Int64s:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def _runs(starts: Int64s, sizes: npt.NDArray[Any]) -> Int64s:
    """Positions of the runs from `starts` on, of these sizes."""
    return np.repeat(starts - _starts(sizes)[:-1], sizes) + np.arange(int(sizes.sum()))


def _inverse(order: Int64s) -> Int32s:
    inverse = np.empty(len(order), np.int32)
    inverse[order] = np.arange(len(order), dtype=np.int32)
    return inverse


# Equality-preferred: clusters by equalities, the other predicates counted.


class Counted(NamedTuple):
    """Number of predicates of each conjunction besides its equalities, and the conjunctions without equalities."""

    needs: npt.NDArray[np.uint8]
    unequal: npt.NDArray[np.int32]


class EqualityPreferredLevel(VerifiedLevel):
    """Level of the index: clusters, and one counter a conjunction for its other predicates."""

    parts: ClassVar[dict[str, type[Any]]] = {"clusters": Clusters, "predicates": Predicates, "counted": Counted}
    kernel = match_by_clusters_and_counting

    @classmethod
    def lay_out(
        cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge
    ) -> tuple[Clusters, Predicates, Counted]:
        rows = rows_of(conjuncts)
        equal = equalities(conjuncts, rows, encoder)
        loose = loose_predicates(conjuncts, rows, ~equal)
        every = np.arange(len(conjuncts), dtype=np.int32)
        unequal = np.flatnonzero(np.bincount(rows[equal], minlength=len(every)) == 0).astype(np.int32)
        counted = Counted(needs(loose, len(every)), unequal)
        return clusters_of(conjuncts, rows, equal, encoder), predicates_of(loose, every, encoder), counted

    def working_memory(self) -> Any:
        clusters, _, counted = self._own
        return *lookup_memory(clusters), np.zeros(len(counted.needs), np.uint8)


class EqualityPreferredMatcher(LevelledMatcher[EqualityPreferredLevel]):
    """Matcher by equality schemas (Fabret et al., Le Subscribe, §3.1 Fig 4), the other predicates counted.

    One lookup for each schema that the event's attributes contain finds the subscriptions whose equalities hold; they,
    and those without equalities, match if the count of their other predicates is full.

    Departs: of several conditions on sets a conjunction is clustered by the first and the others are counted; what is
    neither equality nor inequality is tested at the end; additions make levels (see LevelledMatcher).
    """

    name: ClassVar[str] = "equality-preferred"
    level = EqualityPreferredLevel


# Equality-preferred with nonequality quarantining: only conjunctions without equalities are counted.


class QuarantineLevel(VerifiedLevel):
    """Level of the index: clusters whose members carry their other intervals; counters for the rest only."""

    parts: ClassVar[dict[str, type[Any]]] = {
        "clusters": Clusters,
        "intervals": Intervals,
        "predicates": Predicates,
        "counters": Counters,
    }
    kernel = match_by_clusters_and_quarantine

    @classmethod
    def lay_out(
        cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge
    ) -> tuple[Clusters, Intervals, Predicates, Counters]:
        rows = rows_of(conjuncts)
        equal = equalities(conjuncts, rows, encoder)
        clusters = clusters_of(conjuncts, rows, equal, encoder)
        clustered = np.zeros(len(conjuncts), np.bool_)
        clustered[clusters.members] = True
        # Sets besides the first are tested, as every set is.
        others = intervals_of(conjuncts, ~equal & clustered[rows] & (conjuncts.columns < encoder.singles))
        quarantined = np.flatnonzero(~clustered).astype(np.int32)
        counter = np.cumsum(~clustered, dtype=np.int32) - 1
        loose = loose_predicates(conjuncts, rows, ~clustered[rows])
        counters = counters_of(needs(loose, len(conjuncts))[quarantined], quarantined)
        return clusters, taken(others, clusters.members), predicates_of(loose, counter, encoder), counters

    def working_memory(self) -> Any:
        clusters, _, _, counters = self._own
        return *lookup_memory(clusters), *zeroed(counters)


class QuarantineMatcher(LevelledMatcher[QuarantineLevel]):
    """Matcher by equality schemas with nonequality quarantining (Fabret et al., Le Subscribe, §3.1 Fig 5).

    Subscriptions with equalities are found in clusters, and their other predicates evaluated one by one; only the
    subscriptions without equalities, apart from the others, are counted for.

    Departs: of several conditions on sets a conjunction is clustered by the first; what is neither equality nor
    inequality is tested at the end; additions make levels (see LevelledMatcher).
    """

    name: ClassVar[str] = "quarantine"
    level = QuarantineLevel
