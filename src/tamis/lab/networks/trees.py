"""The way of one message through a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tamis.arrays import Floats, Int64s
from tamis.lab.networks.regions import Regions

ROOT = -1


class Way(NamedTuple):
    """Room for one message's tree, for kernels: the first so many entries are those of the last message.

    The message comes to node `node[k]` from the node at place `parent[k]`, which stands before it, over its link number
    `link[k]`. Place 0 is the home, where messages come in: its parent is ROOT. `seen[n]` is the stamp of the last
    message that came to node n, `place[n]` where it stands in that one's tree; `stamp[0]` counts messages.
    """

    node: npt.NDArray[np.int64]
    parent: npt.NDArray[np.int64]
    link: npt.NDArray[np.int64]
    seen: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]
    stack: npt.NDArray[np.int64]
    stamp: npt.NDArray[np.int64]


def way_for(nodes: int) -> Way:
    """Room for trees of at most so many nodes."""
    node, parent, link, seen, place = (np.zeros(max(1, nodes), np.int64) for _ in range(5))
    return Way(node, parent, link, seen, place, np.zeros(4 * nodes + 64, np.int64), np.zeros(1, np.int64))


@dataclass(frozen=True)
class Tree:
    """The way of one message, as `Way` has it, with nothing behind its end. Every node stands in it once."""

    node: Int64s
    parent: Int64s
    link: Int64s

    def __len__(self) -> int:
        return len(self.node)


class Network(Protocol):
    """Nodes with subscriptions, and the way that each message takes.

    Subscriptions stand in the order of their nodes: those of node n are `points[first[n]:first[n + 1]]`, and
    `numbers` says which each of them was. `node_of[s]` is the node of subscription number s, -1 if it has none.
    """

    home: int
    nodes: int
    links: int
    """The most links that a node has."""
    points: Floats
    numbers: Int64s
    first: Int64s
    node_of: Int64s

    @property
    def arrays(self) -> Any:
        """Arrays for the network's own kernel."""

    def spread(self, regions: Regions, region: int) -> Tree:
        """The way of a message for a region."""


def by_node(points: Floats, node_of: Int64s, nodes: int) -> tuple[Floats, Int64s, Int64s]:
    """Points in the order of their nodes, their numbers, and where each node's begin; those without a node left out."""
    order = np.argsort(node_of, kind="stable")
    order = order[node_of[order] >= 0]
    first = np.searchsorted(node_of[order], np.arange(nodes + 1)).astype(np.int64)
    return np.ascontiguousarray(points[order]), order.astype(np.int64), first


def tree_of(way: Way, count: int) -> Tree:
    return Tree(*(part[:count].copy() for part in (way.node, way.parent, way.link)))
