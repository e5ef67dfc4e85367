"""A tree of CN* and plain nodes with queues for links, small enough to be looked at: no transport, any interleaving."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from tamis.routing.payloads import Acknowledge, Action, Ask, Deliver, Lost, Parcel, PayloadNode, Send


@dataclass
class Wires:
    """Nodes of a tree with root 0, which publishes. What is in a queue arrives when somebody draws it.

    `wants[body]` are the nodes whose subscribers want a message; a link is used iff one of them is behind it.
    """

    parents: list[int]
    plain: list[bool]
    directory: int
    repository: int
    published: dict[bytes, bytes] = field(default_factory=dict)
    wants: dict[bytes, set[int]] = field(default_factory=dict)
    delivered: dict[int, list[Parcel]] = field(default_factory=dict)
    lost: list[Lost] = field(default_factory=list)
    contents_sent: int = 0
    asks: int = 0

    def __post_init__(self) -> None:
        count = len(self.parents)
        self.children = [[n for n in range(1, count) if self.parents[n] == p] for p in range(count)]
        # Link k of a node goes to its k-th child; the last one is the way up.
        self.nodes = [
            PayloadNode(str(n), len(self.children[n]) + 1, directory=self.directory, repository=self.repository)
            for n in range(count)
        ]
        self.queues: dict[tuple[int, int, str], deque[object]] = {}

    def publish(self, parcel: Parcel, wanting: set[int]) -> None:
        self.wants[parcel.body] = wanting
        for carried in parcel.payloads:
            assert carried.content is not None
            self.published[carried.id] = carried.content
        self._do(0, self.nodes[0].receive(parcel, self._matching(0, parcel), deliver=0 in wanting))

    def run(self, rng: np.random.Generator) -> None:
        """Until nothing is under way; queues in any order, each in its own."""
        while ways := [way for way, queue in self.queues.items() if queue]:
            self.step(ways[int(rng.integers(len(ways)))])

    def step(self, way: tuple[int, int, str]) -> None:
        start, stop, _ = way
        thing = self.queues[way].popleft()
        node = self.nodes[stop]
        if isinstance(thing, Parcel):
            self._arrive(stop, thing)
        elif isinstance(thing, Acknowledge):
            if not self.plain[stop]:
                node.acknowledged(self.children[stop].index(start), thing.ids)
        elif isinstance(thing, Ask):
            content = self.published.get(thing.id) if stop == 0 else node.asked(thing.id)
            self._put(stop, start, "answer", (thing.id, content))
        else:
            assert isinstance(thing, tuple)
            id, content = thing
            self._do(stop, node.refused(id, str(start)) if content is None else node.supplied(id, content, str(start)))

    def _arrive(self, node: int, parcel: Parcel) -> None:
        deliver = node in self.wants[parcel.body]
        if not self.plain[node]:
            up = len(self.children[node])
            self._do(node, self.nodes[node].receive(parcel, self._matching(node, parcel), came_by=up, deliver=deliver))
            return
        for link in self._matching(node, parcel):
            self._do(node, [Send(link, parcel)])
        if deliver:
            self._do(node, [Deliver(parcel)])

    def _matching(self, node: int, parcel: Parcel) -> list[int]:
        wanting = self.wants[parcel.body]
        return [link for link, child in enumerate(self.children[node]) if wanting & self._behind(child)]

    def _behind(self, node: int) -> set[int]:
        return {node}.union(*(self._behind(child) for child in self.children[node]))

    def _do(self, node: int, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, Send):
                self.contents_sent += sum(carried.content is not None for carried in action.parcel.payloads)
                self._put(node, self.children[node][action.link], "down", action.parcel)
            elif isinstance(action, Deliver):
                self.delivered.setdefault(node, []).append(action.parcel)
            elif isinstance(action, Acknowledge):
                self._put(node, self.parents[node], "up", action)
            elif isinstance(action, Ask):
                self.asks += 1
                self._put(node, int(action.address), "ask", action)
            else:
                self.lost.append(action)

    def _put(self, start: int, stop: int, kind: str, thing: object) -> None:
        self.queues.setdefault((start, stop, kind), deque()).append(thing)
