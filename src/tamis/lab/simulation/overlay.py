"""Nodes of a dissemination network on a topology."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tamis.lab.networks.regions import Integers
from tamis.lab.networks.trees import ROOT
from tamis.lab.simulation.topology import NODES, internet_like

OVERLAY = 1_000
FAN_OUT = 8


@dataclass(frozen=True)
class Overlay:
    """So many nodes of a topology; node 0 is the server's.

    `hops[a, b]` are links of the topology between two of them. `parents` is a tree for networks whose links are chosen:
    each node joined at the nearest node that was there and had not its full number of links.
    """

    hops: Integers
    parents: Integers

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
