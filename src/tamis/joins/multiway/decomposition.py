"""Which neighbour filters each table of a join: the cheapest group that its signature has."""

from __future__ import annotations

import numpy as np

from tamis.joins.index.ranges import NOT_THERE, Floats, Integers, Shape


def decomposed(shape: Shape, costs: Floats) -> Integers:
    """For every signature and table the edge by which the table is filtered, -1 where the signature has it not.

    `costs[g]` is what a semijoin of group g costs. For each base table its groups are gone through from the cheapest
    on, and each signature takes the first that it has the edge of (§4). Costs add up, so no total is less (App. E).
    """
    chosen = np.full((len(shape.signatures), shape.tables), NOT_THERE, np.int64)
    for table in range(shape.tables):
        groups = [group for group in range(shape.groups) if shape.base(group) == table]
        for group in sorted(groups, key=lambda group: float(costs[group])):
            for signature, edges in enumerate(shape.signatures):
                if group // 2 in edges and chosen[signature, table] == NOT_THERE:
                    chosen[signature, table] = group // 2
    return chosen


def filtering_of(decomposition: Integers, signature: Integers) -> Integers:
    """`Ranges.filtering` of subscriptions by their signatures."""
    return decomposition[signature]


def total_cost(shape: Shape, costs: Floats, filtering: Integers) -> float:
    """What all semijoins of subscriptions cost together."""
    total = 0.0
    for group in range(shape.groups):
        total += float(costs[group]) * int((filtering[:, shape.base(group)] == group // 2).sum())
    return total
