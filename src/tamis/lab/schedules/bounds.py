"""Lower bounds for problems too large to solve."""

from __future__ import annotations

import numpy as np

from tamis.lab.schedules.bounding_kernels import essentials, failing, marked, relaxed
from tamis.operators.schedules.graph import Graph
from tamis.operators.schedules.problem import Problem, Reals, Truths

ROUNDS, PATIENCE = 400, 15  # of steps that improve the bound


def theorem_2(problem: Problem, truths: Truths) -> Reals:
    """For each event (a row of truths) the bound in the proof of Theorem 2 (Liu et al. 2007).

    Even who knows the truths beforehand evaluates as much to prove them, and Sequential at most d times as much where
    costs are equal, d being the most predicates of a subscription.
    """
    graph = Graph(problem)
    rows = (graph.members.rows, graph.subscribers.rows)
    return np.array([marked(*rows, truth, problem.cost) for truth in truths])


def in_hindsight(problem: Problem, truths: Truths) -> Reals:
    """For each event what is needed, at the least, to prove what matches and what does not, the truths being known.

    A match needs all its predicates. The rest is hit by predicates that fail: a covering problem, bounded from below.
    """
    return np.array([_covering(problem, truth, problem.cost, matches=True) for truth in truths])


def foreseeing_nothing(problem: Problem, truths: Truths) -> Reals:
    """For each event a number whose *mean* over events no schedule's mean cost falls below.

    Where predicates hold independently with their selectivities, a schedule that does not know a predicate's truth
    before evaluating it gets a failure for every 1 / (1 - selectivity) evaluations, whatever its order. So each failure
    of the covering counts its cost so many times over.
    """
    with np.errstate(divide="ignore"):
        weight = np.minimum(problem.cost / (1 - problem.selectivity), 1e30)
    return np.array([_covering(problem, truth, weight, matches=False) for truth in truths])


def _covering(problem: Problem, truth: Truths, weight: Reals, matches: bool) -> float:
    rows = Graph(problem).members.rows
    offsets = np.zeros(problem.subscriptions + 1, np.int64)
    lists = np.empty(len(problem.members), np.int32)
    needed = np.zeros(problem.predicates, np.bool_)
    count = failing(rows, truth, offsets, lists, needed)
    chosen = np.zeros(problem.predicates, np.bool_)
    left = essentials(offsets, lists, count, chosen)
    bound = float(weight[chosen].sum()) + relaxed(offsets, lists, left, weight, ROUNDS, PATIENCE)
    return bound + (float(problem.cost[needed].sum()) if matches else 0.0)
