"""Skyline envelopes of points, and boxes that contain no other."""

from __future__ import annotations

from typing import Any

from tamis.compiled import kernel


@kernel
def envelope(points: Any, order: Any, centre: Any, kept: Any) -> int:
    """Which points no other comes before, seen from the centre: none lies in the box of the two. How many.

    `order` has the nearest first, in whatever measure a box's points are nearer in than its corner. The numbers of
    those kept go to `kept`. What is kept is enough to compare with: a point behind one that was not is behind the one
    that that was behind.
    """
    count = 0
    width = points.shape[1]
    for candidate in order:
        hidden = False
        for k in range(count):
            hidden = True
            for d in range(width):
                near, far, value = centre[d], points[candidate, d], points[kept[k], d]
                if not (min(near, far) <= value <= max(near, far)):
                    hidden = False
                    break
            if hidden:
                break
        if not hidden:
            kept[count] = candidate
            count += 1
    return count


@kernel
def innermost(low: Any, high: Any, inner: Any) -> None:
    """`inner[k]`: box k contains no other box; of equal ones the first stands for all."""
    for k in range(len(low)):
        inner[k] = True
        for j in range(len(low)):
            if j == k:
                continue
            inside, equal = True, True
            for d in range(low.shape[1]):
                if low[j, d] < low[k, d] or high[j, d] > high[k, d]:
                    inside = False
                    break
                equal = equal and low[j, d] == low[k, d] and high[j, d] == high[k, d]
            if inside and (not equal or j < k):
                inner[k] = False
                break
