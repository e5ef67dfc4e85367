"""Small spaces of subscriptions, regions in them, and both networks over them."""

from __future__ import annotations

import numpy as np

from tamis.arrays import Floats, Int64s
from tamis.lab.networks.links import ROOT, LinkNetwork, Network, Regions, SpreadTree
from tamis.lab.networks.zones import ZoneNetwork

NETWORKS = ("zones", "links", "links, summed up")


def drawn_points(rng: np.random.Generator, count: int, ranges: int, domain: int = 8) -> Floats:
    """Ranges on a small grid, so that ends fall on each other; some open, some the same."""
    low = rng.integers(0, domain, (count, ranges)).astype(float)
    high = low + rng.integers(0, domain // 2, low.shape)
    low[rng.random(low.shape) < 0.1], high[rng.random(high.shape) < 0.1] = -np.inf, np.inf
    low[rng.random(low.shape) < 0.05] = np.finfo(np.float64).min
    return np.stack([low, high], axis=2).reshape(count, 2 * ranges)


def drawn_regions(rng: np.random.Generator, count: int, ranges: int, domain: int = 8) -> Regions:
    """Boxes of the forms that messages have, and any others; some are empty, some regions have no box."""
    regions = []
    for _ in range(count):
        boxes = []
        for _ in range(rng.integers(0, 4)):
            low, high = np.full(2 * ranges, -np.inf), np.full(2 * ranges, np.inf)
            for k in range(ranges):
                value = float(rng.integers(-1, domain + 1))
                kind = rng.integers(0, 4)
                if kind <= 1:  # a range that holds the value
                    high[2 * k], low[2 * k + 1] = value, value
                if kind == 1:  # and none of its neighbours
                    low[2 * k], high[2 * k + 1] = value - rng.integers(0, 2), value + rng.integers(0, 2)
                if kind == 2:  # anything
                    low[2 * k : 2 * k + 2] = rng.integers(-1, domain, 2)
                    high[2 * k : 2 * k + 2] = low[2 * k : 2 * k + 2] + rng.integers(-1, 4, 2)
            boxes.append((low.tolist(), high.tolist()))
        regions.append(boxes)
    return Regions.of(2 * ranges, regions)


def drawn_parents(rng: np.random.Generator, nodes: int) -> Int64s:
    """A tree whose nodes are numbered at random."""
    numbers = rng.permutation(nodes)
    parents = np.full(nodes, ROOT, np.int64)
    for place in range(1, nodes):
        parents[numbers[place]] = numbers[rng.integers(place)]
    return parents


def network_of(kind: str, rng: np.random.Generator, points: Floats, nodes: int) -> Network:
    if kind == "zones":
        return ZoneNetwork(points, nodes)
    node_of = rng.integers(-1, nodes, len(points))
    return LinkNetwork(points, node_of, drawn_parents(rng, nodes), None if kind == "links" else 2)


def delivered(network: Network, regions: Regions, region: int, tree: SpreadTree) -> list[int]:
    """The subscriptions that get a message, once for each time that they do."""
    got: list[int] = []
    for node in tree.node.tolist():
        here = slice(int(network.first[node]), int(network.first[node + 1]))
        got += network.numbers[here][regions.hold(region, network.points[here])].tolist()
    return sorted(got)
