"""Topologies are connected, the same for the same seed, and look like the Internet's."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.lab.networks.links import ROOT
from tamis.lab.simulation.simulation import internet_like, overlay_of


@pytest.mark.parametrize("nodes", [1, 2, 3, 50, 2_000])
def test_every_node_can_be_reached(nodes: int) -> None:
    graph = internet_like(nodes, seed=3)
    assert (graph.hops(np.array([0])) >= 0).all()
    both = {(n, int(o)) for n in range(nodes) for o in graph.neighbour[graph.first[n] : graph.first[n + 1]]}
    assert {(b, a) for a, b in both} == both
    assert all(a != b for a, b in both)
    assert len(both) == 2 * graph.links


def test_degrees_follow_a_power_law() -> None:
    degrees = internet_like(5_000, seed=1).degrees
    shares = [(degrees >= k).mean() for k in (2, 4, 8, 16)]
    slopes = np.diff(np.log(shares)) / np.log(2)
    assert np.all((slopes > -1.8) & (slopes < -0.7)), slopes
    assert degrees.max() > 100


def test_the_same_seed_gives_the_same_graph() -> None:
    one, same, other = (internet_like(300, seed) for seed in (5, 5, 6))
    assert one.neighbour.tolist() == same.neighbour.tolist()
    assert one.neighbour.tolist() != other.neighbour.tolist()


def test_the_tree_of_an_overlay_has_bounded_fan_out() -> None:
    overlay = overlay_of(50, 300, 2, 4)
    assert overlay.parents[0] == ROOT
    assert (overlay.parents[1:] < np.arange(1, 50)).all()
    assert np.bincount(overlay.parents[1:]).max() <= 4
    assert (overlay.hops == overlay.hops.T).all()
    assert (np.diag(overlay.hops) == 0).all()
