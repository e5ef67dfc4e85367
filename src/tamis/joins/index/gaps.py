"""What is known of the gaps between rows, kept until rows or subscriptions change."""

from __future__ import annotations

import numpy as np

from tamis.joins.index.gap_kernels import GAP, MISSING, SPARE_GAPS, Gaps


class GapStore:
    """For gaps between neighbouring rows of a join key: which base values select a subscription that no row reaches.

    Serves one group. A gap's number stands beside the row below it in the filter table's index, and comes into being
    when somebody asks. `arrays` are changed by kernels; when they run out of room, `grow` gives them more.
    """

    def __init__(self) -> None:
        self.arrays = _arrays(64, 256)

    def grow(self) -> None:
        """Twice the gaps if none is spare, room for the intervals that did not fit, and none for those not used."""
        old = self.arrays
        gaps, spare, length = len(old.gaps), int(old.counters[SPARE_GAPS]), old.gaps["length"]
        used = int(length.sum())
        more = gaps if spare == 0 else 0
        new = _arrays(gaps + more, max(len(old.low), 2 * (used + int(old.counters[MISSING]))))
        new.gaps[:gaps] = old.gaps
        starts = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        new.gaps["start"][:gaps] = starts[:-1]
        moved = np.repeat(old.gaps["start"] - starts[:-1], length) + np.arange(used)
        new.low[:used], new.high[:used] = old.low[moved], old.high[moved]
        new.gaps["spare"][:more] = np.arange(gaps + more - 1, gaps - 1, -1)
        new.gaps["spare"][more : more + spare] = old.gaps["spare"][:spare]
        new.counters[:] = more + spare, used, 0
        self.arrays = new


def _arrays(gaps: int, intervals: int) -> Gaps:
    records = np.zeros(gaps, GAP).view(np.recarray)
    records["spare"] = np.arange(gaps - 1, -1, -1)
    return Gaps(records, np.zeros(intervals), np.zeros(intervals), np.array([gaps, 0, 0], np.int64))
