"""Timing side by side: on a shared machine only ratios taken in one run mean much."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best_of(repetitions: int, *works: Callable[[], Any]) -> list[float]:
    """The best time of each, all of them run in turn so many times after a warm-up.

    The best, not the mean: what disturbs a run only ever makes it slower.
    """
    for work in works:
        work()
    gc.collect()
    gc.disable()
    try:
        rounds = [[seconds(work) for work in works] for _ in range(repetitions)]
    finally:
        gc.enable()
    return [min(times) for times in zip(*rounds, strict=True)]


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
