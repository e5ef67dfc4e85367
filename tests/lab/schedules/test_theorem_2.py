"""Optima and bounds of small problems: what holds in the paper holds here, by trying everything."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given

from tamis.arrays import Floats, Int8s
from tamis.errors import TamisError
from tamis.lab.schedules.bounds import certificate, foreseeing_nothing, in_hindsight, strategy, theorem_2
from tamis.operators.schedules import SCHEDULES, Problem, schedule
from tests.operators.schedules.generated import problems

CLOSE = 1e-6


def random_problem(rng: np.random.Generator, equal_costs: bool = True) -> Problem:
    predicates = int(rng.integers(2, 9))
    most = int(rng.integers(1, min(5, predicates) + 1))
    lengths = rng.integers(1, most + 1, rng.integers(1, 14))
    subscriptions = [rng.choice(predicates, length, replace=False).tolist() for length in lengths]
    selectivity = rng.random(predicates) * rng.choice([0.2, 0.6, 1.0])
    return Problem.of(subscriptions, selectivity, None if equal_costs else rng.choice([1.0, 2.0, 5.0], predicates))


def all_truths(problem: Problem) -> tuple[Int8s, Floats]:
    """Every event there can be, and how likely it is."""
    truths = np.array(list(product([0, 1], repeat=problem.predicates)), np.int8)
    return truths, np.where(truths == 1, problem.selectivity, 1 - problem.selectivity).prod(axis=1)


def test_sequential_costs_at_most_d_times_the_optimum_on_a_thousand_problems() -> None:
    rng = np.random.default_rng(2007)
    reached = 0
    for _ in range(1000):
        problem = random_problem(rng)
        truths = rng.integers(0, 2, (12, problem.predicates)).astype(np.int8)
        counts = schedule("sequential", problem).run(truths).trail.lengths
        optima = np.array([certificate(problem, truth) for truth in truths])
        assert (counts <= problem.longest * optima + CLOSE).all()
        reached += int((problem.longest > 1) and (counts >= problem.longest * optima - CLOSE).any())
    assert reached > 0  # and the factor is no smaller


def test_with_unequal_costs_the_factor_grows_by_their_ratio() -> None:
    rng = np.random.default_rng(43)
    for _ in range(200):
        problem = random_problem(rng, equal_costs=False)
        truths = rng.integers(0, 2, (8, problem.predicates)).astype(np.int8)
        costs = schedule("sequential", problem).run(truths).trail.costs(problem.cost)
        factor = problem.longest * problem.cost.max() / problem.cost.min()
        assert (costs <= factor * np.array([certificate(problem, truth) for truth in truths]) + CLOSE).all()


def test_leaving_a_subscription_once_it_is_decided_breaks_the_theorem() -> None:
    subscriptions = [[predicate, 9] for predicate in range(9)]
    problem = Problem.of(subscriptions, [0.5] * 10)
    nothing_holds = np.zeros((1, 10), np.int8)
    assert certificate(problem, nothing_holds[0]) == 1
    assert schedule("sequential", problem).run(nothing_holds).trail.lengths.tolist() == [2]
    assert schedule("sequential-stopping", problem).run(nothing_holds).trail.lengths.tolist() == [9]


@given(problem=problems())
def test_bounds_are_below_the_optima_and_the_optima_below_all_schedules(problem: Problem) -> None:
    truths, chance = all_truths(problem)
    proofs = np.array([certificate(problem, truth) for truth in truths])
    best = strategy(problem)
    assert (theorem_2(problem, truths) <= proofs + CLOSE).all()
    assert (in_hindsight(problem, truths) <= proofs + CLOSE).all()
    assert chance @ proofs <= best + CLOSE
    possible = problem.selectivity < 1  # what always holds has no failures to count
    if possible.all():
        assert chance @ foreseeing_nothing(problem, truths) <= best + CLOSE
    for name in SCHEDULES:
        costs = schedule(name, problem).run(truths).trail.costs(problem.cost)
        assert (costs >= proofs - CLOSE).all()
        assert chance @ costs >= best - CLOSE


def test_adaptive_is_near_the_best_strategy_and_the_order_of_the_others_is_the_paper_s() -> None:
    rng = np.random.default_rng(7)
    ratios: dict[str, list[float]] = {name: [] for name in SCHEDULES}
    for _ in range(150):
        problem = random_problem(rng, equal_costs=bool(rng.integers(2)))
        truths, chance = all_truths(problem)
        best = strategy(problem)
        for name, found in ratios.items():
            costs = schedule(name, problem).run(truths).trail.costs(problem.cost)
            found.append(float(chance @ costs) / best)
    means = {name: np.mean(found) for name, found in ratios.items()}
    assert means["adaptive"] < 1.01
    assert means["adaptive"] < means["sub-order"] < means["sequential"] < means["naive"]


def test_a_strategy_by_hand() -> None:
    # Either decides {0, 1} half of the time; whoever is evaluated first, the other follows if it holds.
    assert strategy(Problem.of([[0, 1]], [0.5, 0.5])) == pytest.approx(1.5)
    # The shared one first: 1, and where it holds both others.
    assert strategy(Problem.of([[0, 1], [0, 2]], [0.2, 0.5, 0.5])) == pytest.approx(1 + 0.2 * 2)
    # A cheap one first, if it fails often enough.
    assert strategy(Problem.of([[0, 1]], [0.5, 0.5], [1.0, 10.0])) == pytest.approx(1 + 0.5 * 10)


def test_too_large_a_problem_is_refused() -> None:
    with pytest.raises(TamisError, match="too many"):
        strategy(Problem.of([list(range(15))], [0.5] * 15))


def test_the_bound_of_a_covering_is_close_to_its_optimum() -> None:
    rng = np.random.default_rng(5)
    shares = []
    for _ in range(60):
        subscriptions = [rng.choice(12, rng.integers(2, 5), replace=False).tolist() for _ in range(15)]
        problem = Problem.of(subscriptions, np.full(12, 0.3))
        truths = (rng.random((4, 12)) < 0.3).astype(np.int8)
        optima = np.array([certificate(problem, truth) for truth in truths])
        shares.append(in_hindsight(problem, truths).sum() / optima.sum())
    assert np.mean(shares) > 0.93
