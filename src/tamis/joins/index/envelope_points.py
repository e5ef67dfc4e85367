"""Envelopes of rows, and anchors of subscriptions, in the space of a table's considered attributes."""

from __future__ import annotations

import numpy as np

from tamis.joins.index.envelope_kernels import envelope, innermost
from tamis.joins.index.ranges import Floats, Integers
from tamis.joins.index.stabbing_kernels import partition


def envelope_of(points: Floats, centre: Floats) -> Floats:
    """Sky(points, centre) of Definition 2: the points with no other in the box between them and the centre."""
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.nan_to_num(np.abs(points - centre), nan=0.0).sum(axis=1)
    kept = np.empty(len(points), np.int64)
    count = envelope(points, np.argsort(distance, kind="stable"), centre, kept)
    return points[kept[:count]]


def innermost_boxes(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Those boxes that contain no other of them, each once."""
    inner = np.empty(len(low), np.bool_)
    innermost(low, high, inner)
    return low[inner], high[inner]


def anchors_of(low: Floats, high: Floats) -> Floats:
    """Points such that every box holds one of them: greedily along the first attribute, then the next, and so on."""
    there = (low <= high).all(axis=1)
    return np.array(_anchors(low[there], high[there], 0)).reshape(-1, low.shape[1])


def _anchors(low: Floats, high: Floats, column: int) -> list[list[float]]:
    if not len(low):
        return []
    if column == low.shape[1]:
        return [[]]
    start, stop = np.ascontiguousarray(low[:, column]), np.ascontiguousarray(high[:, column])
    clusters: Integers = np.empty(len(low), np.int64)
    count = partition(start, stop, np.argsort(stop, kind="stable"), clusters, np.empty(len(low)))
    found = []
    for cluster in range(count):
        here = clusters == cluster
        anchor = _finite(float(start[here].max()), float(stop[here].min()))
        found += [[anchor, *rest] for rest in _anchors(low[here], high[here], column + 1)]
    return found


def _finite(low: float, high: float) -> float:
    """A number between two, finite if one of them is or nothing is between."""
    if np.isfinite(high):
        return high
    return low if np.isfinite(low) else max(low, min(0.0, high))
