"""Exact optima of problems small enough to try everything."""

from __future__ import annotations

from functools import cache

import numpy as np

from tamis.errors import TamisError
from tamis.lab.schedules.bounding_kernels import best_strategy
from tamis.operators.schedules.problem import Problem, Reals, Truths
from tamis.operators.schedules.truth import TRUE

MOST_PREDICATES = 14  # 3^14 states are 4.8 million


def certificate(problem: Problem, truth: Truths) -> float:
    """The least cost of evaluations that prove, on one event, what matches and what does not.

    This is the optimum that Theorem 2 of Liu et al. 2007 speaks of: its proof counts what *any* algorithm must evaluate
    on the event at hand, be it clairvoyant. Every predicate of a match, and of each other subscription one that fails.
    """
    rows = [problem.subscription(s) for s in range(problem.subscriptions)]
    matching = {int(t) for row in rows if (truth[row] == TRUE).all() for t in row}
    failing = frozenset(
        frozenset(int(t) for t in row if truth[t] != TRUE) for row in rows if not (truth[row] == TRUE).all()
    )
    return float(problem.cost[sorted(matching)].sum()) + _cover(failing, problem.cost)


def _cover(rows: frozenset[frozenset[int]], cost: Reals) -> float:
    """The least cost of numbers that hit every row: some number of the shortest row is among them."""

    @cache
    def least(rest: frozenset[frozenset[int]]) -> float:
        if not rest:
            return 0.0
        shortest = min(rest, key=lambda row: (len(row), sorted(row)))
        return min(float(cost[t]) + least(frozenset(row for row in rest if t not in row)) for t in shortest)

    return least(rows)


def strategy(problem: Problem) -> float:
    """The expected cost of the best schedule there is, which may choose by all that it has seen of the event.

    By dynamic programming over what can be known: each predicate open, true or false. Predicates are independent.
    """
    if problem.predicates > MOST_PREDICATES:
        raise TamisError(f"{problem.predicates} predicates are too many to try everything; {MOST_PREDICATES} are not")
    wants = np.zeros(problem.subscriptions, np.int64)
    owners = np.repeat(np.arange(problem.subscriptions), np.diff(problem.offsets))
    np.bitwise_or.at(wants, owners, np.left_shift(np.int64(1), problem.members.astype(np.int64)))
    return float(best_strategy(problem.predicates, wants, problem.cost, problem.selectivity))
