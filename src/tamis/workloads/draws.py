"""Random draws that the generators share. The order of the draws is part of a workload's definition."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

_ROWS_AT_ONCE = 100_000


def popularity(count: int) -> Reals:
    """Weights 1, 1/2, 1/3, …: the k-th attribute is named k times more rarely than the first."""
    return np.asarray(1 / np.arange(1, count + 1.0))


def distinct(rng: np.random.Generator, rows: int, count: int, weights: Reals) -> Integers:
    """So many different numbers a row, without replacement, by weight: the largest of log(weight) + Gumbel noise.

    The order within a row is not random; where it matters, follow with `shuffled`.
    """
    chosen = np.empty((rows, count), np.int64)
    for start in range(0, rows, _ROWS_AT_ONCE):
        size = min(_ROWS_AT_ONCE, rows - start)
        score = np.log(weights)[None] + rng.gumbel(size=(size, len(weights)))
        best = np.argpartition(-score, count, axis=1) if count < len(weights) else np.argsort(-score, axis=1)
        chosen[start : start + size] = best[:, :count]
    return chosen


def shuffled(rng: np.random.Generator, numbers: Integers) -> Integers:
    """Each row in random order."""
    return np.take_along_axis(numbers, np.argsort(rng.random(numbers.shape), axis=1), axis=1)


def zipf(rng: np.random.Generator, shape: tuple[int, int], values: int) -> Integers:
    """Value v of 0, 1, … with probability proportional to 1/(v+1)."""
    weights = popularity(values)
    weights /= weights.sum()
    return np.searchsorted(np.cumsum(weights), rng.random(shape)).clip(0, values - 1)
