"""An Internet-like graph: few nodes with very many links, very many with few."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tamis.arrays import Int64s
from tamis.lab.networks.links import ROOT
from tamis.lab.simulation.spaces import hops_from

EXPONENT = 2.2
"""Of the power law of degrees, as INET takes it from the Internet's autonomous systems."""
NODES = 20_000


@dataclass(frozen=True)
class Topology:
    """A connected graph without direction: the neighbours of node n are `neighbour[first[n]:first[n + 1]]`."""

    first: Int64s
    neighbour: Int64s

    @property
    def nodes(self) -> int:
        return len(self.first) - 1

    @property
    def links(self) -> int:
        return len(self.neighbour) // 2

    @property
    def degrees(self) -> Int64s:
        return np.diff(self.first)

    def hops(self, starts: Int64s) -> Int64s:
        """Number of links between each of the starts and each node, on a shortest way."""
        found = np.empty((len(starts), self.nodes), np.int64)
        queue = np.empty(self.nodes, np.int64)
        for place, start in enumerate(starts.tolist()):
            hops_from(self.first, self.neighbour, start, found[place], queue)
        return found


def internet_like(nodes: int = NODES, seed: int = 1, exponent: float = EXPONENT) -> Topology:
    """So many nodes whose degrees follow a power law, linked in the manner of INET.

    Degrees are drawn first. Nodes join in the order of their degrees, each by a link to one that is there, in
    proportion to the links it has still to get; what is left then is paired at random. Links that would be there twice,
    or lead back to their node, are left out.
    """
    rng = np.random.default_rng([seed, 20])
    degrees = _degrees(rng, nodes, exponent)
    left = degrees.copy()
    stubs = np.repeat(np.arange(nodes), degrees)
    ends = np.cumsum(degrees)
    pairs: list[tuple[int, int]] = []
    for node in range(1, nodes):
        other = -1
        for _ in range(64):
            drawn = int(stubs[rng.integers(ends[node - 1])])
            if left[drawn] > 0:
                other = drawn
                break
        if other < 0:
            open_ones = np.flatnonzero(left[:node] > 0)
            other = int(rng.choice(open_ones)) if len(open_ones) else int(rng.integers(node))
        left[other] -= 1
        left[node] -= 1
        pairs.append((node, other))
    rest = rng.permutation(np.repeat(np.arange(nodes), np.maximum(0, left)))
    rest = rest[: len(rest) // 2 * 2].reshape(-1, 2)
    links = np.concatenate([np.array(pairs, np.int64).reshape(-1, 2), rest])
    links = np.unique(np.sort(links[links[:, 0] != links[:, 1]], axis=1), axis=0)
    both = np.concatenate([links, links[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    first = np.searchsorted(both[:, 0], np.arange(nodes + 1)).astype(np.int64)
    return Topology(first, np.ascontiguousarray(both[:, 1]))


def _degrees(rng: np.random.Generator, nodes: int, exponent: float) -> Int64s:
    """Degrees in descending order."""
    most = max(2, nodes // 10)
    weights = np.arange(1, most + 1) ** -exponent
    drawn = np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(nodes)) + 1
    return np.sort(np.minimum(drawn, most))[::-1].astype(np.int64)


# Nodes of a dissemination network on a topology.

OVERLAY = 1_000
FAN_OUT = 8


@dataclass(frozen=True)
class Overlay:
    """So many nodes of a topology; node 0 is the server's.

    `hops[a, b]` are links of the topology between two of them. `parents` is a tree for networks whose links are chosen:
    each node joined at the nearest node that was there and had not its full number of links.
    """

    hops: Int64s
    parents: Int64s

    @property
    def nodes(self) -> int:
        return len(self.hops)


@lru_cache(maxsize=4)
def overlay_of(nodes: int = OVERLAY, topology: int = NODES, seed: int = 1, fan_out: int = FAN_OUT) -> Overlay:
    """Nodes drawn from an Internet-like topology, the same for the same seed."""
    graph = internet_like(max(topology, nodes), seed)
    rng = np.random.default_rng([seed, 21])
    places = rng.choice(graph.nodes, nodes, replace=False)
    hops = graph.hops(places)[:, places]
    parents = np.full(nodes, ROOT, np.int64)
    children = np.zeros(nodes, np.int64)
    for node in range(1, nodes):  # their places were drawn in random order
        there = np.flatnonzero(children[:node] < fan_out)
        parent = int(there[np.argmin(hops[node, there])])
        parents[node] = parent
        children[parent] += 1
    return Overlay(hops, parents)
