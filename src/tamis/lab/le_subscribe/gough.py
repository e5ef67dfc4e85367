"""Gough and Smith's matcher: one path through an automaton, which is rebuilt on every change."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tamis.arrays import Int32s, Int64s
from tamis.compiled import bare_kernel, kernel
from tamis.lab.le_subscribe.clustering import distinct_runs, hashed
from tamis.lab.le_subscribe.verified import Intervals, VerifiedLevel, intervals_of, load, settle
from tamis.matching.base.matcher import CANDIDATES, NODES, PREDICATES
from tamis.matching.codes.columns import Encoder
from tamis.matching.codes.dictionary import power_of_two
from tamis.matching.codes.encoding import ABSENT, HIGHEST, LOWEST, Conjuncts
from tamis.matching.codes.levelled_matcher import LevelledMatcher
from tamis.matching.columnar.plan import Knowledge

# Automata: grown from conjunctions, walked by events.

NOWHERE = -1


@kernel
def last_not_above(starts: Any, first: int, last: int, code: int) -> int:
    """Index of the last of the ascending starts that is not above the code; the first never is."""
    while last - first > 1:
        middle = (first + last) >> 1
        if starts[middle] <= code:
            first = middle
        else:
            last = middle
    return first


@kernel
def position(offsets: Any, columns: Any, c: int, column: int) -> int:
    """Position of conjunction c's first interval from this column on, or its end."""
    at = offsets[c]
    while at < offsets[c + 1] and columns[at] < column:
        at += 1
    return at


@kernel
def intern(runs: Any, run_starts: Any, count: int, end: int, table: Any) -> int:
    """Number of the state written at the end of the runs: that of an equal one, or `count`, for a new one."""
    start, mask = run_starts[count], len(table) - 1
    value = np.uint64(end - start)
    for i in range(start, end):
        value = hashed(value, runs[i])
    slot = np.int64(value & np.uint64(mask))
    while table[slot] >= 0:
        there = run_starts[table[slot]]
        same = run_starts[table[slot] + 1] - there == end - start
        for i in range(end - start):
            if not same:
                break
            same = runs[there + i] == runs[start + i]
        if same:
            return int(table[slot])
        slot = (slot + 1) & mask
    table[slot] = count
    run_starts[count + 1] = end
    return count


@kernel
def cut(lows: Any, highs: Any, places: Any) -> Any:
    """Cuts of a column's codes into the ranges to tell apart: each begins at one cut and ends before the next."""
    cuts = np.empty(2 * len(places) + 1, np.int32)
    cuts[0], count = LOWEST, 1
    for at in places:
        if at >= 0:
            cuts[count] = lows[at]
            count += 1
            if highs[at] != HIGHEST:
                cuts[count] = highs[at] + 1
                count += 1
    ordered = np.sort(cuts[:count])
    kept = 1
    for i in range(1, count):
        if ordered[i] != ordered[kept - 1]:
            ordered[kept] = ordered[i]
            kept += 1
    return ordered[:kept]


