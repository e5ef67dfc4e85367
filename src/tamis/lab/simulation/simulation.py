"""Network simulation: an Internet-like topology, an overlay of nodes on it, and join messages sent through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tamis.arrays import Bools, Floats, Int64s
from tamis.errors import TamisError
from tamis.joins.index.messages import Messages
from tamis.joins.index.ranges import Ranges, Shape
from tamis.lab.networks.links import EVERYBODY, LEAVES, ROOT, LinkNetwork, Post, Way, way_for
from tamis.lab.networks.zones import ZoneNetwork
from tamis.lab.simulation.accounting import (
    ASKS,
    BYTES,
    DELIVERED,
    FROM_HOME,
    HOPS,
    IDLE,
    LAST_HOP,
    LATENCY,
    LINK_BYTES,
    Books,
    Traffic,
    books_for,
    carry_over_links,
    carry_over_zones,
)
from tamis.lab.simulation.spaces import PayloadNumbers, Space, Spaces, hops_from, post_of, sizes_of
from tamis.routing.payloads.kernels import DIRECTORY, REPOSITORY, Store, store_of

# Topology: an Internet-like graph, few nodes with very many links, very many with few.

EXPONENT = 2.2
"""Of the power law of degrees, as INET takes it from the Internet's autonomous systems."""
NODES = 20_000


@dataclass(frozen=True)
class Topology:
    """Connected undirected graph: the neighbours of node n are `neighbour[first[n]:first[n + 1]]`."""

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
        """Hops between each of the starts and each node, on a shortest path."""
        found = np.empty((len(starts), self.nodes), np.int64)
        queue = np.empty(self.nodes, np.int64)
        for place, start in enumerate(starts.tolist()):
            hops_from(self.first, self.neighbour, start, found[place], queue)
        return found


def internet_like(nodes: int = NODES, seed: int = 1, exponent: float = EXPONENT) -> Topology:
    """Random graph whose degrees follow a power law, linked in the manner of INET.

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


# Overlay: nodes of a dissemination network on a topology.

OVERLAY = 1_000
FAN_OUT = 8


@dataclass(frozen=True)
class Overlay:
    """Nodes chosen from a topology; node 0 is the server's.

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
    """Overlay of nodes drawn from an Internet-like topology, deterministic in the seed."""
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


NETWORKS = ("zones", "links")


@dataclass(frozen=True)
class Star:
    """Settings of payload caching (CN*, Chandramouli & Yang 2008, §5): entries of directories and repositories.

    `plain[n]`: node n does not.
    """

    directory: int = DIRECTORY
    repository: int = REPOSITORY
    plain: Bools | None = None


