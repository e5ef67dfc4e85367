"""Which of a table's selection attributes leads, where descriptions speak of one only (App. C)."""

from __future__ import annotations

import numpy as np

from tamis.joins.index.ranges import Floats, Integers

_PAIRS = 1 << 20


def most_selective_first(low: Floats, high: Floats, values: Floats) -> Integers:
    """The attributes of a table, the one that fewest rows pass first.

    `low` and `high` are intervals of subscriptions, `values` a sample of rows, both by attribute. The paper leaves the
    choice open; this one makes clients drop the fewest rows.
    """
    if not len(low) or not len(values):
        return np.arange(low.shape[1])
    passing = np.zeros(low.shape[1])
    step = max(1, len(low) * len(values) // _PAIRS)
    for column in range(low.shape[1]):
        ordered = np.sort(values[:, column])
        some = slice(None, None, step)
        inside = np.searchsorted(ordered, high[some, column], side="right") - np.searchsorted(
            ordered, low[some, column]
        )
        passing[column] = np.maximum(inside, 0).mean()
    return np.argsort(passing, kind="stable")
