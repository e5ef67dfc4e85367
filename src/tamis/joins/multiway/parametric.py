"""What a semijoin costs by rates and numbers of joining rows alone (App. D)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.joins.index.ranges import Floats, Shape

_SELECTED = 1 / 3  # of uniform intervals hold a uniform value


def parametric_costs(
    shape: Shape, rates: npt.ArrayLike, joining: npt.ArrayLike, *, told: float = 1.0, exposed: float = 1.0
) -> Floats:
    """A cost a group: the share of the routing area that its messages reach, a change.

    `rates[t]` is the probability that a change is an insertion into table t; `joining[e, side]` how many rows of that
    side of an edge have the same join key on average. `told` and `exposed` weigh messages of a base row that came and
    of base rows that came into reach (α and β). Intervals and values are taken to be uniform.
    """
    rates, joining = np.asarray(rates, np.float64), np.asarray(joining, np.float64)
    costs = np.empty(shape.groups)
    for group in range(shape.groups):
        base, side = joining[group // 2, group % 2], group % 2
        filtering = joining[group // 2, 1 - side]
        reached = filtering / (filtering + 2)
        alone = 2 / ((filtering + 2) * (filtering + 3))
        costs[group] = _SELECTED * (
            told * rates[shape.base(group)] * reached + exposed * rates[shape.filter(group)] * base * alone
        )
    return costs
