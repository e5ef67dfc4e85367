"""What messages cost, added up hop by hop with plain Python and the nodes that brokers use."""

from __future__ import annotations

from collections import Counter, deque

from tamis.arrays import Bools, Int64s
from tamis.lab.networks.links import Network, Post, SpreadTree
from tamis.routing.payloads import Acknowledge, Action, Ask, Carried, Deliver, Parcel, PayloadNode, Send

NAME, ACKNOWLEDGEMENT = 20, 16


class ByHand:
    """The books of one network. With a repository, nodes that are not plain are CN* nodes."""

    def __init__(
        self, network: Network, hops: Int64s, star: tuple[int, int] | None = None, plain: Bools | None = None
    ) -> None:
        self.network, self.hops, self.plain = network, hops, plain
        self.bytes = self.sent = self.link_bytes = self.delivered = self.latency = self.last_hop = self.asks = 0
        self.stress: Counter[int] = Counter()
        self.nodes: list[PayloadNode] = []
        if star is not None:
            self.nodes = [
                PayloadNode(str(n), network.links, directory=star[0], repository=star[1]) for n in range(network.nodes)
            ]

    def carry(self, post: Post) -> None:
        for m in range(len(post)):
            if post.regions.first[m] == post.regions.first[m + 1]:
                continue
            tree = self.network.spread(post.regions, m)
            clients = [
                int(post.regions.hold(m, self.network.points[self.network.first[n] : self.network.first[n + 1]]).sum())
                for n in tree.node.tolist()
            ]
            if self.nodes:
                self._as_brokers_do(post, m, tree, clients)
            else:
                self._plainly(post, m, tree)
            depth = [0] * len(tree)
            for place in range(1, len(tree)):
                depth[place] = depth[int(tree.parent[place])] + 1
            self.delivered += sum(clients)
            self.latency += sum(steps * count for steps, count in zip(depth, clients, strict=True))
            self.last_hop += sum(clients) * int(post.whole_size[m])

    def _send(self, start: int, stop: int, size: int, messages: int = 1) -> None:
        self.bytes += size
        self.sent += messages
        self.link_bytes += size * int(self.hops[start, stop])
        self.stress[start] += size

    def _plainly(self, post: Post, m: int, tree: SpreadTree) -> None:
        for place in range(1, len(tree)):
            self._send(int(tree.node[tree.parent[place]]), int(tree.node[place]), int(post.whole_size[m]))

    def _as_brokers_do(self, post: Post, m: int, tree: SpreadTree, clients: list[int]) -> None:
        home = str(self.network.home)
        numbers = post.payload[post.first_payload[m] : post.first_payload[m + 1]].tolist()
        contents = {number: str(number).rjust(post.payload_size).encode() for number in numbers}
        published = {Carried.of(content, home).id: content for content in contents.values()}
        parcel = Parcel(b"", tuple(Carried.of(contents[number], home) for number in numbers), home)
        children: dict[int, dict[int, int]] = {place: {} for place in range(len(tree))}
        for place in range(1, len(tree)):
            children[int(tree.parent[place])][int(tree.link[place])] = place
        places = {int(node): place for place, node in enumerate(tree.node.tolist())}
        whole = set()
        todo: deque[tuple[int, Action]] = deque()

        def arrive(place: int, parcel: Parcel) -> None:
            node, wanted = int(tree.node[place]), clients[place] > 0
            if self.plain is not None and self.plain[node]:
                todo.extend((node, Send(link, parcel)) for link in children[place])
                if wanted:
                    todo.append((node, Deliver(parcel)))
                return
            came_by = None if place == 0 else 0  # acknowledged over whatever link it came by
            todo.extend(
                (node, action)
                for action in self.nodes[node].receive(parcel, children[place], came_by=came_by, deliver=wanted)
            )

        arrive(0, parcel)
        while todo:
            node, action = todo.popleft()
            place = places[node]
            if isinstance(action, Send):
                below = children[place][action.link]
                full = sum(carried.content is not None for carried in action.parcel.payloads)
                size = int(post.size[m]) + NAME * len(numbers) + full * post.payload_size
                self._send(node, int(tree.node[below]), size)
                arrive(below, action.parcel)
            elif isinstance(action, Acknowledge):
                above = int(tree.node[tree.parent[place]])
                self._send(node, above, ACKNOWLEDGEMENT * len(action.ids), messages=0)
                if self.plain is None or not self.plain[above]:
                    self.nodes[above].acknowledged(int(tree.link[place]), action.ids)
            elif isinstance(action, Ask):
                whom = int(action.address)
                self._send(node, whom, NAME)
                content = published[action.id] if whom == self.network.home else self.nodes[whom].asked(action.id)
                if content is None:
                    todo.extend((node, one) for one in self.nodes[node].refused(action.id, action.address))
                else:
                    self.asks += 1
                    self._send(whom, node, len(content))
                    todo.extend((node, one) for one in self.nodes[node].supplied(action.id, content, action.address))
            else:
                assert isinstance(action, Deliver)
                assert action.parcel.whole
                assert [carried.content for carried in action.parcel.payloads] == list(contents.values())
                whole.add(place)
        assert whole == {place for place, count in enumerate(clients) if count}
