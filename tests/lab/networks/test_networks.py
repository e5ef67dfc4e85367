"""Whatever the network, a message comes to those it is for, to each once, over links that there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.lab.networks.links import ROOT, LinkNetwork, Regions
from tamis.lab.networks.zones import ZoneNetwork
from tests.generated import cases
from tests.lab.networks.spaces import NETWORKS, delivered, drawn_parents, drawn_points, drawn_regions, network_of


@pytest.mark.parametrize("kind", NETWORKS)
@settings(max_examples=cases(50), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(0, 40), ranges=st.integers(1, 2), nodes=st.integers(1, 25))
def test_messages_come_to_whom_they_are_for(kind: str, seed: int, count: int, ranges: int, nodes: int) -> None:
    rng = np.random.default_rng(seed)
    points = drawn_points(rng, count, ranges)
    regions = drawn_regions(rng, 12, ranges)
    network = network_of(kind, rng, points, nodes)
    for region in range(len(regions)):
        tree = network.spread(regions, region)
        somewhere = regions.hold(region, points) & (network.node_of >= 0)
        assert delivered(network, regions, region, tree) == np.flatnonzero(somewhere).tolist()
        assert len(set(tree.node.tolist())) == len(tree)
        assert tree.node[0] == network.home
        assert tree.parent[0] == ROOT
        assert (tree.parent[1:] < np.arange(1, len(tree))).all()
        assert (tree.parent[1:] >= 0).all()


@settings(max_examples=cases(50), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(0, 40), ranges=st.integers(1, 2), nodes=st.integers(1, 25))
def test_zones_hand_messages_to_neighbours_only(seed: int, count: int, ranges: int, nodes: int) -> None:
    rng = np.random.default_rng(seed)
    network = ZoneNetwork(drawn_points(rng, count, ranges), nodes)
    regions = drawn_regions(rng, 12, ranges)
    low, high = network.zones
    for region in range(len(regions)):
        tree = network.spread(regions, region)
        for place in range(1, len(tree)):
            sender, receiver = int(tree.node[tree.parent[place]]), int(tree.node[place])
            assert network.neighbours(sender)[tree.link[place]] == receiver
            overlap = (low[sender] < high[receiver]) & (low[receiver] < high[sender])
            assert overlap.sum() == 2 * ranges - 1


@settings(max_examples=cases(50), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(0, 60), nodes=st.integers(1, 30))
def test_zones_are_a_partition_of_the_space(seed: int, count: int, nodes: int) -> None:
    rng = np.random.default_rng(seed)
    points = drawn_points(rng, count, 2)
    network = ZoneNetwork(points, nodes)
    low, high = network.zones
    assert np.prod(high - low, axis=1).sum() == pytest.approx(np.prod(high.max(axis=0) - low.min(axis=0)))
    assert network.node_at(points).tolist() == network.node_of.tolist()


def test_splits_balance_the_load() -> None:
    points = drawn_points(np.random.default_rng(1), 20_000, 2, domain=100_000)
    network = ZoneNetwork(points, 64)
    loads = np.diff(network.first)
    assert loads.max() <= 2 * loads.mean()


def test_a_region_of_ranges_that_hold_a_value_is_left_by_no_message() -> None:
    """The home's zone is in the region, so nobody outside is needed on the way."""
    rng = np.random.default_rng(2)
    points = drawn_points(rng, 2_000, 2, domain=1_000)
    network = ZoneNetwork(points, 50)
    inf = float("inf")
    regions = Regions.of(4, [[([-inf, v, -inf, c], [v, inf, c, inf])] for v, c in rng.uniform(0, 1_000, (20, 2))])
    low, high = network.zones
    for region in range(len(regions)):
        tree = network.spread(regions, region)
        touched = ((low <= regions.high[region]) & (high > regions.low[region])).all(axis=1)
        assert sorted(tree.node.tolist()) == np.flatnonzero(touched).tolist()


@settings(max_examples=cases(50), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(0, 40), nodes=st.integers(1, 25))
def test_exact_links_carry_nothing_that_nobody_behind_them_wants(seed: int, count: int, nodes: int) -> None:
    rng = np.random.default_rng(seed)
    points, parents = drawn_points(rng, count, 2), drawn_parents(rng, nodes)
    network = LinkNetwork(points, rng.integers(0, nodes, count), parents, leaves=None)
    regions = drawn_regions(rng, 12, 2)
    for region in range(len(regions)):
        needed = {network.home}
        for node in network.node_of[regions.hold(region, points)].tolist():
            while node != ROOT:
                needed.add(node)
                node = int(parents[node])
        assert set(network.spread(regions, region).node.tolist()) == needed


def test_links_in_a_circle_are_refused() -> None:
    with pytest.raises(ValueError, match="circle"):
        LinkNetwork(np.zeros((0, 2)), np.zeros(0, np.int64), np.array([ROOT, 2, 1]))


def test_points_that_weigh_more_get_smaller_zones() -> None:
    points = drawn_points(np.random.default_rng(3), 4_000, 1, domain=100_000)
    heavy = points[:, 0] < 20_000
    alike, weighed = (ZoneNetwork(points, 40, load=np.where(heavy, weight, 1.0)) for weight in (1.0, 50.0))
    assert len(set(weighed.node_of[heavy].tolist())) > 1.5 * len(set(alike.node_of[heavy].tolist()))
