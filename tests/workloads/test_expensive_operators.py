"""The generator of Liu et al. gives what its table says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tamis.workloads.expensive_operators import Parameters, expensive_operators, figure


def chance_of_matching(workload: Any) -> Any:
    return np.multiply.reduceat(workload.selectivity[workload.members], workload.offsets[:-1])


@pytest.mark.parametrize("alpha", [None, 0.8, 1.2])
@pytest.mark.parametrize("selectivities", ["own", "whole", "equal"])
def test_subscriptions_and_selectivities_are_as_the_table_says(alpha: float | None, selectivities: Any) -> None:
    workload = expensive_operators(Parameters(3000, 400, alpha, longest=7, selectivities=selectivities))
    lengths = np.diff(workload.offsets)
    assert np.bincount(lengths)[3:].min() > 0.8 * 3000 / 5
    assert (lengths.min(), lengths.max()) == (3, 7)
    for s in range(100):
        wanted = workload.members[workload.offsets[s] : workload.offsets[s + 1]]
        assert len(np.unique(wanted)) == len(wanted)
    assert chance_of_matching(workload).mean() == pytest.approx(0.002)
    assert ((workload.selectivity >= 0) & (workload.selectivity <= 1)).all()
    assert (len(np.unique(workload.selectivity)) == 1) == (selectivities == "equal")


def test_the_same_seed_gives_the_same_workload_and_any_event_of_it() -> None:
    first, second, other = (expensive_operators(Parameters(100, 50, seed=seed)) for seed in (4, 4, 5))
    assert (first.members == second.members).all()
    assert len(first.members) != len(other.members) or (first.members != other.members).any()
    assert (first.truths(10)[7:] == second.truths(3, first=7)).all()
    assert (first.truths(10) != other.truths(10)).any()


def test_popularity_follows_zipf_and_numbers_say_nothing_of_it() -> None:
    workload = expensive_operators(Parameters(20_000, 1000, alpha=1.0))
    popularity = np.bincount(workload.members, minlength=1000)
    ordered = np.sort(popularity)[::-1]
    assert ordered[0] / ordered[9] == pytest.approx(10, rel=0.35)  # a subscription has the first at most once
    assert ordered[9] / ordered[99] == pytest.approx(10, rel=0.2)
    assert abs(np.corrcoef(np.arange(1000), popularity)[0, 1]) < 0.15
    first = workload.members[workload.offsets[:-1]]
    assert popularity[first].mean() == pytest.approx(popularity[workload.members].mean(), rel=0.05)


def test_predicates_hold_as_often_as_their_selectivities_say() -> None:
    for kinds in (1, 4):
        workload = expensive_operators(Parameters(500, 300, kinds=kinds))
        held = workload.truths(2000).mean(axis=0)
        assert np.abs(held - workload.selectivity).max() < 0.06


def test_with_kinds_predicates_of_one_kind_hold_together() -> None:
    truths = expensive_operators(Parameters(500, 300, kinds=4)).truths(1000).astype(float)
    together = np.corrcoef(truths[:, 0::4].mean(axis=1), truths[:, 4::8].mean(axis=1))[0, 1]
    apart = np.corrcoef(truths[:, 0::4].mean(axis=1), truths[:, 1::4].mean(axis=1))[0, 1]
    assert together > 0.8
    assert apart < 0


def test_figures_have_the_paper_s_ends() -> None:
    assert [figure(4)[i].subscriptions for i in (0, -1)] == [2_000, 80_000]
    assert {p.predicates for p in figure(5)} == {40_000}
    assert [figure(6)[i].predicates for i in (0, -1)] == [2_000, 30_000]
    assert [p.longest for p in figure(7)] == [5, 7, 9, 11]
    assert [p.alpha for p in figure(8)] == [None, 0.8, 1.0, 1.2]
    assert {p.seed for p in figure(8, seed=3)} == {3}
