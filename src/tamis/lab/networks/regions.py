"""Whom messages are for: regions in a space whose points are subscriptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.arrays import Bools, Floats, Int64s
from tamis.compiled import bare_kernel, inlined_kernel

# Points in regions. A region's boxes are `Regions.arrays`.


@inlined_kernel
def in_box(low: Any, high: Any, box: int, points: Any, point: int) -> bool:
    for d in range(low.shape[1]):
        value = points[point, d]
        if not (low[box, d] <= value <= high[box, d]):
            return False
    return True


@inlined_kernel
def in_region(first: Any, low: Any, high: Any, region: int, points: Any, point: int) -> bool:
    for box in range(first[region], first[region + 1]):  # noqa: SIM110 (Numba compiles no generators here)
        if in_box(low, high, box, points, point):
            return True
    return False


@bare_kernel
def held(first: Any, low: Any, high: Any, region: int, points: Any, mask: Any) -> None:
    """`mask[p]`: whether point p lies in a region."""
    for point in range(len(points)):
        mask[point] = in_region(first, low, high, region, points, point)


@bare_kernel
def count_held(first: Any, low: Any, high: Any, region: int, points: Any, start: int, stop: int) -> int:
    """Number of the points from `start` up to `stop` that lie in a region."""
    count = 0
    for point in range(start, stop):
        if in_region(first, low, high, region, points, point):
            count += 1
    return count


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

    first: Int64s
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

    def hold(self, region: int, points: Floats) -> Bools:
        """Points that lie in a region."""
        mask = np.zeros(len(points), np.bool_)
        held(self.first, self.low, self.high, region, points, mask)
        return mask

    @property
    def arrays(self) -> tuple[Int64s, Floats, Floats]:
        """Arrays for kernels, in their order."""
        return self.first, self.low, self.high


# Messages as networks see them: whom they are for, how large they are, what they carry.

EVERYBODY = -1


@dataclass(frozen=True)
class Post:
    """Any number of messages in the order in which they are sent: all that a network reads of them.

    Message m is for all subscriptions in `regions[m]`, or for the one whose number is `address[m]`. It has `size[m]`
    bytes beside its payloads, which are `payload[first_payload[m]:first_payload[m + 1]]`: numbers that name their
    contents, of `payload_size` bytes each.
    """

    regions: Regions
    address: Int64s
    size: Int64s
    first_payload: Int64s
    payload: Int64s
    payload_size: int

    def __len__(self) -> int:
        return len(self.size)

    @property
    def whole_size(self) -> Int64s:
        """Bytes with all payloads."""
        whole: Int64s = self.size + self.payload_size * np.diff(self.first_payload)
        return whole
