"""Distinct predicates and the counters each of them adds to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.matching.codes.codes import HIGHEST, LOWEST
from tamis.matching.codes.columns import Encoder, Kind
from tamis.matching.codes.conjuncts import Conjuncts

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

EQUAL, FROM, UP_TO = 0, 1, 2


class Predicates(NamedTuple):
    """Predicates clustered by comparison and column, ascending by `bounds`; each stands here once.

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
    """Predicates before they are told apart: comparison, column and bound of each, and its conjunction."""

    comparisons: Int32s
    columns: Int32s
    bounds: Int32s
    rows: Int32s


def loose_predicates(conjuncts: Conjuncts, rows: Int32s, chosen: Bools) -> Loose:
    """The chosen intervals as predicates: a range that is bounded on both sides is two."""
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
    """How many predicates each of so many conjunctions has: at most two an interval, so a byte holds it."""
    return np.bincount(loose.rows, minlength=count).astype(np.uint8)


def predicates_of(loose: Loose, targets: Int32s, encoder: Encoder) -> Predicates:
    """`targets[c]`: the counter of conjunction c."""
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
    """How many codes each column has."""
    counts = []
    for column in encoder.columns:
        if column.kind is Kind.VERSUS:
            counts.append(2)
        elif column.kind is Kind.PATTERNS:
            counts.append(2 * len(encoder.patterns[column.attribute]) + 1)
        else:
            counts.append(2 * len(encoder.dictionaries[column.attribute]) + 1)
    return np.array(counts, np.int64)
