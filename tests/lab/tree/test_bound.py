"""Nodes visited and nodes held stay under what P1 proves, and each optimisation saves some."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from tamis.lab.tree.matcher import TreeMatcher
from tamis.lab.tree.tree import TreeOptions
from tamis.workloads import Workload
from tamis.workloads.papers import ATTRIBUTES, exponent, gryphon, gryphon_hard, index_attributes, visits_bound
from tests.lab.tree.subject import matches, subscriptions_of

SIZES = (1000, 10_000, 100_000)
MILLION = 1_000_000
EVENTS = 300
PLAIN = TreeOptions(collapse=False, successors=False)
KINDS = {"random": gryphon, "hard": gryphon_hard}

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@cache
def _measured(kind: Callable[..., Workload], size: int, options: TreeOptions) -> tuple[float, int, int]:
    """Nodes visited by an event on average, nodes, edges."""
    workload = kind(size, EVENTS)
    matcher = TreeMatcher.build(subscriptions_of(workload), workload.schema, None, options)
    visited = matches(matcher, workload.events, workload.schema).work.nodes / EVENTS
    return visited, matcher.tree.count, matcher.tree.edges


@every_kind
@pytest.mark.parametrize("size", SIZES)
def test_uniform_events_visit_fewer_nodes_than_the_bound(kind: Callable[..., Workload], size: int) -> None:
    assert _measured(kind, size, PLAIN)[0] < visits_bound(size)


@every_kind
def test_visits_grow_with_a_smaller_power_than_the_bound(kind: Callable[..., Workload]) -> None:
    visits = [_measured(kind, size, PLAIN)[0] for size in SIZES]
    slope = np.polyfit(np.log(SIZES), np.log(visits), 1)[0]
    assert 0.3 < slope <= exponent()


@pytest.mark.slow
@every_kind
def test_a_million_subscriptions_keep_to_the_bound_and_to_its_growth(kind: Callable[..., Workload]) -> None:
    sizes = (*SIZES, MILLION)
    measured = [_measured(kind, size, PLAIN) for size in sizes]
    for size, (visits, nodes, edges) in zip(sizes, measured, strict=True):
        assert visits < visits_bound(size)
        assert nodes <= size * ATTRIBUTES + 1
        assert edges == nodes - 1
    every = [visits for visits, _, _ in measured]
    assert np.polyfit(np.log(sizes), np.log(every), 1)[0] <= exponent()
    # From one size to ten times that it slows down: the largest step is the first.
    assert np.diff(np.log(every)).argmax() == 0


@every_kind
@pytest.mark.parametrize("size", SIZES)
def test_a_tree_has_no_more_nodes_than_subscriptions_times_attributes(kind: Callable[..., Workload], size: int) -> None:
    _, nodes, edges = _measured(kind, size, PLAIN)
    assert nodes <= size * ATTRIBUTES + 1
    assert edges == nodes - 1


@every_kind
def test_each_optimisation_saves_visits(kind: Callable[..., Workload]) -> None:
    plain, collapsed = _measured(kind, 10_000, PLAIN), _measured(kind, 10_000, TreeOptions(successors=False))
    annotated = _measured(kind, 10_000, TreeOptions())
    factored = _measured(kind, 10_000, TreeOptions(factor=index_attributes(2)))
    assert collapsed[0] < plain[0] / 3
    assert collapsed[1] < plain[1] / 5
    assert annotated[0] < 0.98 * collapsed[0]
    assert annotated[1] == collapsed[1]
    assert factored[0] < 0.9 * annotated[0]
    assert factored[1] > annotated[1]


def test_the_bound_is_as_p1_states_it() -> None:
    assert exponent(30, 5) == pytest.approx(np.log(31) / np.log(155))
    assert visits_bound(1) == pytest.approx(155 * 30 * np.log(155) / (154 * np.log(31)))
