"""Interval binary search trees over the most selective interval of each conjunction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.lab.le_subscribe.hanson_kernels import mark
from tamis.matching.codes.codes import HIGHEST, LOWEST
from tamis.matching.codes.columns import Encoder
from tamis.matching.codes.conjuncts import Conjuncts
from tamis.matching.columnar.knowledge import Knowledge

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_EMPTY_SHARE = 1e-9  # of an interval that no known value lies in


class Trees(NamedTuple):
    """A balanced tree a column: its keys are `keys[firsts[c]:firsts[c + 1]]`, the middle one the root.

    Node n has the marks of values below, at and above its key in places 3n, 3n + 1 and 3n + 2; place p is
    `marks[starts[p]:starts[p + 1]]`. Mark m stands for conjunction `rows[m]`: marks are numbered as they first come, so
    that what one value leads to lies together. `loose`: conjunctions without any interval.
    """

    firsts: Int64s
    keys: Int32s
    starts: Int64s
    marks: Int32s
    rows: Int32s
    loose: Int32s


def trees_of(conjuncts: Conjuncts, rows: Int32s, chosen: Int64s, encoder: Encoder) -> Trees:
    """Trees of the chosen intervals, at most one a conjunction."""
    columns, lows, highs = conjuncts.columns[chosen].astype(np.int64), conjuncts.lows[chosen], conjuncts.highs[chosen]
    firsts, keys = [0], []
    begins, stops = np.zeros(len(chosen), np.int64), np.zeros(len(chosen), np.int64)
    for column in range(len(encoder.columns)):
        here = np.flatnonzero(columns == column)
        bounds = np.unique(np.concatenate([lows[here], highs[here]]))
        bounds = bounds[(bounds != LOWEST) & (bounds != HIGHEST)]
        if not len(bounds) and len(here):
            bounds = np.zeros(1, np.int32)  # whoever only asks for presence is marked on both sides of any key
        begins[here] = np.where(lows[here] == LOWEST, 0, 2 * np.searchsorted(bounds, lows[here]) + 1)
        stops[here] = np.where(highs[here] == HIGHEST, 2 * len(bounds), 2 * np.searchsorted(bounds, highs[here]) + 1)
        keys.append(bounds)
        firsts.append(firsts[-1] + len(bounds))
    ends = np.array(firsts, np.int64)
    places = 3 * firsts[-1]
    counts, nothing = np.zeros(places + 1, np.int64), np.zeros(0, np.int32)
    mark(ends, columns, begins, stops, rows[chosen], counts, nothing, False)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts[:places])])
    marked = np.empty(starts[-1], np.int32)
    mark(ends, columns, begins, stops, rows[chosen], starts.copy(), marked, True)
    order = marked[np.sort(np.unique(marked, return_index=True)[1])]
    numbers = np.full(len(conjuncts), -1, np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    return Trees(
        firsts=ends,
        keys=np.concatenate([nothing, *keys]),
        starts=starts,
        marks=numbers[marked],
        rows=order,
        loose=np.flatnonzero(numbers < 0).astype(np.int32),
    )


def most_selective(conjuncts: Conjuncts, rows: Int32s, encoder: Encoder, knowledge: Knowledge) -> Int64s:
    """Of each conjunction the interval that the fewest events are expected to satisfy."""
    order = np.lexsort((shares(conjuncts, encoder, knowledge), rows))
    new = np.ones(len(order), np.bool_)
    new[1:] = rows[order][1:] != rows[order][:-1]
    return order[new]


def shares(conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> npt.NDArray[np.float64]:
    """The share of events expected to satisfy each interval."""
    found = np.empty(len(conjuncts.lows))
    for column in range(len(encoder.columns)):
        here = np.flatnonzero(conjuncts.columns == column)
        lows, highs = conjuncts.lows[here], conjuncts.highs[here]
        share = np.full(len(here), _EMPTY_SHARE)
        exact = (lows == highs) & (lows % 2 == 1)
        known = knowledge.shares[knowledge.share_starts[column] : knowledge.share_starts[column + 1]]
        if len(known):
            share[exact] = known[np.minimum(lows[exact] // 2, len(known) - 1)]
        if knowledge.edge_rows[column] >= 0:
            edges, ranges = knowledge.edges[knowledge.edge_rows[column]], lows != highs
            inside = np.searchsorted(edges, highs[ranges], "right") - np.searchsorted(edges, lows[ranges])
            share[ranges] = np.maximum(inside / len(edges), _EMPTY_SHARE)
        found[here] = share * knowledge.presence[column]
    return found
