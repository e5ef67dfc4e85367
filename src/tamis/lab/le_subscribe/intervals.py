"""Intervals by row, as kernels verify them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.matching.codes.conjuncts import Conjuncts

Int32s = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


class Intervals(NamedTuple):
    """Row c asks for `lows <= code <= highs` on each of `columns`, from `offsets[c]` to `offsets[c + 1]`."""

    offsets: Int32s
    columns: Int32s
    lows: Int32s
    highs: Int32s


def intervals_of(conjuncts: Conjuncts, chosen: Bools) -> Intervals:
    """The chosen ones among the intervals of all conjunctions."""
    offsets = np.concatenate([np.zeros(1, np.int32), np.cumsum(chosen, dtype=np.int32)])[conjuncts.offsets]
    columns = conjuncts.columns[chosen].astype(np.int32)
    return Intervals(offsets, columns, conjuncts.lows[chosen], conjuncts.highs[chosen])


def rows_of(conjuncts: Conjuncts) -> Int32s:
    """The conjunction of each interval."""
    return np.repeat(np.arange(len(conjuncts), dtype=np.int32), np.diff(conjuncts.offsets))


def taken(intervals: Intervals, rows: Int32s) -> Intervals:
    """The rows in another order: what is verified together then lies together."""
    sizes = np.diff(intervals.offsets)[rows]
    offsets = np.concatenate([np.zeros(1, np.int32), np.cumsum(sizes, dtype=np.int32)])
    places = np.repeat(intervals.offsets[rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
    return Intervals(offsets, intervals.columns[places], intervals.lows[places], intervals.highs[places])
