"""Le Subscribe's counting matcher: satisfied predicates add to the counters of their subscriptions (fair
predicates)."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.arrays import Bools, Int32s, Int64s, UInt64s
from tamis.compiled import bare_kernel
from tamis.lab.le_subscribe.verified import VerifiedLevel, load, rows_of, settle
from tamis.matching.base.matcher import BUCKETS, CANDIDATES, PREDICATES, PROBES
from tamis.matching.codes.columns import Encoder, Kind
from tamis.matching.codes.encoding import ABSENT, HIGHEST, LOWEST, Conjuncts
from tamis.matching.codes.levelled_matcher import LevelledMatcher
from tamis.matching.columnar.plan import Knowledge

BYTES = 8  # counters to a word
_LOW, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_BYTE, _ONE, _EIGHT = np.uint64(0xFF), np.uint64(1), np.uint64(8)


@bare_kernel
def add(predicates: Any, first: int, last: int, hits: Any, work: Any) -> None:
    """Adds one to all counters of the predicates `first..last - 1`, which are adjacent."""
    if first == last:
        return
    start, stop = predicates.starts[first], predicates.starts[last]
    for i in range(start, stop):
        hits[predicates.targets[i]] += np.uint8(1)
    work[CANDIDATES] += stop - start
    work[BUCKETS] += last - first


@bare_kernel
def not_above(predicates: Any, first: int, last: int, code: int, work: Any) -> int:
    """End of the predicates with a bound not above the code; counts as work those it looked at beyond."""
    while first < last:
        middle = (first + last) >> 1
        if predicates.bounds[middle] <= code:
            first = middle + 1
        else:
            last = middle
            work[PREDICATES] += 1
    return first


@bare_kernel
def not_below(predicates: Any, first: int, last: int, code: int, work: Any) -> int:
    """Beginning of the predicates with a bound not below the code."""
    while first < last:
        middle = (first + last) >> 1
        if predicates.bounds[middle] < code:
            first = middle + 1
            work[PREDICATES] += 1
        else:
            last = middle
    return first


@bare_kernel
def add_equal(predicates: Any, column: int, code: int, hits: Any, work: Any) -> None:
    p = predicates.equal[predicates.equal_firsts[column] + code]
    work[PROBES] += 1
    if p >= 0:
        work[PREDICATES] += 1
        add(predicates, p, p + 1, hits, work)


@bare_kernel
def count(predicates: Any, e: int, event: Any, sets: Any, hits: Any, work: Any) -> None:
    """Adds one to the counters of every predicate that holds; each is decided at most once."""
    singles = len(event) - 1
    for column in range(singles):
        code = event[column]
        if code == ABSENT:
            continue
        add_equal(predicates, column, code, hits, work)
        first, last = predicates.from_firsts[column], predicates.from_firsts[column + 1]
        stop = not_above(predicates, first, last, code, work)
        work[PREDICATES] += stop - first
        add(predicates, first, stop, hits, work)
        first, last = predicates.up_to_firsts[column], predicates.up_to_firsts[column + 1]
        start = not_below(predicates, first, last, code, work)
        work[PREDICATES] += last - start
        add(predicates, start, last, hits, work)
    set_ends, set_codes = sets
    for s in range(len(set_ends)):
        for i in range(set_ends[s, e], set_ends[s, e + 1]):
            add_equal(predicates, singles + s, set_codes[i], hits, work)


@bare_kernel
def compare(words: Any, needs: Any, rows: Any, out: Any, end: int, work: Any) -> int:
    """Compares every counter with its target, eight to a word, and clears it. Counter i stands for `rows[i]`."""
    work[CANDIDATES] += len(rows)
    for w in range(len(words)):
        differ = words[w] ^ needs[w]
        words[w] = 0
        if (differ - _LOW) & ~differ & _HIGH != 0:
            for i in range(BYTES * w, min(BYTES * w + BYTES, len(rows))):
                if differ & _BYTE == 0:
                    out[end] = rows[i]
                    end += 1
                differ >>= _EIGHT
    return end


@bare_kernel
def match_by_counting(
    codes: Any, sets: Any, first: int, own: Any, rest: Any, memory: Any, seen: Any, stamp: int, room: int, event: Any,
    scratch: Any, out: Any, ends: Any, work: Any,
) -> int:  # fmt: skip
    """See `Level.run`. `own`: predicates and counters; `scratch`: counters as bytes and as words."""
    predicates, counters = own
    hits, words = scratch
    end = ends[first]
    for e in range(first, len(codes)):
        if end + room > len(out):
            return e
        stamp += 1
        load(codes, e, event)
        count(predicates, e, event, sets, hits, work)
        end = compare(words, counters.needs, counters.rows, out, end, work)
        end = settle(ends[e], end, e, event, sets, rest, memory, seen, stamp, out, work)
        ends[e + 1] = end
    return len(codes)


# Counters of a byte each, compared eight to a word.


class Counters(NamedTuple):
    """Targets of counters: counter i is that of conjunction `rows[i]`, and full at byte i of `needs`; padded."""

    needs: UInt64s
    rows: npt.NDArray[np.int32]


def counters_of(needs: npt.NDArray[np.uint8], rows: npt.NDArray[np.int32]) -> Counters:
    padded = np.full(-(-len(needs) // BYTES) * BYTES, 255, np.uint8)  # more than is ever counted
    padded[: len(needs)] = needs
    return Counters(padded.view(np.uint64), rows)


def zeroed(counters: Counters) -> tuple[npt.NDArray[np.uint8], UInt64s]:
    """Cleared counters, as bytes and as words."""
    words = np.zeros(len(counters.needs), np.uint64)
    return words.view(np.uint8), words


# Distinct predicates, and the counters that each of them adds to.


EQUAL, FROM, UP_TO = 0, 1, 2


class Predicates(NamedTuple):
    """Distinct predicates, grouped by comparison and column, ascending by `bounds`.

    Predicate p adds to the counters `targets[starts[p]:starts[p + 1]]`. Of column c the predicates `code >= bound` are
    `from_firsts[c]:from_firsts[c + 1]`, the predicates `code <= bound` `up_to_firsts[c]:up_to_firsts[c + 1]`. The
    predicate `code = k` is `equal[equal_firsts[c] + k]`, or -1: the hash table of the paper is the one that codes the
    value. A set's equality says that the set contains the code.
    """

    bounds: Int32s
    starts: Int64s
    targets: Int32s
    equal_firsts: Int64s
    equal: Int32s
    from_firsts: Int64s
    up_to_firsts: Int64s


class Loose(NamedTuple):
    """Predicates before deduplication: comparison, column and bound of each, and its conjunction."""

    comparisons: Int32s
    columns: Int32s
    bounds: Int32s
    rows: Int32s


def loose_predicates(conjuncts: Conjuncts, rows: Int32s, chosen: Bools) -> Loose:
    """Predicates of the chosen intervals: a range that is bounded on both sides is two."""
    lows, highs, columns = conjuncts.lows, conjuncts.highs, conjuncts.columns
    equal = chosen & (lows == highs)
    up_to = chosen & ~equal & (highs != HIGHEST)
    # What is only asked to be present has a bound that every value reaches.
    since = chosen & ~equal & ((lows != LOWEST) | ~up_to)
    picked = [np.flatnonzero(equal), np.flatnonzero(since), np.flatnonzero(up_to)]
    every = np.concatenate(picked)
    comparisons = np.repeat(np.arange(3, dtype=np.int32), [len(some) for some in picked])
    bounds = np.where(comparisons == UP_TO, highs[every], lows[every])
    return Loose(comparisons, columns[every].astype(np.int32), bounds, rows[every])


def needs(loose: Loose, count: int) -> npt.NDArray[np.uint8]:
    """Number of predicates of each of `count` conjunctions: at most two an interval, so a byte holds it."""
    return np.bincount(loose.rows, minlength=count).astype(np.uint8)


def predicates_of(loose: Loose, targets: Int32s, encoder: Encoder) -> Predicates:
    """Distinct predicates of loose ones; `targets[c]` is the counter of conjunction c."""
    order = np.lexsort((loose.rows, loose.bounds, loose.columns, loose.comparisons))
    comparisons, columns, bounds = (some[order] for some in loose[:3])
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(comparisons) != 0) | (np.diff(columns) != 0) | (bounds[1:] != bounds[:-1])
    firsts = np.flatnonzero(new)
    comparison, column, bound = comparisons[firsts], columns[firsts], bounds[firsts]
    equals = int(np.searchsorted(comparison, FROM))
    ranges = int(np.searchsorted(comparison, UP_TO))
    numbers = np.arange(len(encoder.columns) + 1)
    equal_firsts = np.concatenate([np.zeros(1, np.int64), np.cumsum(code_counts(encoder))])
    equal = np.full(equal_firsts[-1], -1, np.int32)
    equal[equal_firsts[column[:equals]] + bound[:equals]] = np.arange(equals, dtype=np.int32)
    return Predicates(
        bounds=bound,
        starts=np.append(firsts, len(order)).astype(np.int64),
        targets=targets[loose.rows[order]],
        equal_firsts=equal_firsts,
        equal=equal,
        from_firsts=equals + np.searchsorted(column[equals:ranges], numbers),
        up_to_firsts=ranges + np.searchsorted(column[ranges:], numbers),
    )


def code_counts(encoder: Encoder) -> Int64s:
    """Number of codes of each column."""
    counts = []
    for column in encoder.columns:
        if column.kind is Kind.VERSUS:
            counts.append(2)
        elif column.kind is Kind.PATTERNS:
            counts.append(2 * len(encoder.patterns[column.attribute]) + 1)
        else:
            counts.append(2 * len(encoder.dictionaries[column.attribute]) + 1)
    return np.array(counts, np.int64)


# Fair predicates: every predicate once, then a count for every subscription.


class FairPredicateLevel(VerifiedLevel):
    """Level of the index: one counter a conjunction, compared with its number of predicates after every event."""

    parts: ClassVar[dict[str, type[Any]]] = {"predicates": Predicates, "counters": Counters}
    kernel = match_by_counting

    @classmethod
    def lay_out(cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> tuple[Predicates, Counters]:
        loose = loose_predicates(conjuncts, rows_of(conjuncts), np.ones(len(conjuncts.lows), np.bool_))
        every = np.arange(len(conjuncts), dtype=np.int32)
        return predicates_of(loose, every, encoder), counters_of(needs(loose, len(every)), every)

    def working_memory(self) -> Any:
        return zeroed(self._own[1])


class FairPredicateMatcher(LevelledMatcher[FairPredicateLevel]):
    """Counting matcher (Fabret et al., Le Subscribe, §3.1 Fig 2): each distinct predicate is decided once an event.

    Equalities are found by hashing, inequalities by binary search in ordered arrays; every satisfied predicate adds
    one to the counters of its subscriptions, and the counters of all subscriptions are compared.

    Departs: a range of two bounds is two predicates; a filter with OR has a counter for each of its conjunctions;
    lists, negations and patterns besides are tested once their conjunction's counter is full; additions make levels
    (see LevelledMatcher) instead of entries in one table.
    """

    name: ClassVar[str] = "fair-predicate"
    level = FairPredicateLevel
