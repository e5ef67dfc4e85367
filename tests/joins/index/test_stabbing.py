"""The stabbing-set index beside a look at every member, while members come and go."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.arrays import Floats, Int64s
from tamis.joins.index.stabbing import StabbingIndex
from tamis.joins.index.stabbing_kernels import FOUND, between, maybe_between, reaching
from tests.generated import cases

NAN = float("nan")


class Members:
    """The members there are, plainly."""

    def __init__(self, rng: np.random.Generator, count: int) -> None:
        low = rng.integers(0, 60, (count, 2)).astype(float)
        high = low + rng.integers(-1, 20, (count, 2)).astype(float)
        open_low, open_high = rng.random((count, 2)) < 0.05, rng.random((count, 2)) < 0.05
        low[open_low], high[open_high] = -np.inf, np.inf
        self.low, self.high = low, high
        self.there = np.zeros(count, np.bool_)

    def add(self, index: StabbingIndex, numbers: Int64s) -> None:
        low, high = self.low[numbers], self.high[numbers]
        index.add(numbers, (low[:, 0], high[:, 0]), (low[:, 1], high[:, 1]))
        self.there[numbers] = True

    def remove(self, index: StabbingIndex, numbers: Int64s) -> None:
        index.remove(numbers)
        self.there[numbers] = False

    def alive(self) -> Int64s:
        return np.flatnonzero(self.there & (self.low <= self.high).all(axis=1))

    def between(self, below: float, above: float, reached: float) -> set[int]:
        chosen = []
        for k in self.alive():
            low, high = self.low[k, 0], self.high[k, 0]
            if not low <= below and not high >= above and (np.isnan(reached) or low <= reached <= high):
                chosen.append(int(k))
        return set(chosen)

    def reaching(self, points: Floats, base: float) -> set[int]:
        return {
            int(k)
            for k in self.alive()
            if self.low[k, 1] <= base <= self.high[k, 1]
            and ((self.low[k, 0] <= points) & (points <= self.high[k, 0])).any()
        }


def check(index: StabbingIndex, members: Members, rng: np.random.Generator) -> None:
    found = np.zeros(len(members.low) + 1, FOUND).view(np.recarray)
    for _ in range(6):
        below, above = np.sort(rng.integers(-2, 70, 2)).astype(float)
        reached = float(rng.integers(int(below), int(above) + 1))
        for bounds in ((below, above, reached), (NAN, above, reached), (below, NAN, reached), (below, above, NAN)):
            expected = members.between(*bounds)
            count = between(index.arrays, *bounds, found, len(found))
            assert sorted(found["number"][:count].tolist()) == sorted(expected)
            assert (found["low"][:count] == members.low[found["number"][:count], 1]).all()
            assert (found["high"][:count] == members.high[found["number"][:count], 1]).all()
            assert between(index.arrays, *bounds, found, 1) == min(1, len(expected))
            assert maybe_between(index.arrays, bounds[0], bounds[1]) or not expected
        points = np.unique(rng.integers(-2, 70, rng.integers(0, 8))).astype(float)
        base = float(rng.integers(0, 60))
        count = reaching(index.arrays, points, len(points), base, NAN, found)
        assert sorted(found["number"][:count].tolist()) == sorted(members.reaching(points, base))
        assert (found["low"][:count] == members.low[found["number"][:count], 0]).all()


@settings(max_examples=cases(30), deadline=None)
@given(seed=st.integers(0, 1 << 32), first=st.sampled_from([0, 40, 300]))
def test_members_that_come_and_go_are_found_as_if_looked_for_one_by_one(seed: int, first: int) -> None:
    rng = np.random.default_rng(seed)
    members, index = Members(rng, 500), StabbingIndex()
    members.add(index, np.arange(first))
    for _ in range(8):
        out = np.flatnonzero(~members.there)
        members.add(index, rng.permutation(out)[: rng.integers(0, 12)])
        members.remove(index, rng.permutation(np.flatnonzero(members.there))[: rng.integers(0, 12)])
        assert len(index) == len(members.alive())
        check(index, members, rng)


@settings(max_examples=cases(30), deadline=None)
@given(seed=st.integers(0, 1 << 32), count=st.integers(1, 80))
def test_anchors_stab_their_members_and_there_are_no_more_than_needed(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    members, index = Members(rng, count), StabbingIndex()
    members.add(index, np.arange(count))
    for k in members.alive():
        assert members.low[k, 0] <= index.cluster_of(int(k)) <= members.high[k, 0]
    # As many intervals as there are clusters lie apart from each other: each needs a point of its own.
    apart, last = 0, -np.inf
    for k in sorted(members.alive(), key=lambda k: members.high[k, 0]):
        if members.low[k, 0] > last or apart == 0:
            apart, last = apart + 1, members.high[k, 0]
    assert index.clusters == apart


def test_many_new_clusters_lead_to_a_new_partition() -> None:
    index = StabbingIndex()
    wide = np.arange(400)
    index.add(wide, (np.zeros(400), np.full(400, 1000.0)), (np.zeros(400), np.ones(400)))
    assert index.clusters == 1
    for number in range(400, 500):
        at = np.array([float(number)])
        index.add(np.array([number]), (at, at), (np.zeros(1), np.ones(1)))
    assert index.clusters == 100
    index.remove(np.arange(400, 500))
    assert index.clusters <= 101
    index.remove(wide)
    assert (len(index), index.clusters) == (0, 0)


@pytest.mark.parametrize("empty", [(np.array([2.0]), np.array([1.0])), (np.array([np.inf]), np.array([-np.inf]))])
def test_empty_intervals_are_nobodys(empty: tuple[Floats, Floats]) -> None:
    index = StabbingIndex()
    index.add(np.array([0]), empty, (np.zeros(1), np.ones(1)))
    index.remove(np.array([0]))
    assert len(index) == 0
