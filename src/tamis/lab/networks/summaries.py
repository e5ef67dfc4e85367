"""Many points as few boxes: what a link needs to know of those behind it."""

from __future__ import annotations

import numpy as np

from tamis.lab.networks.regions import UNBOUNDED, Floats, Integers


def summary(points: Floats, leaves: int | None) -> tuple[Floats, Floats]:
    """Low and high corners of boxes in a binary tree as in a heap, of which the last ones hold all points.

    There are at most so many of these, a power of two; None stands for one a point, which loses nothing. Points are
    halved at the median of the dimension in which they are widest, so that boxes are small.
    """
    count = len(points)
    if count == 0:
        return np.empty((0, points.shape[1])), np.empty((0, points.shape[1]))
    last = 1 << (count - 1).bit_length()
    if leaves is not None:
        last = min(last, 1 << (leaves.bit_length() - 1))
    low, high = (np.empty((2 * last - 1, points.shape[1])) for _ in range(2))
    finite = points.clip(-UNBOUNDED, UNBOUNDED)
    groups: list[Integers] = [np.arange(count)]
    for box in range(2 * last - 1):
        some = groups[box]
        low[box], high[box] = points[some].min(axis=0), points[some].max(axis=0)
        if box < last - 1:
            groups += _halves(some, finite)
    return low, high


def _halves(some: Integers, points: Floats) -> list[Integers]:
    """Two halves by the widest dimension; one point alone is both."""
    if len(some) == 1:
        return [some, some]
    here = points[some]
    order = np.argpartition(here[:, np.argmax(np.ptp(here, axis=0))], len(some) // 2)
    return [some[order[: len(some) // 2]], some[order[len(some) // 2 :]]]
