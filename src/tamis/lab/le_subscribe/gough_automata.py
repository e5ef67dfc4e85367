"""One automaton for all subscriptions, or as few as space allows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.lab.le_subscribe.clustering_kernels import distinct_runs
from tamis.lab.le_subscribe.gough_kernels import NOWHERE, grow
from tamis.lab.le_subscribe.intervals import Intervals, intervals_of
from tamis.matching.codes.conjuncts import Conjuncts
from tamis.matching.codes.dictionary import power_of_two

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

# An automaton may have so many words (edges, members of states, conjunctions written) for each interval it is made of.
WORDS = 64
LEAST, MOST = 1 << 10, 1 << 22


class Automata(NamedTuple):
    """Node n looks at `columns[n]`: from cut i of `cuts[edge_starts[n]:edge_starts[n + 1]]` to the next, edge i.

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
    """The members that have intervals on the same columns: they share every state until values tell them apart."""
    count = len(intervals.offsets) - 1
    table, firsts = np.full(power_of_two(2 * count + 1), -1, np.int32), np.empty(count, np.int32)
    numbers = np.empty(count, np.int32)
    distinct_runs(intervals.offsets, intervals.columns, table, numbers, firsts)
    chosen = numbers[members]
    order = np.argsort(chosen, kind="stable")
    return np.split(members[order], np.flatnonzero(np.diff(chosen[order])) + 1)


def _together(made: list[tuple[Any, ...]], loose: Int32s) -> Automata:
    """The automata one after the other."""
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