@kernel
def grow(offsets: Any, columns: Any, lows: Any, highs: Any, members: Any, limit: int) -> Any:
    """Builds the automaton of these conjunctions (ascending, each with an interval), up to a limit of size.

    A state is a column and the conjunctions that may still hold and have an interval there or later; equal states are
    one node. A conjunction is written on the edge that its last interval leads along. Returns whether it fitted, then
    the arrays of `Automata` without `roots`: node 0 is the root.
    """
    node_columns, absents, edge_starts = (
        np.empty(limit, np.int32),
        np.empty(limit, np.int32),
        np.empty(limit + 1, np.int64),
    )
    cuts, nexts, out_starts = np.empty(limit, np.int32), np.empty(limit, np.int32), np.empty(limit + 1, np.int64)
    outs, runs, run_starts = np.empty(limit, np.int32), np.empty(limit, np.int32), np.empty(limit + 1, np.int64)
    size = 1
    while size < 2 * limit:
        size *= 2
    table = np.full(size, -1, np.int32)
    edge_starts[0], out_starts[0], run_starts[0] = 0, 0, 0
    fits = len(members) + 1 <= limit
    count, edges, written = 0, 0, 0
    # The root is the state of all members, at the first column that any of them has an interval on. States are
    # runs of a column and its members, interned so that equal ones are one node.
    if fits:
        column = columns[offsets[members[0]]]
        for i in range(len(members)):
            runs[1 + i] = members[i]
            column = min(column, columns[offsets[members[i]]])
        runs[0] = column
        intern(runs, run_starts, 0, 1 + len(members), table)
        count = 1
    node = 0
    # Breadth first: a node's edges are made when it is reached, and new states are appended behind.
    while fits and node < count:
        start, stop = run_starts[node] + 1, run_starts[node + 1]
        column = runs[start - 1]
        # Where each member's interval on this column stands, or -1.
        places = np.empty(stop - start, np.int64)
        free = 0
        for i in range(len(places)):
            at = position(offsets, columns, runs[start + i], column)
            places[i] = at if at < offsets[runs[start + i] + 1] and columns[at] == column else -1
            free += places[i] < 0
        # Which members stay possible within each range between cuts: counted first, so that the node fits or
        # is given up before anything is written.
        here = cut(lows, highs, places)
        sizes = np.zeros(len(here) + 1, np.int64)
        needed = free * len(here)
        for at in places:
            if at >= 0:
                needed += last_not_above(here, 0, len(here), highs[at]) + 1
                needed -= last_not_above(here, 0, len(here), lows[at])
        if edges + len(here) > limit or needed > limit:
            fits = False
            break
        for i in range(len(places)):
            first, last = 0, len(here) - 1
            if places[i] >= 0:
                first = last_not_above(here, 0, len(here), lows[places[i]])
                last = last_not_above(here, 0, len(here), highs[places[i]])
            for x in range(first, last + 1):
                sizes[x + 1] += 1
        for x in range(len(here)):
            sizes[x + 1] += sizes[x]
        # `inside` gets the members of each range, grouped by range (a counting sort).
        inside = np.empty(needed, np.int64)
        filled = sizes.copy()
        for i in range(len(places)):
            first, last = 0, len(here) - 1
            if places[i] >= 0:
                first = last_not_above(here, 0, len(here), lows[places[i]])
                last = last_not_above(here, 0, len(here), highs[places[i]])
            for x in range(first, last + 1):
                inside[filled[x]] = i
                filled[x] += 1
        node_columns[node] = column
        # The last round is for events without the attribute.
        for x in range(len(here) + 1):
            first, last = (sizes[x], sizes[x + 1]) if x < len(here) else (0, len(places))
            end = run_starts[count] + 1
            if end + last - first > limit or written + last - first > limit:
                fits = False
                break
            # For each range: a member without a further interval is complete and written on the edge, the
            # others make up the state that the edge leads to.
            following = np.int32(2**31 - 1)
            for y in range(first, last):
                i = inside[y] if x < len(here) else y
                c, at = runs[start + i], places[i]
                if at < 0:
                    at = position(offsets, columns, c, column)
                elif x == len(here):
                    continue
                else:
                    at += 1
                if at == offsets[c + 1]:
                    outs[written] = c
                    written += 1
                else:
                    runs[end] = c
                    end += 1
                    following = min(following, columns[at])
            to = NOWHERE
            if end > run_starts[count] + 1:
                if count + 1 >= limit:
                    fits = False
                    break
                runs[run_starts[count]] = following
                to = intern(runs, run_starts, count, end, table)
                count += to == count
            if x < len(here):
                cuts[edges], nexts[edges] = here[x], to
                edges += 1
                out_starts[edges] = written
            else:
                absents[node] = to
        node += 1
        edge_starts[node] = edges
    if not fits:
        count, edges, written = 0, 0, 0
    return (
        fits, node_columns[:count].copy(), absents[:count].copy(), edge_starts[: count + 1].copy(),
        cuts[:edges].copy(), nexts[:edges].copy(), out_starts[: edges + 1].copy(), outs[:written].copy(),
    )  # fmt: skip


@bare_kernel
def match_by_automata(
    codes: Any, sets: Any, first: int, own: Any, rest: Any, memory: Any, seen: Any, stamp: int, room: int, event: Any,
    scratch: Any, out: Any, ends: Any, work: Any,
) -> int:  # fmt: skip
    """See `Level.run`."""
    (automata,) = own
    end = ends[first]
    for e in range(first, len(codes)):
        if end + room > len(out):
            return e
        stamp += 1
        load(codes, e, event)
        # One path an automaton: an absent attribute takes its own edge, else the value's edge is found by
        # binary search over the cuts; conjunctions written on the edge are matches by their intervals.
        for r in range(len(automata.roots)):
            node = automata.roots[r]
            while node != NOWHERE:
                work[NODES] += 1
                code = event[automata.columns[node]]
                if code == ABSENT:
                    node = automata.absents[node]
                    continue
                left, right = automata.edge_starts[node], automata.edge_starts[node + 1]
                while right - left > 1:
                    middle = (left + right) >> 1
                    work[PREDICATES] += 1
                    if automata.cuts[middle] <= code:
                        left = middle
                    else:
                        right = middle
                work[CANDIDATES] += automata.out_starts[left + 1] - automata.out_starts[left]
                for i in range(automata.out_starts[left], automata.out_starts[left + 1]):
                    out[end] = automata.outs[i]
                    end += 1
                node = automata.nexts[left]
        # Conjunctions without intervals are on no path: all are handed on.
        work[CANDIDATES] += len(automata.loose)
        for i in range(len(automata.loose)):
            out[end] = automata.loose[i]
            end += 1
        end = settle(ends[e], end, e, event, sets, rest, memory, seen, stamp, out, work)
        ends[e + 1] = end
    return len(codes)


# Arrays and construction: one automaton for all subscriptions, or as few as the space limit allows.


# Space limit: words (edges, members of states, conjunctions written) for each interval of an automaton.
WORDS = 64
LEAST, MOST = 1 << 10, 1 << 22


