"""A tree of nodes whose links know the ranges behind them."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tamis.lab.networks.link_kernels import Links, spread
from tamis.lab.networks.regions import Floats, Integers, Regions
from tamis.lab.networks.summaries import summary
from tamis.lab.networks.trees import ROOT, Tree, Way, by_node, tree_of, way_for

LEAVES = 256


class LinkNetwork:
    """Nodes in a tree; each link has a filter, at most so many boxes around the subscriptions behind it.

    `parents[n]` is the node that hands messages to node n, ROOT for the home. Subscription s is at node `node_of[s]`,
    wherever its subscriber is; -1 is nowhere. Filters let through whatever is wanted behind them, and now and then
    something that is not: the fewer boxes, the more. With `leaves=None` they are exact. Nodes look at their own
    subscriptions one by one, so that no subscriber ever sees the difference.
    """

    def __init__(self, points: Floats, node_of: Integers, parents: Integers, leaves: int | None = LEAVES) -> None:
        self.nodes = len(parents)
        self.home = int(np.flatnonzero(parents == ROOT)[0])
        self.node_of = node_of
        self.points, self.numbers, self.first = by_node(points, node_of, self.nodes)
        order = np.argsort(parents, kind="stable")
        order = order[parents[order] != ROOT]
        first = np.searchsorted(parents[order], np.arange(self.nodes + 1)).astype(np.int64)
        self.links = int(np.diff(first).max(initial=0)) + 1
        lows, highs, leaf_counts = [], [], np.zeros(self.nodes, np.int64)
        behind = self._behind(parents)
        for node in range(self.nodes):
            low, high = summary(self.points[behind[node]], leaves) if node != self.home else summary(points[:0], leaves)
            lows.append(low)
            highs.append(high)
            leaf_counts[node] = (len(low) + 1) // 2
        first_box = np.concatenate([[0], np.cumsum([len(low) for low in lows])]).astype(np.int64)
        self._links = Links(
            first,
            order.astype(np.int64),
            first_box,
            leaf_counts,
            np.concatenate(lows),
            np.concatenate(highs),
            self.home,
        )

    @property
    def arrays(self) -> Links:
        return self._links

    @property
    def boxes(self) -> int:
        """How many boxes all filters have together: what the network's tables hold instead of subscriptions."""
        return int(self._links.leaves.sum())

    def spread(self, regions: Regions, region: int) -> Tree:
        return tree_of(self._way, spread(self._links, *regions.arrays, region, self._way))

    def _behind(self, parents: Integers) -> list[Integers]:
        """The subscriptions at each node or below it, by place."""
        behind: list[list[Integers]] = [
            [np.arange(self.first[node], self.first[node + 1])] for node in range(self.nodes)
        ]
        for node in _leaves_first(parents):
            if parents[node] != ROOT:
                behind[int(parents[node])] += behind[node]
        return [np.concatenate(parts) for parts in behind]

    @cached_property
    def _way(self) -> Way:
        return way_for(self.nodes)


def _leaves_first(parents: Integers) -> list[int]:
    """Nodes in an order in which each comes before its parent."""
    depth = np.zeros(len(parents), np.int64)
    for node in range(len(parents)):
        above, steps = int(parents[node]), 0
        while above != ROOT:
            above, steps = int(parents[above]), steps + 1
            if steps > len(parents):
                raise ValueError("the links of a network form no tree: they go in a circle")
        depth[node] = steps
    return [int(node) for node in np.argsort(-depth, kind="stable")]
