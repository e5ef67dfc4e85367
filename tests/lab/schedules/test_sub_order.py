"""Chains, what it saves to evaluate one before another, and the order that comes of it."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.lab.schedules.sub_order import SubOrder, difference, ranks
from tamis.operators.schedules import Evidence, Problem
from tamis.operators.schedules.graph import Graph
from tamis.operators.schedules.running import Trail
from tests.operators.schedules.generated import members, problems


def cost_in_order(chains: list[list[int]], problem: Problem) -> float:
    """The expected cost of evaluating chains one after the other, each to its first failure, by what can happen."""

    def walk(rest: list[list[int]], known: dict[int, bool]) -> float:
        for number, chain in enumerate(rest):
            if any(known.get(t) is False for t in chain):
                continue
            for t in chain:
                if t not in known:
                    chance = problem.selectivity[t]
                    later = [(c, walk(rest[number:], known | {t: v})) for v, c in ((True, chance), (False, 1 - chance))]
                    return float(problem.cost[t]) + sum(c * each for c, each in later)
        return 0.0

    return walk(chains, {})


@pytest.mark.parametrize("function", [difference, difference.py_func], ids=["compiled", "interpreted"])
@given(data=st.data(), problem=problems())
def test_the_cost_difference_for_k_links_is_exact(function: Any, data: Any, problem: Problem) -> None:
    place = ranks(problem.selectivity, problem.cost)
    pair = [sorted(data.draw(members(problem.predicates)), key=lambda t: int(place[t])) for _ in range(2)]
    rows = Graph(Problem.of(pair, problem.selectivity, problem.cost)).members.rows
    gain, first = function(rows, place, problem.cost, problem.selectivity, 0, 1)
    assert gain == pytest.approx(cost_in_order(pair, problem) - cost_in_order(pair[::-1], problem), abs=1e-9)
    shared = [t for t in pair[0] if t in pair[1]]
    assert first == (shared[0] if shared else -1)


def test_one_link_is_the_paper_s_formula() -> None:
    # (1 - p) (P2 C1 - P1 C2), the link being second in one chain and third in the other.
    problem = Problem.of([[0, 4, 5], [1, 2, 4]], [0.1, 0.2, 0.3, 0.35, 0.5, 0.6])
    place = ranks(problem.selectivity, problem.cost)
    gain, _ = difference(Graph(problem).members.rows, place, problem.cost, problem.selectivity, 0, 1)
    assert gain == pytest.approx(0.5 * (0.2 * 0.3 * 1 - 0.1 * (1 + 0.2)))


@given(problem=problems(least=1))
def test_a_chain_is_in_its_best_order(problem: Problem) -> None:
    planned = SubOrder(problem)
    chain = planned.graph.members[0].tolist()
    best = min(cost_in_order([list(order)], problem) for order in permutations(chain))
    assert cost_in_order([chain], problem) == pytest.approx(best, abs=1e-6)


def test_with_equal_costs_chains_are_by_rising_selectivity() -> None:
    planned = SubOrder(Problem.of([[0, 1, 2, 3]], [0.4, 0.1, 1.0, 0.3]))
    assert planned.graph.members[0].tolist() == [1, 3, 0, 2]


def test_the_chain_that_comes_to_the_link_sooner_is_first() -> None:
    # Both share 2: it heads the second chain, and comes after a cheap failure in the first.
    planned = SubOrder(Problem.of([[0, 2], [2, 3]], [0.1, 0.5, 0.2, 0.6]))
    assert planned.order.listed().tolist() == [1, 0]


@given(problem=problems(least=2, most=2))
def test_two_chains_are_in_the_better_order(problem: Problem) -> None:
    planned = SubOrder(problem)
    chains = [planned.graph.members[n].tolist() for n in planned.order.listed()]
    assert cost_in_order(chains, problem) <= cost_in_order(chains[::-1], problem) + 1e-6


@given(data=st.data(), problem=problems(least=1, most=4))
def test_a_new_chain_goes_where_it_costs_least_beside_its_neighbours(data: Any, problem: Problem) -> None:
    planned = SubOrder(problem)
    before = planned.order.listed().tolist()
    new = planned.insert(data.draw(members(problem.predicates)))
    after = planned.order.listed().tolist()
    assert [n for n in after if n != new] == before

    def gain(one: int, other: int) -> float:
        chains = [planned.graph.members[n].tolist() for n in (one, other)]
        return cost_in_order(chains, _believed(planned)) - cost_in_order(chains[::-1], _believed(planned))

    def more(place: int) -> float:
        left, right = before[place - 1 : place] if place else [], before[place : place + 1]
        total = sum(gain(one, new) for one in left) + sum(gain(new, other) for other in right)
        return total - (gain(left[0], right[0]) if left and right else 0.0)

    chosen = more(after.index(new))
    looked_at = [p for p in range(len(before) + 1) if _shares(planned, new, before[max(0, p - 1) : p + 1])]
    assert chosen <= min(more(place) for place in [*looked_at, len(before)]) + 1e-6


def _believed(planned: SubOrder) -> Problem:
    return Problem.of([], planned.selectivity, planned.cost)


def _shares(planned: SubOrder, number: int, others: list[int]) -> bool:
    mine = set(planned.graph.members[number].tolist())
    return any(mine & set(planned.graph.members[other].tolist()) for other in others)


def test_what_is_learned_counts_once_the_order_is_planned_anew() -> None:
    planned = SubOrder(Problem.of([[0, 1]], [0.2, 0.3]))
    assert planned.graph.members[0].tolist() == [0, 1]
    evaluations = np.tile(np.array([0, 1], np.int32), 500)
    trail = Trail(np.arange(0, 1001, 2), evaluations, (evaluations == 0).astype(np.int8))
    planned.learn(Evidence.of(trail))
    assert planned.graph.members[0].tolist() == [0, 1]
    planned.replan()
    assert planned.graph.members[0].tolist() == [1, 0]


def shown(planned: SubOrder, truths: list[int], events: int) -> None:
    """Learns from events in which every predicate was evaluated, and had this truth."""
    evaluations = np.tile(np.arange(len(truths), dtype=np.int32), events)
    offsets = np.arange(0, len(evaluations) + 1, len(truths))
    planned.learn(Evidence.of(Trail(offsets, evaluations, np.array(truths, np.int8)[evaluations])))


def test_the_order_is_planned_anew_once_beliefs_have_moved() -> None:
    planned = SubOrder(Problem.of([[0, 1]], [0.5, 0.5]))
    assert not planned.reconsider()
    shown(planned, [1, 0], 64)
    assert planned.reconsider()
    assert planned.graph.members[0].tolist() == [1, 0]
    shown(planned, [1, 0], 64)
    planned.reconsider()
    shown(planned, [1, 0], 64)
    assert not planned.reconsider()


def test_the_order_stays_where_events_confirm_it() -> None:
    planned = SubOrder(Problem.of([[0, 1]], [0.001, 0.9]))
    for _ in range(5):
        shown(planned, [0], 200)
        assert not planned.reconsider()


def test_planning_waits_until_evaluations_have_paid_for_it() -> None:
    """What it takes to plan grows with the subscriptions; what pays for it is what evaluations cost."""
    few, many = [[0, 1]], [[0, 1]] * 20_000
    for subscriptions, cost, events in ((few, 0.001, 3_000), (few, 10.0, 4), (many, 0.001, 200_000), (many, 10.0, 200)):
        planned, seen = SubOrder(Problem.of(subscriptions, [0.5, 0.5], [cost, cost])), 0
        while not planned.reconsider():
            shown(planned, [1, 0], max(1, events // 10))
            seen += max(1, events // 10)
        assert events / 4 < seen <= events, (len(subscriptions), cost, seen)


def test_planning_keeps_every_subscription_once() -> None:
    rng = np.random.default_rng(3)
    subscriptions = [rng.choice(30, 4, replace=False).tolist() for _ in range(3000)]  # lists longer than are compared
    planned = SubOrder(Problem.of(subscriptions, rng.random(30) * 0.4))
    assert sorted(planned.order.listed().tolist()) == list(range(3000))