class Automata(NamedTuple):
    """Automata as arrays: node n tests `columns[n]`: from cut i of `cuts[edge_starts[n]:edge_starts[n + 1]]` to the
    next, edge i.

    Edge i leads to node `nexts[i]` and writes the conjunctions `outs[out_starts[i]:out_starts[i + 1]]`; where the
    attribute is absent, nothing is written and node `absents[n]` is next. -1 is the end. `loose`: conjunctions that no
    automaton says anything of.
    """

    roots: Int32s
    columns: Int32s
    absents: Int32s
    edge_starts: Int64s
    cuts: Int32s
    nexts: Int32s
    out_starts: Int64s
    outs: Int32s
    loose: Int32s


def automata_of(conjuncts: Conjuncts, singles: int) -> Automata:
    intervals = intervals_of(conjuncts, conjuncts.columns < singles)
    sizes = np.diff(intervals.offsets)
    waiting = [(np.flatnonzero(sizes).astype(np.int32), False)] if sizes.any() else []
    made: list[tuple[Any, ...]] = []
    while waiting:
        members, alike = waiting.pop()
        limit = max(LEAST, min(MOST, WORDS * int(sizes[members].sum())))
        fits, *arrays = grow(*intervals, members, limit)
        if fits:
            made.append(tuple(arrays))
        elif alike:
            ordered = members[np.argsort(intervals.lows[intervals.offsets[members]], kind="stable")]
            half = len(ordered) // 2
            waiting += [(np.sort(ordered[:half]), True), (np.sort(ordered[half:]), True)]
        else:
            waiting += [(some, True) for some in _by_columns(intervals, members)]
    return _together(made, np.flatnonzero(sizes == 0).astype(np.int32))


def _by_columns(intervals: Intervals, members: Int32s) -> list[Int32s]:
    """Groups of members that have intervals on the same columns: they share every state until values tell them
    apart."""
    count = len(intervals.offsets) - 1
    table, firsts = np.full(power_of_two(2 * count + 1), -1, np.int32), np.empty(count, np.int32)
    numbers = np.empty(count, np.int32)
    distinct_runs(intervals.offsets, intervals.columns, table, numbers, firsts)
    chosen = numbers[members]
    order = np.argsort(chosen, kind="stable")
    return np.split(members[order], np.flatnonzero(np.diff(chosen[order])) + 1)


def _together(made: list[tuple[Any, ...]], loose: Int32s) -> Automata:
    """Automata concatenated."""
    nodes, edges, written = 0, 0, 0
    roots, parts = [], []
    for columns, absents, edge_starts, cuts, nexts, out_starts, outs in made:
        roots.append(nodes)
        parts.append(
            (columns, _moved(absents, nodes), edge_starts[1:] + edges, cuts, _moved(nexts, nodes),
             out_starts[1:] + written, outs)
        )  # fmt: skip
        nodes, edges, written = nodes + len(columns), edges + len(cuts), written + len(outs)
    none = np.zeros(0, np.int32)
    columns, absents, edge_starts, cuts, nexts, out_starts, outs = (
        np.concatenate([none, *some]) for some in (zip(*parts, strict=True) if parts else [()] * 7)
    )
    zero = np.zeros(1, np.int64)
    return Automata(
        roots=np.array(roots, np.int32),
        columns=columns,
        absents=absents,
        edge_starts=np.concatenate([zero, edge_starts]),
        cuts=cuts,
        nexts=nexts,
        out_starts=np.concatenate([zero, out_starts]),
        outs=outs,
        loose=loose,
    )


def _moved(nodes: Int32s, base: int) -> Int32s:
    return np.where(nodes == NOWHERE, nodes, nodes + np.int32(base))


class GoughLevel(VerifiedLevel):
    """Level of the index: automata over the intervals on single values."""

    parts: ClassVar[dict[str, type[Any]]] = {"automata": Automata}
    kernel = match_by_automata

    @classmethod
    def lay_out(cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> tuple[Automata]:
        return (automata_of(conjuncts, encoder.singles),)


class GoughMatcher(LevelledMatcher[GoughLevel]):
    """Matcher by a single path (Gough and Smith 1995, as in Fabret et al., Le Subscribe, §3.1 Fig 3).

    An attribute a level, the value's edge found by binary search: each bound is looked at at most once an event, and
    where all fits into one automaton no more nodes are visited than there are attributes. What is added makes a new
    automaton of everything, as its authors do.

    Departs: states with the same future are one node; a subscription is written as soon as its last predicate holds,
    not at a leaf, and attributes that no subscription left asks for are skipped. The automaton of all subscriptions
    may need more space than there is: then those over the same attributes have one, and one that is still too large
    is split in two, so an event follows as many paths as there are automata. A removed subscription stays in the
    automaton, and is passed over, until the next addition. What is no interval on a single value is tested at the end.
    """

    name: ClassVar[str] = "gough"
    level = GoughLevel
    growth: ClassVar[float] = math.inf
    fold_at: ClassVar[float] = 0.0
