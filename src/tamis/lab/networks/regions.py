"""Whom messages are for: regions in a space whose points are subscriptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.lab.networks.kernels import held

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

UNBOUNDED = 1e300
"""Ends of ranges beyond it say that there is no bound: widths of what lies within can still be added up."""


@dataclass(frozen=True)
class Regions:
    """Any number of regions in a space of so many dimensions, each a union of closed boxes.

    Those of region r are `low[b]` to `high[b]` for b from `first[r]` up to `first[r + 1]`; a region may have none. A
    subscription with k ranges is a point of 2k dimensions, low end and high end of each. So "v lies in the range" is a
    box, low end at most v and high end at least v, and so are "the range reaches from x to y" and "the range holds v,
    and neither u nor w" (App. A).
    """

    first: Integers
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def dimensions(self) -> int:
        return self.low.shape[1]

    @classmethod
    def of(cls, dimensions: int, regions: Sequence[Sequence[tuple[Sequence[float], Sequence[float]]]]) -> Regions:
        """From boxes written out, (low, high) each."""
        boxes = [box for region in regions for box in region]
        first = np.concatenate([[0], np.cumsum([len(region) for region in regions])]).astype(np.int64)
        low, high = (np.array([box[end] for box in boxes], np.float64).reshape(-1, dimensions) for end in (0, 1))
        return cls(first, low, high)

    def hold(self, region: int, points: Floats) -> Mask:
        """Which of the points lie in a region."""
        mask = np.zeros(len(points), np.bool_)
        held(self.first, self.low, self.high, region, points, mask)
        return mask

    @property
    def arrays(self) -> tuple[Integers, Floats, Floats]:
        """What kernels take, in their order."""
        return self.first, self.low, self.high
