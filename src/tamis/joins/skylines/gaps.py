"""What is known of the gaps between rows, kept until rows or subscriptions change."""

from __future__ import annotations

import numpy as np

from tamis.joins.ranges import Integers
from tamis.joins.skylines.kernels import MISSING, SPARE_GAPS, Gaps


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
        gaps, spare, used = len(old.upper), int(old.counters[SPARE_GAPS]), int(old.length.sum())
        more = gaps if spare == 0 else 0
        new = _arrays(gaps + more, max(len(old.low), 2 * (used + int(old.counters[MISSING]))))
        for name in ("upper", "version", "length"):
            getattr(new, name)[:gaps] = getattr(old, name)
        starts = np.concatenate([[0], np.cumsum(old.length)]).astype(np.int64)
        new.start[:gaps] = starts[:-1]
        moved = np.repeat(old.start - starts[:-1], old.length) + np.arange(used)
        new.low[:used], new.high[:used] = old.low[moved], old.high[moved]
        new.spare[:more] = np.arange(gaps + more - 1, gaps - 1, -1)
        new.spare[more : more + spare] = old.spare[:spare]
        new.counters[:] = more + spare, used, 0
        self.arrays = new


def _arrays(gaps: int, intervals: int) -> Gaps:
    def integers(count: int) -> Integers:
        return np.zeros(count, np.int64)

    return Gaps(
        upper=np.zeros(gaps), version=integers(gaps), start=integers(gaps), length=integers(gaps),
        low=np.zeros(intervals), high=np.zeros(intervals), spare=np.arange(gaps - 1, -1, -1, dtype=np.int64),
        counters=np.array([gaps, 0, 0], np.int64),
    )  # fmt: skip
