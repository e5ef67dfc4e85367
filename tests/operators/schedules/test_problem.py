"""What a problem must be, and the graph that is kept of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import TamisError
from tamis.lab.schedules.counting import Order
from tamis.operators.schedules import Problem, schedule
from tamis.operators.schedules.graph import Graph
from tests.operators.schedules.generated import members, problems


@pytest.mark.parametrize(
    ("subscriptions", "selectivity", "cost", "message"),
    [
        ([[0], []], [0.5], None, "subscription 1 has no predicate"),
        ([[0], [0, 1, 0]], [0.5, 0.5], None, "subscription 1 names a predicate twice"),
        ([[2]], [0.5, 0.5], None, "not among the 2"),
        ([[-1]], [0.5], None, "not among the 1"),
        ([[0]], [1.5], None, "from 0 to 1"),
        ([[0]], [0.5], [0.0], "above 0"),
        ([[0]], [0.5], [1.0, 2.0], "2 costs for 1 selectivities"),
    ],
)
def test_what_makes_no_sense_is_refused(subscriptions: Any, selectivity: Any, cost: Any, message: str) -> None:
    with pytest.raises(TamisError, match=message):
        Problem.of(subscriptions, selectivity, cost)


@pytest.mark.parametrize("wanted", [[], [0, 0], [7]])
def test_what_makes_no_sense_is_not_inserted(wanted: list[int]) -> None:
    for name in ("sequential", "sub-order", "adaptive"):
        planned = schedule(name, Problem.of([[0, 1]], [0.5, 0.5]))
        with pytest.raises(TamisError):
            planned.insert(wanted)
        assert planned.graph.count == 1


def test_what_is_not_there_is_not_deleted() -> None:
    graph = Graph(Problem.of([[0, 1]], [0.5, 0.5]))
    graph.delete(0)
    for number in (0, 1, -1):
        with pytest.raises(TamisError, match="no subscription"):
            graph.delete(number)


@given(data=st.data(), problem=problems())
def test_a_graph_has_both_directions(data: Any, problem: Problem) -> None:
    graph = Graph(problem)
    model = {s: set(problem.subscription(s).tolist()) for s in range(problem.subscriptions)}
    for _ in range(data.draw(st.integers(0, 12))):
        if model and data.draw(st.booleans()):
            number = data.draw(st.sampled_from(sorted(model)))
            graph.delete(number)
            del model[number]
        else:
            wanted = data.draw(members(problem.predicates))
            number = graph.insert(np.array(wanted, np.int32))
            assert graph.members[number].tolist() == wanted
            model[number] = set(wanted)
    assert graph.numbers().tolist() == sorted(model)
    assert graph.count == len(model)
    for predicate in range(graph.predicates):
        wanting = sorted(graph.subscribers[predicate].tolist())
        assert wanting == sorted(number for number, wanted in model.items() if predicate in wanted)
    offsets, listed = graph.as_lists()
    for number in range(graph.size):
        assert set(listed[offsets[number] : offsets[number + 1]].tolist()) == model.get(number, set())


@given(data=st.data(), count=st.integers(0, 6))
def test_an_order_is_a_list(data: Any, count: int) -> None:
    model = list(data.draw(st.permutations(range(count))))
    order = Order(np.array(model, np.int32), count)
    for number in range(count, count + data.draw(st.integers(0, 12))):
        if model and data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(model))
            order.remove(gone)
            model.remove(gone)
        after = data.draw(st.sampled_from([None, -1, *model]))
        order.insert(number, after)
        model.insert(len(model) if after is None else 0 if after == -1 else model.index(after) + 1, number)
        if data.draw(st.booleans()):
            assert order.listed().tolist() == model
    assert order.listed().tolist() == model
    assert order.rank()[model].tolist() == list(range(len(model)))
