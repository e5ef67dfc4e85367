"""Traffic accounting of a simulation: bytes, hops and latency of each message, parents before children, in CN and
CN*."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.arrays import Int64s
from tamis.compiled import bare_kernel, inlined_kernel
from tamis.lab.networks.links import ROOT, count_held
from tamis.lab.networks.links import spread as spread_over_links
from tamis.lab.networks.zones import spread as spread_over_zones
from tamis.routing.payloads.kernels import NOWHERE, acknowledged, arrived, found, has_gone, supplied

# Sums, and the scratch that kernels need for them.

BYTES, HOPS, LINK_BYTES, DELIVERED, LATENCY, LAST_HOP, ASKS, FROM_HOME, IDLE, MESSAGES = range(10)
NAME_BYTES = 20
"""What a payload costs a CN* message beside its content: a hash of 16 bytes, and the address of the source."""
ACKNOWLEDGEMENT_BYTES = 16


class Books(NamedTuple):
    """Sums over messages, for kernels; and scratch for one message, by place in its tree and by payload.

    `totals`, by the names above: bytes and messages between nodes (`BYTES`, `HOPS`), bytes times links of the topology
    that they go over (`LINK_BYTES`), subscriptions that got a message and the hops that it took to each (`DELIVERED`,
    `LATENCY`), bytes from nodes to their subscribers (`LAST_HOP`), payloads asked for (`ASKS`), messages that the home
    sent on (`FROM_HOME`), and nodes that a message came to without a subscriber there (`IDLE`). `stress[n]` are bytes
    that node n sent.
    """

    totals: Int64s
    stress: Int64s
    arrival: Int64s
    content: npt.NDArray[np.bool_]
    source: Int64s


def books_for(nodes: int, payloads: int) -> Books:
    """Empty sums for trees of at most so many nodes and messages of at most so many payloads."""
    payloads = max(1, payloads)
    return Books(
        np.zeros(10, np.int64), np.zeros(nodes, np.int64), np.zeros(nodes, np.int64),
        np.zeros((nodes, payloads), np.bool_), np.zeros((nodes, payloads), np.int64),
    )  # fmt: skip


_THERE_AND_BACK = 2  # hops


@inlined_kernel
def _sent(books: Any, hops: Any, start: int, stop: int, size: int) -> None:
    """Accounts for bytes sent from one node to another."""
    books.totals[BYTES] += size
    books.totals[LINK_BYTES] += size * hops[start, stop]
    books.totals[HOPS] += 1
    books.stress[start] += size


@bare_kernel
def _asked(books: Any, hops: Any, store: Any, node: int, source: int, home: int, key: int, size: int) -> int:
    """Fetches a payload from the last node that had it, or at last from the home; returns the hops that takes."""
    books.totals[ASKS] += 1
    _sent(books, hops, node, source, NAME_BYTES)
    delay = _THERE_AND_BACK
    if source != home and found(store.repository, source, key) == NOWHERE:
        _sent(books, hops, node, home, NAME_BYTES)
        source = home
        delay += _THERE_AND_BACK
    _sent(books, hops, source, node, size)
    supplied(store, node, key)
    return delay


@bare_kernel
def _delay(
    books: Any, hops: Any, store: Any, place: int, node: int, home: int, j: int, key: int, size: int
) -> int:  # fmt: skip
    """Hops until a node has the content of a payload: none if it has it."""
    if books.content[place, j]:
        return 0
    books.content[place, j] = True
    return _asked(books, hops, store, node, books.source[place, j], home, key, size)


@bare_kernel
def _forwarded(
    way: Any, place: int, size: int, payload: Any, start: int, stop: int, payload_size: int, store: Any, plain: Any,
    hops: Any, home: int, books: Any,
) -> None:  # fmt: skip
    """Forwards a message to a place from its parent, payloads by content or by name."""
    parent = way.parent[place]
    sender, receiver, delay = way.node[parent], way.node[place], 0
    for j in range(stop - start):
        key = payload[start + j]
        if plain[sender]:
            books.content[place, j] = books.content[parent, j]
        elif has_gone(store, sender, key, way.link[place]):
            books.content[place, j] = False
        else:
            delay = max(delay, _delay(books, hops, store, parent, sender, home, j, key, payload_size))
            books.content[place, j] = True
            if not plain[receiver]:
                acknowledged(store, sender, key, way.link[place])
        books.source[place, j] = books.source[parent, j]
        size += NAME_BYTES
        if books.content[place, j]:
            size += payload_size
            if not plain[receiver]:
                books.totals[BYTES] += ACKNOWLEDGEMENT_BYTES
                books.totals[LINK_BYTES] += ACKNOWLEDGEMENT_BYTES * hops[receiver, sender]
                books.stress[receiver] += ACKNOWLEDGEMENT_BYTES
    _sent(books, hops, sender, receiver, size)
    books.arrival[place] = books.arrival[parent] + 1 + delay


@bare_kernel
def _account(
    way: Any, count: int, post: Any, m: int, regions: Any, region: int, first: Any, points: Any, star: bool, store: Any,
    plain: Any, hops: Any, books: Any, counting: bool,
) -> None:  # fmt: skip
    """Accounts for one message, whose tree is in `way`."""
    size, first_payload, payload, payload_size = post
    region_first, low, high = regions
    start, stop = first_payload[m], first_payload[m + 1]
    whole = size[m] + (stop - start) * payload_size
    home = way.node[0]
    books.totals[MESSAGES] += 1
    for place in range(count):
        node, parent = way.node[place], way.parent[place]
        # Places are in the order of the tree, so a place's parent has its arrival time and payload state
        # already.
        if parent == ROOT:
            books.arrival[place] = 0
            for j in range(stop - start):
                books.content[place, j] = True
                books.source[place, j] = home
        else:
            if parent == 0:
                books.totals[FROM_HOME] += 1
            if star:
                _forwarded(
                    way, place, size[m], payload, start, stop, payload_size, store, plain, hops, home, books
                )  # fmt: skip
            else:
                _sent(books, hops, way.node[parent], node, whole)
                books.arrival[place] = books.arrival[parent] + 1
        # Arrived: count local subscribers first, for the repository keeps what they want longer than what
        # passes by.
        if not counting:
            continue
        clients = count_held(region_first, low, high, region, points, first[node], first[node + 1])
        if star and not plain[node]:
            for j in range(stop - start):
                if arrived(store, node, payload[start + j], books.content[place, j], clients > 0):
                    books.content[place, j] = True
                    books.source[place, j] = node
        if clients == 0:
            books.totals[IDLE] += 1
            continue
        # With subscribers here, missing payloads are fetched, and the slowest of them delays the delivery.
        delay = 0
        if star and not plain[node]:
            for j in range(stop - start):
                delay = max(delay, _delay(books, hops, store, place, node, home, j, payload[start + j], payload_size))
        books.totals[DELIVERED] += clients
        books.totals[LATENCY] += clients * (books.arrival[place] + delay)
        books.totals[LAST_HOP] += clients * whole


@bare_kernel
def carry_over_zones(
    zones: Any, way: Any, post: Any, regions: Any, first: Any, points: Any, star: bool, store: Any, plain: Any,
    hops: Any, books: Any, counting: bool, box_low: Any, box_high: Any,
) -> None:  # fmt: skip
    """Carries all messages of a post through a network of zones."""
    for m in range(len(post[0])):
        if regions[0][m] < regions[0][m + 1]:
            count = spread_over_zones(zones, regions[0], regions[1], regions[2], m, box_low, box_high, way)
            _account(way, count, post, m, regions, m, first, points, star, store, plain, hops, books, counting)


@bare_kernel
def carry_over_links(
    links: Any, way: Any, post: Any, regions: Any, first: Any, points: Any, star: bool, store: Any, plain: Any,
    hops: Any, books: Any, counting: bool,
) -> None:  # fmt: skip
    """Carries all messages of a post through a network of links."""
    for m in range(len(post[0])):
        if regions[0][m] < regions[0][m + 1]:
            count = spread_over_links(links, regions[0], regions[1], regions[2], m, way)
            _account(way, count, post, m, regions, m, first, points, star, store, plain, hops, books, counting)


# Results: the traffic of a simulated network.


@dataclass(frozen=True)
class Traffic:
    """Sums over a number of events. Bytes and hops are between nodes of the overlay.

    `injected` are the messages that the server made, `injected_bytes` theirs. `link_bytes` counts a byte once for every
    link of the topology that it goes over. `stress` are the bytes that each node sent, `server` those of the server's.
    `from_server` are the messages that left the server's node. `delivered` are messages to subscriptions, `latency` the
    hops that these took in all; `last_hop` the bytes from nodes to subscribers. `idle` are nodes that a message came to
    and that had no use for it. `asks` are payloads that a CN* node had to ask for.
    """

    events: int
    injected: int
    injected_bytes: int
    bytes: int
    hops: int
    link_bytes: int
    stress: Int64s
    server: int
    from_server: int
    delivered: int
    latency: int
    last_hop: int
    idle: int
    asks: int

    def since(self, before: Traffic) -> Traffic:
        """Difference to an earlier account, over this one's events."""
        changed = {
            field.name: getattr(self, field.name) - getattr(before, field.name)
            for field in fields(self)
            if field.name != "events"
        }
        return Traffic(events=self.events, **changed)

    def an_event(self, number: float) -> float:
        return number / max(1, self.events)

    @property
    def hop_latency(self) -> float:
        """Hops that a message took to a subscription, on average."""
        return self.latency / max(1, self.delivered)

    @property
    def fan_out(self) -> float:
        """Neighbours to which the server's node sent a message, on average."""
        return self.from_server / max(1, self.injected)

    @property
    def row(self) -> dict[str, float]:
        """Values by event, for tables of results."""
        per = {
            name: self.an_event(getattr(self, name))
            for name in ("injected", "injected_bytes", "bytes", "hops", "link_bytes", "server", "delivered", "last_hop")
        }
        per |= {"idle": self.an_event(self.idle), "asks": self.an_event(self.asks)}
        per |= {"most_stressed": self.an_event(float(self.stress.max(initial=0)))}
        per |= {"mean_stress": self.an_event(float(self.stress.mean())) if len(self.stress) else 0.0}
        return per | {"hop_latency": self.hop_latency, "fan_out": self.fan_out, "events": float(self.events)}