class Simulation:
    """Subscriptions of a shape in networks over an overlay, and the traffic of all messages so far.

    `network` is `zones` (a CAN, whose nodes are dealt to the overlay's at random) or `links` (content-based: the
    overlay's tree, subscriptions at nodes drawn at random, filters of at most `leaves` boxes a link). Each space of the
    shape (`Spaces`) has a network of its own over the same nodes. Messages with an address go to their subscription's
    node in one hop, past all networks.

    Rows of the `bulky` tables (of all, if None) carry `payload` bytes. `load` is what subscriptions weigh when zones
    are cut to be of equal load: one each by default.

    With `counting`, nodes look at their own subscriptions: deliveries, latency and the last hop are added up too. CN*
    needs it, since a node without subscribers for a message need not have its payload.
    """

    def __init__(
        self,
        shape: Shape,
        subscriptions: Ranges,
        overlay: Overlay,
        network: str = "zones",
        *,
        payload: int = 100,
        bulky: Sequence[int] | None = None,
        star: Star | None = None,
        counting: bool = False,
        leaves: int | None = LEAVES,
        load: Floats | None = None,
        seed: int = 1,
    ) -> None:
        if network not in NETWORKS:
            raise TamisError(f"there is no network {network!r}; there are {' and '.join(NETWORKS)}")
        self.shape, self.overlay, self.payload = shape, overlay, payload
        self.payloads = PayloadNumbers(shape)
        self._bulky = None if bulky is None else np.isin(np.arange(shape.tables), bulky)
        self._star, self._counting, self._leaves = star, counting or star is not None, leaves
        self._kind, self._load = network, load
        rng = np.random.default_rng([seed, 22])
        # The server's node is the overlay's node 0, wherever its zone is.
        self._dealt: Int64s = np.concatenate([[0], 1 + rng.permutation(overlay.nodes - 1)])
        self._placed: Int64s = rng.integers(0, overlay.nodes, len(subscriptions))
        self._spaces = Spaces(shape, subscriptions)
        self._networks: dict[int, _Running] = {}
        self._unicast = np.zeros(3, np.int64)
        self._injected = np.zeros(2, np.int64)

    def carry(self, messages: Messages) -> None:
        """Sends messages through. `payloads` has already followed the changes that they announce."""
        addressed = messages.subscription != EVERYBODY
        sizes = sizes_of(messages, self.shape, self.payload, self._bulky)
        self._injected += (len(messages), int(sizes.sum()))
        if addressed.any():
            hops = self.overlay.hops[0, self._placed[messages.subscription[addressed]]]
            some = sizes[addressed]
            self._unicast += (len(some), int(some.sum()), int((some * hops).sum()))
        if addressed.all():
            return
        spaces = self._spaces.of(messages)
        for number in np.unique(spaces[~addressed]).tolist():
            chosen = np.flatnonzero((spaces == number) & ~addressed)
            space = self._spaces.spaces[number]
            post = post_of(messages, chosen, self.shape, space, self.payloads, self.payload, self._bulky)
            if number not in self._networks:
                self._networks[number] = self._made(space)
            self._networks[number].carry(post)

    def traffic(self, events: int) -> Traffic:
        """Traffic so far, over a given number of events."""
        totals = np.zeros(10, np.int64)
        stress: Int64s = np.zeros(self.overlay.nodes, np.int64)
        for running in self._networks.values():
            totals += running.books.totals
            np.add.at(stress, running.dealt, running.books.stress)
        count, size, link_bytes = self._unicast.tolist()
        stress[0] += size
        return Traffic(
            events=events,
            injected=int(self._injected[0]),
            injected_bytes=int(self._injected[1]),
            bytes=int(totals[BYTES]) + size,
            hops=int(totals[HOPS]) + count,
            link_bytes=int(totals[LINK_BYTES]) + link_bytes,
            stress=stress,
            server=int(stress[0]),
            from_server=int(totals[FROM_HOME]) + count,
            delivered=int(totals[DELIVERED]) + count,
            latency=int(totals[LATENCY]) + count,
            last_hop=int(totals[LAST_HOP]),
            idle=int(totals[IDLE]),
            asks=int(totals[ASKS]),
        )

    def network(self, space: int = 0) -> ZoneNetwork | LinkNetwork:
        """Network of one of the spaces that messages have gone through."""
        return self._networks[space].network

    def _made(self, space: Space) -> _Running:
        nodes = self.overlay.nodes
        network: ZoneNetwork | LinkNetwork
        if self._kind == "zones":
            network = ZoneNetwork(space.points, nodes, space.members, self._load)
            dealt = self._dealt.copy()
            at_server = int(np.flatnonzero(dealt == 0)[0])
            dealt[[at_server, network.home]] = dealt[[network.home, at_server]]
        else:
            node_of = np.where(space.members, self._placed, -1)
            network = LinkNetwork(space.points, node_of, self.overlay.parents, self._leaves)
            dealt = np.arange(nodes)
        star = self._star
        store = store_of(nodes, network.links, star.directory, star.repository) if star else store_of(1, 1, 0, 0)
        plain = np.zeros(nodes, np.bool_)
        if star is not None and star.plain is not None:
            plain = star.plain[dealt]
            plain[network.home] = False
        hops = np.ascontiguousarray(self.overlay.hops[np.ix_(dealt, dealt)])
        return _Running(network, dealt, hops, way_for(nodes), store, plain, star is not None, self._counting)


@dataclass
class _Running:
    """Network of one space, and its sums. Node n of the network is the overlay's node `dealt[n]`."""

    network: ZoneNetwork | LinkNetwork
    dealt: Int64s
    hops: Int64s
    way: Way
    store: Store
    plain: Bools
    star: bool
    counting: bool

    def __post_init__(self) -> None:
        self.books: Books = books_for(self.network.nodes, 1)

    def carry(self, post: Post) -> None:
        most = int(np.diff(post.first_payload).max(initial=0))
        if most > self.books.content.shape[1]:
            more = books_for(self.network.nodes, most)
            self.books = self.books._replace(content=more.content, source=more.source)
        network = self.network
        common = (
            self.way, (post.size, post.first_payload, post.payload, post.payload_size), post.regions.arrays,
            network.first, network.points, self.star, self.store, self.plain, self.hops, self.books, self.counting,
        )  # fmt: skip
        if isinstance(network, ZoneNetwork):
            box = np.empty((2, 1, post.regions.dimensions))
            carry_over_zones(network.arrays, *common, box[0], box[1])
        else:
            carry_over_links(network.arrays, *common)
