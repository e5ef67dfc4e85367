"""Points in regions. A region's boxes are `Regions.arrays`."""

from __future__ import annotations

from typing import Any

from tamis.compiled import bare_kernel, inlined_kernel


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
    """How many of the points from `start` up to `stop` lie in a region."""
    count = 0
    for point in range(start, stop):
        if in_region(first, low, high, region, points, point):
            count += 1
    return count
