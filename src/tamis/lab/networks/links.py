"""Content-based network: a tree of nodes whose links filter by the boxes behind them; and regions, messages and spread
trees of all networks.

Regions, `Post`, `Way` and `Network` are the common part of this network and that of zones.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tamis.arrays import Bools, Floats, Int64s
from tamis.compiled import bare_kernel, inlined_kernel

# Regions: the recipients of messages, in a space whose points are subscriptions.

# Membership of points in regions. A region's boxes are `Regions.arrays`.


@inlined_kernel
def in_box(low: Any, high: Any, box: int, points: Any, point: int) -> bool:
    for d in range(low.shape[1]):
        value = points[point, d]
        if not (low[box, d] <= value <= high[box, d]):
            return False
    return True


@inlined_kernel
def in_region(first: Any, low: Any, high: Any, region: int, points: Any, point: int) -> bool:
    for box in range(first[region], first[region + 1]):  # noqa: SIM110 (Numba compiles no generators here)
        if in_box(low, high, box, points, point):
            return True
    return False


@bare_kernel
def held(first: Any, low: Any, high: Any, region: int, points: Any, mask: Any) -> None:
    """Membership mask: `mask[p]` is whether point p lies in a region."""
    for point in range(len(points)):
        mask[point] = in_region(first, low, high, region, points, point)


@bare_kernel
def count_held(first: Any, low: Any, high: Any, region: int, points: Any, start: int, stop: int) -> int:
    """Number of the points from `start` up to `stop` that lie in a region."""
    count = 0
    for point in range(start, stop):
        if in_region(first, low, high, region, points, point):
            count += 1
    return count


UNBOUNDED = 1e300
"""Ends of ranges beyond it say that there is no bound: widths of what lies within can still be added up."""


@dataclass(frozen=True)
class Regions:
    """Regions of a space of `dimensions` dimensions, each a union of closed boxes.

    Those of region r are `low[b]` to `high[b]` for b from `first[r]` up to `first[r + 1]`; a region may have none. A
    subscription with k ranges is a point of 2k dimensions, low end and high end of each. So "v lies in the range" is a
    box, low end at most v and high end at least v, and so are "the range reaches from x to y" and "the range holds v,
    and neither u nor w" (App. A).
    """

    first: Int64s
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def dimensions(self) -> int:
        return self.low.shape[1]

    @classmethod
    def of(cls, dimensions: int, regions: Sequence[Sequence[tuple[Sequence[float], Sequence[float]]]]) -> Regions:
        """Regions from explicit boxes, (low, high) each."""
        boxes = [box for region in regions for box in region]
        first = np.concatenate([[0], np.cumsum([len(region) for region in regions])]).astype(np.int64)
        low, high = (np.array([box[end] for box in boxes], np.float64).reshape(-1, dimensions) for end in (0, 1))
        return cls(first, low, high)

    def hold(self, region: int, points: Floats) -> Bools:
        """Mask of the points that lie in a region."""
        mask = np.zeros(len(points), np.bool_)
        held(self.first, self.low, self.high, region, points, mask)
        return mask

    @property
    def arrays(self) -> tuple[Int64s, Floats, Floats]:
        """Arrays for kernels, in their order."""
        return self.first, self.low, self.high


# Messages as networks see them: region, size and payloads.

EVERYBODY = -1


@dataclass(frozen=True)
class Post:
    """Messages in the order in which they are sent: all that a network reads of them.

    Message m is for all subscriptions in `regions[m]`, or for the one whose number is `address[m]`. It has `size[m]`
    bytes beside its payloads, which are `payload[first_payload[m]:first_payload[m + 1]]`: numbers that name their
    contents, of `payload_size` bytes each.
    """

    regions: Regions
    address: Int64s
    size: Int64s
    first_payload: Int64s
    payload: Int64s
    payload_size: int

    def __len__(self) -> int:
        return len(self.size)

    @property
    def whole_size(self) -> Int64s:
        """Bytes of messages with all payloads."""
        whole: Int64s = self.size + self.payload_size * np.diff(self.first_payload)
        return whole


# Routes: the tree that one message takes through a network.

ROOT = -1


class Way(NamedTuple):
    """Scratch for one message's tree, for kernels: the first entries are those of the last message.

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
    """Scratch for trees of at most `nodes` nodes."""
    node, parent, link, seen, place = (np.zeros(max(1, nodes), np.int64) for _ in range(5))
    return Way(node, parent, link, seen, place, np.zeros(4 * nodes + 64, np.int64), np.zeros(1, np.int64))


@dataclass(frozen=True)
class SpreadTree:
    """Tree of nodes that one message goes through, as `Way` has it, trimmed. Every node is in it once."""

    node: Int64s
    parent: Int64s
    link: Int64s

    def __len__(self) -> int:
        return len(self.node)


class Network(Protocol):
    """Base of networks: nodes with subscriptions, and the tree of nodes that each message takes.

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

    def spread(self, regions: Regions, region: int) -> SpreadTree:
        """Tree of a message for a region."""


def by_node(points: Floats, node_of: Int64s, nodes: int) -> tuple[Floats, Int64s, Int64s]:
    """Points in the order of their nodes, their numbers, and where each node's begin; those without a node left out."""
    order = np.argsort(node_of, kind="stable")
    order = order[node_of[order] >= 0]
    first = np.searchsorted(node_of[order], np.arange(nodes + 1)).astype(np.int64)
    return np.ascontiguousarray(points[order]), order.astype(np.int64), first


