"""Small problems, events and the answers to them, by brute force."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tamis.arrays import Int8s
from tamis.operators.schedules import Problem
from tamis.operators.schedules.problem import TRUE

MOST_PREDICATES = 8

chances = st.sampled_from([0.0, 0.1, 0.3, 0.3, 0.5, 0.9, 1.0])
costs = st.sampled_from([0.5, 1.0, 1.0, 4.0])


def members(predicates: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, predicates - 1), min_size=1, max_size=5, unique=True)


@st.composite
def problems(draw: st.DrawFn, least: int = 0, most: int = 12) -> Problem:
    predicates = draw(st.integers(1, MOST_PREDICATES))
    subscriptions = draw(st.lists(members(predicates), min_size=least, max_size=most))
    selectivity = draw(st.lists(chances, min_size=predicates, max_size=predicates))
    return Problem.of(subscriptions, selectivity, draw(st.lists(costs, min_size=predicates, max_size=predicates)))


def truths(predicates: int, values: int = 3, most: int = 6) -> st.SearchStrategy[Int8s]:
    """Events: a row each, false, true and (with three values) unknown."""
    row = st.lists(st.integers(0, values - 1), min_size=predicates, max_size=predicates)
    return st.lists(row, max_size=most).map(lambda rows: np.array(rows, np.int8).reshape(len(rows), predicates))


def matching(subscriptions: dict[int, list[int]], truth: Int8s) -> list[int]:
    """What matches an event: those whose predicates are all true."""
    return sorted(number for number, wanted in subscriptions.items() if all(truth[t] == TRUE for t in wanted))


def by_number(problem: Problem) -> dict[int, list[int]]:
    return {s: problem.subscription(s).tolist() for s in range(problem.subscriptions)}
