"""NEON's matcher: predicate tables by attribute and comparison, nothing shared between subscriptions."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.arrays import Int32s
from tamis.compiled import bare_kernel
from tamis.lab.le_subscribe.counting import EQUAL, FROM, loose_predicates, needs
from tamis.lab.le_subscribe.verified import VerifiedLevel, load, rows_of, settle
from tamis.matching.base.matcher import BUCKETS, CANDIDATES, PREDICATES
from tamis.matching.codes.columns import Encoder
from tamis.matching.codes.encoding import ABSENT, Conjuncts
from tamis.matching.codes.levelled_matcher import LevelledMatcher
from tamis.matching.columnar.plan import Knowledge
from tamis.matching.columnar.probing_kernels import any_within

# Kernels: every predicate of an operation is evaluated and counted for its subscription.


@bare_kernel
def note(c: int, hits: Any, touched: Any, count: int) -> int:
    """Counts a satisfied predicate for a conjunction, which is listed as touched the first time."""
    if hits[c] == 0:
        touched[count] = c
        count += 1
    hits[c] += np.uint8(1)
    return count


@bare_kernel
def evaluate(tables: Any, o: int, e: int, event: Any, sets: Any, hits: Any, touched: Any, count: int, work: Any) -> int:
    """Evaluates all predicates of operation o on an event; returns the number of touched conjunctions."""
    set_ends, set_codes = sets
    singles, column = len(event) - 1, tables.columns[o]
    first, last = tables.starts[o], tables.starts[o + 1]
    if column >= singles:
        start, stop = set_ends[column - singles, e], set_ends[column - singles, e + 1]
        if start == stop:
            return count
        for i in range(first, last):
            if any_within(set_codes, start, stop, tables.bounds[i], tables.bounds[i]):
                count = note(tables.rows[i], hits, touched, count)
    else:
        code, comparison = event[column], tables.comparisons[o]
        if code == ABSENT:
            return count
        if comparison == EQUAL:
            for i in range(first, last):
                if tables.bounds[i] == code:
                    count = note(tables.rows[i], hits, touched, count)
        elif comparison == FROM:
            for i in range(first, last):
                if tables.bounds[i] <= code:
                    count = note(tables.rows[i], hits, touched, count)
        else:
            for i in range(first, last):
                if code <= tables.bounds[i]:
                    count = note(tables.rows[i], hits, touched, count)
    work[BUCKETS] += 1
    work[PREDICATES] += last - first
    return count


@bare_kernel
def match_by_tables(
    codes: Any, sets: Any, first: int, own: Any, rest: Any, memory: Any, seen: Any, stamp: int, room: int, event: Any,
    scratch: Any, out: Any, ends: Any, work: Any,
) -> int:  # fmt: skip
    """See `Level.run`."""
    (tables,) = own
    hits, touched = scratch
    end = ends[first]
    for e in range(first, len(codes)):
        if end + room > len(out):
            return e
        stamp += 1
        load(codes, e, event)
        count = 0
        for o in range(len(tables.columns)):
            count = evaluate(tables, o, e, event, sets, hits, touched, count, work)
        work[CANDIDATES] += count + len(tables.loose)
        for i in range(count):
            c = touched[i]
            if hits[c] == tables.needs[c]:
                out[end] = c
                end += 1
            hits[c] = 0
        for i in range(len(tables.loose)):
            out[end] = tables.loose[i]
            end += 1
        end = settle(ends[e], end, e, event, sets, rest, memory, seen, stamp, out, work)
        ends[e + 1] = end
    return len(codes)


class Tables(NamedTuple):
    """Predicate tables: operation o compares `columns[o]` by `comparisons[o]`; its rows are `starts[o]:starts[o + 1]`.

    A row is a bound and a conjunction. `needs`: the predicates of each conjunction; `loose`: those that have none.
    """

    columns: Int32s
    comparisons: Int32s
    starts: npt.NDArray[np.int64]
    bounds: Int32s
    rows: Int32s
    needs: npt.NDArray[np.uint8]
    loose: Int32s


class NeonLevel(VerifiedLevel):
    """Level of the index: the tables, and a count for every conjunction with a satisfied predicate."""

    parts: ClassVar[dict[str, type[Any]]] = {"tables": Tables}
    kernel = match_by_tables

    @classmethod
    def lay_out(cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> tuple[Tables]:
        loose = loose_predicates(conjuncts, rows_of(conjuncts), np.ones(len(conjuncts.lows), np.bool_))
        operations = loose.columns * 3 + loose.comparisons
        order = np.argsort(operations, kind="stable")
        found, starts = np.unique(operations[order], return_index=True)
        counts = needs(loose, len(conjuncts))
        tables = Tables(
            columns=found // 3,
            comparisons=found % 3,
            starts=np.append(starts, len(order)).astype(np.int64),
            bounds=loose.bounds[order],
            rows=loose.rows[order],
            needs=counts,
            loose=np.flatnonzero(counts == 0).astype(np.int32),
        )
        return (tables,)

    def working_memory(self) -> Any:
        (tables,) = self._own
        return np.zeros(len(tables.needs), np.uint8), np.zeros(len(tables.needs), np.int32)


class NeonMatcher(LevelledMatcher[NeonLevel]):
    """Matcher by predicate tables (NEONRules, as in Fabret et al., Le Subscribe, §3.1 Fig 8).

    An index over attribute and comparison locates the predicates that may be asked of the event; each of them is
    evaluated, as often as subscriptions repeat it, and counted for its subscription.

    Departs: the event type is an attribute like the others, not part of the index; a range of two bounds is two
    predicates; what is neither equality nor inequality, attribute against attribute included, is tested at the end
    or is an equality of its own column; additions make levels (see LevelledMatcher).
    """

    name: ClassVar[str] = "neon"
    level = NeonLevel