def tree_of(way: Way, count: int) -> SpreadTree:
    return SpreadTree(*(part[:count].copy() for part in (way.node, way.parent, way.link)))


# Routing by links: a message passes those links whose filters it matches.


class Links(NamedTuple):
    """Arrays of a network of links, for kernels.

    Node n hands messages to `child[first[n]:first[n + 1]]`; the place of one in it is the number of the link to it.
    What is behind the link to node n are the boxes from `first_box[n]` on, a binary tree as in a heap: box k holds the
    boxes 2k + 1 and 2k + 2, and the last `leaves[n]` of them hold the points behind the link.
    """

    first: Int64s
    child: Int64s
    first_box: Int64s
    leaves: Int64s
    low: Floats
    high: Floats
    home: int


@inlined_kernel
def _touches(links: Any, box: int, low: Any, high: Any, other: int) -> bool:
    for d in range(low.shape[1]):
        if links.high[box, d] < low[other, d] or high[other, d] < links.low[box, d]:
            return False
    return True


@bare_kernel
def passes(links: Any, node: int, first: Any, low: Any, high: Any, region: int, stack: Any, start: int) -> bool:
    """True if a region touches one of the boxes that summarise the subscriptions behind a link.

    The stack is free from `start` on.
    """
    leaves = links.leaves[node]
    if leaves == 0:
        return False
    root = links.first_box[node]
    for box in range(first[region], first[region + 1]):
        depth = start + 1
        stack[start] = 0
        while depth > start:
            depth -= 1
            here = stack[depth]
            if not _touches(links, root + here, low, high, box):
                continue
            if here >= leaves - 1:
                return True
            stack[depth] = 2 * here + 2
            stack[depth + 1] = 2 * here + 1
            depth += 2
    return False


@bare_kernel
def spread(links: Any, first: Any, low: Any, high: Any, region: int, way: Any) -> int:
    """Computes the tree of a message for a region, into `way`; returns the number of its places."""
    way.stamp[0] += 1
    way.node[0], way.parent[0], way.link[0] = links.home, ROOT, 0
    count, place = 1, 0
    while place < count:
        node = way.node[place]
        for k in range(links.first[node], links.first[node + 1]):
            if passes(links, links.child[k], first, low, high, region, way.stack, 0):
                way.node[count], way.parent[count], way.link[count] = links.child[k], place, k - links.first[node]
                count += 1
        place += 1
    return count


# Filters of links: many points summarised by few boxes.


def summary(points: Floats, leaves: int | None) -> tuple[Floats, Floats]:
    """Boxes that contain all points, as low and high corners in a heap-ordered binary tree, the leaves last.

    There are at most so many of these, a power of two; None stands for one a point, which loses nothing. Points are
    halved at the median of the dimension in which they are widest, so that boxes are small.
    """
    count = len(points)
    if count == 0:
        return np.empty((0, points.shape[1])), np.empty((0, points.shape[1]))
    last = 1 << (count - 1).bit_length()
    if leaves is not None:
        last = min(last, 1 << (leaves.bit_length() - 1))
    low, high = (np.empty((2 * last - 1, points.shape[1])) for _ in range(2))
    finite = points.clip(-UNBOUNDED, UNBOUNDED)
    groups: list[Int64s] = [np.arange(count)]
    for box in range(2 * last - 1):
        some = groups[box]
        low[box], high[box] = points[some].min(axis=0), points[some].max(axis=0)
        if box < last - 1:
            groups += _halves(some, finite)
    return low, high


def _halves(some: Int64s, points: Floats) -> list[Int64s]:
    """Halves of points by the widest dimension; one point alone is both."""
    if len(some) == 1:
        return [some, some]
    here = points[some]
    order = np.argpartition(here[:, np.argmax(np.ptp(here, axis=0))], len(some) // 2)
    return [some[order[: len(some) // 2]], some[order[len(some) // 2 :]]]


LEAVES = 256


class LinkNetwork:
    """Network of nodes in a tree; each link has a filter, a limited number of boxes around the subscriptions behind it.

    `parents[n]` is the node that hands messages to node n, ROOT for the home. Subscription s is at node `node_of[s]`,
    wherever its subscriber is; -1 is nowhere. Filters let through whatever is wanted behind them, and now and then
    something that is not: the fewer boxes, the more. With `leaves=None` they are exact. Nodes look at their own
    subscriptions one by one, so that no subscriber ever sees the difference.
    """

    def __init__(self, points: Floats, node_of: Int64s, parents: Int64s, leaves: int | None = LEAVES) -> None:
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
        """Number of boxes of all filters together: the size of the network's routing tables."""
        return int(self._links.leaves.sum())

    def spread(self, regions: Regions, region: int) -> SpreadTree:
        return tree_of(self._way, spread(self._links, *regions.arrays, region, self._way))

    def _behind(self, parents: Int64s) -> list[Int64s]:
        """Subscriptions at each node or below it, by place."""
        behind: list[list[Int64s]] = [[np.arange(self.first[node], self.first[node + 1])] for node in range(self.nodes)]
        for node in _leaves_first(parents):
            if parents[node] != ROOT:
                behind[int(parents[node])] += behind[node]
        return [np.concatenate(parts) for parts in behind]

    @cached_property
    def _way(self) -> Way:
        return way_for(self.nodes)


def _leaves_first(parents: Int64s) -> list[int]:
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
