"""What the adaptive schedule takes first, and what it learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.lab.schedules.counting import batches, counted, problem_of
from tamis.operators.schedules import Evidence, Problem, schedule
from tamis.operators.schedules.adaptive import Adaptive
from tamis.operators.schedules.adaptive.kernels import BUCKETS, bucket_for
from tamis.operators.schedules.knowledge import Knowledge
from tamis.operators.schedules.running import Trail
from tamis.workloads.expensive_operators import Parameters, expensive_operators


def first_asked(problem: Problem) -> int:
    return int(Adaptive(problem).run(np.zeros((1, problem.predicates), np.int8)).trail.predicates[0])


def test_what_decides_most_comes_first() -> None:
    assert first_asked(Problem.of([[0, 1], [1, 2], [1, 3]], [0.5] * 4)) == 1


def test_what_fails_more_often_comes_first() -> None:
    assert first_asked(Problem.of([[0, 1, 2]], [0.5, 0.1, 0.3])) == 1


def test_what_is_cheaper_comes_first() -> None:
    assert first_asked(Problem.of([[0, 1, 2]], [0.2, 0.2, 0.2], [9.0, 9.0, 1.0])) == 2


def test_what_nothing_else_decides_well_comes_before_what_much_else_does() -> None:
    # 0, 3, 4 and 5 decide two each, but what 3 decides, 4 and 5 decide as well as others.
    assert first_asked(Problem.of([[3, 4], [3, 5], [4, 6], [5, 7], [0, 1], [0, 2]], [0.5] * 8)) == 0


def test_what_has_to_be_evaluated_anyway_comes_before_all() -> None:
    # Nobody else decides the last subscription, so its predicate costs nothing extra.
    popular = [[0, number] for number in range(2, 9)]
    assert first_asked(Problem.of([*popular, [1]], [0.1] + [0.9] * 8, [1.0] * 9)) == 1


def test_one_evaluation_decides_all_who_share_a_failure() -> None:
    problem = Problem.of([[0, number] for number in range(1, 2000)], [0.1] + [0.5] * 1999)
    truths = np.ones((1, 2000), np.int8)
    truths[0, 0] = 0
    assert Adaptive(problem).run(truths).trail.lengths.tolist() == [1]


def test_a_promise_that_rounding_lifts_above_its_bucket_is_not_lost() -> None:
    # What is open promises exactly 1 for each, the edge of a bucket: added up step by step it falls just below.
    problem = Problem.of([[0, 1, 2, 3, 4]] * 4, [0.0, 0.0, 0.0, 0.3, 0.3], [0.5] * 5)
    record = Adaptive(problem).run(np.ones((1, 5), np.int8))
    assert record.trail.lengths.tolist() == [5]
    assert record.matches_of(0) == [0, 1, 2, 3]


@pytest.mark.parametrize("function", [bucket_for, bucket_for.py_func], ids=["compiled", "interpreted"])
@given(promise=st.floats(2.0**-30, 2.0**30, width=32))
def test_a_greater_promise_is_in_no_lower_bucket(function: Any, promise: float) -> None:
    bucket = function(np.float32(promise))
    assert 0 <= bucket < BUCKETS
    assert function(np.float32(promise * 1.07)) > bucket
    assert function(np.float32(promise * 0.999)) in (bucket, bucket - 1)
    assert function(np.float32(np.inf)) == BUCKETS - 1
    assert function(np.float32(0.0)) == 0


def evidence(predicate: int, evaluated: int, held: int, events: int = 1) -> Evidence:
    counts = np.zeros(predicate + 1, np.int64)
    seen, held_of = counts.copy(), counts.copy()
    seen[predicate], held_of[predicate] = evaluated, held
    return Evidence.tallied(events, seen, held_of, counts, counts, counts.astype(float), Trail.none())


def test_declared_selectivities_that_are_right_are_kept() -> None:
    rng = np.random.default_rng(1)
    declared = rng.random(400) * 0.4
    knowledge = Knowledge(declared, np.ones(400), half_life=200)
    seen = np.full(400, 100)
    held = rng.binomial(seen, declared)
    nothing = np.zeros(400, np.int64)
    knowledge.learn(Evidence.tallied(100, seen, held, nothing, nothing, np.zeros(400), Trail.none()))
    observed = held / seen
    assert np.abs(knowledge.selectivity() - declared).mean() < 0.5 * np.abs(observed - declared).mean()


def test_declared_selectivities_that_are_wrong_are_overruled_where_seen_and_doubted_where_not() -> None:
    rng = np.random.default_rng(2)
    true = rng.random(400) * 0.4
    declared = np.clip(true * rng.choice([0.1, 10.0], 400), 0.001, 0.999)
    knowledge = Knowledge(declared, np.ones(400), half_life=200)
    seen = np.where(np.arange(400) < 300, 100, 0)
    held = rng.binomial(seen, true)
    nothing = np.zeros(400, np.int64)
    knowledge.learn(Evidence.tallied(100, seen, held, nothing, nothing, np.zeros(400), Trail.none()))
    off = np.abs(knowledge.selectivity() - true)
    assert off[:300].mean() < 0.05
    assert off[300:].mean() < 0.5 * np.abs(declared - true)[300:].mean()


def test_what_was_seen_long_ago_fades() -> None:
    knowledge = Knowledge(np.array([0.5]), np.ones(1), half_life=100)
    knowledge.learn(evidence(0, 1000, 0))
    assert knowledge.selectivity()[0] < 0.05
    knowledge.learn(evidence(0, 50, 50, events=1000))
    assert knowledge.selectivity()[0] > 0.8


def test_costs_are_learned_from_timings() -> None:
    planned = schedule("adaptive", Problem.of([[0, 1]], [0.3, 0.3], [1.0, 2.0]))
    assert isinstance(planned, Adaptive)
    run = planned.begin(100)
    asked = run.ask()
    assert asked.predicates.tolist() == [0]
    run.tell(asked.events, np.zeros(100, np.int32), np.zeros(100, np.int8))
    run.spent(0, evaluations=100, cost=700.0)
    assert len(run.ask()) == 0
    planned.learn(run.evidence())
    assert planned.knowledge.cost() == pytest.approx([704 / 104, 2.0])
    assert planned.begin(1).ask().predicates.tolist() == [1]


def test_unknown_truths_teach_nothing() -> None:
    knowledge = Knowledge(np.array([0.5, 0.5]), np.ones(2), half_life=100)
    before = knowledge.selectivity()
    trail = Trail(np.arange(101), np.zeros(100, np.int32), np.full(100, 2, np.int8))
    seen = Evidence.of(trail)
    assert seen.unknown.tolist() == [100]
    knowledge.learn(seen)
    assert (knowledge.selectivity() == before).all()


def without_kinds(problem: Problem) -> Adaptive:
    """An adaptive schedule that takes all predicates for independent."""
    planned = Adaptive(problem)
    planned.kinds.learn = lambda *_: None  # type: ignore[method-assign]
    return planned


def test_where_events_come_in_kinds_what_is_known_tells_what_to_expect() -> None:
    workload = expensive_operators(Parameters(2000, 500, kinds=4))
    knowing, unknowing = Adaptive(problem_of(workload)), without_kinds(problem_of(workload))
    for planned in (knowing, unknowing):
        counted(planned, batches(workload, 600), workload.cost)
    assert knowing.kinds.useful
    after = workload.truths(200, first=600)
    mine, theirs = (planned.run(after).trail.lengths.mean() for planned in (knowing, unknowing))
    assert mine < 0.96 * theirs


def test_where_predicates_are_independent_no_kinds_are_made_up() -> None:
    workload = expensive_operators(Parameters(2000, 500))
    planned = Adaptive(problem_of(workload))
    counted(planned, batches(workload, 600), workload.cost)
    assert not planned.kinds.useful
    assert len(planned.expectation().weights) == 1


def test_evidence_of_workers_adds_up() -> None:
    first, second = evidence(0, 10, 4, events=5), evidence(2, 7, 7, events=2)
    both = first + second + first
    assert both.events == 12
    assert both.predicates.tolist() == [0, 2]
    assert both.evaluated.tolist() == [20, 7]
    assert both.held.tolist() == [8, 7]
