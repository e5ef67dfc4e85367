"""Random histories of a network of brokers, and what its clients must and may be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

import tamis
from tamis.broker.broker import BrokerSettings
from tamis.testing.faults import BrokerNetwork

SCHEMA = tamis.Schema.from_dict(
    {
        "attributes": {"serial": "integer", "price": "integer", "size": "integer", "kind": "string", "note": "string"},
        "event_types": {
            "sale": {
                "serial": "mandatory",
                "price": "optional",
                "size": "optional",
                "kind": "optional",
                "note": "optional",
            },
        },
    }
)
_KINDS = ("bed", "chair", "clock", "desk")

Event = dict[str, object]


@dataclass(slots=True)
class _Held:
    """A filter of a client: when it was asked for and when withdrawn, in phases. A phase ends when all is settled."""

    text: str
    since: int
    until: int | None = None

    def surely(self, phase: int) -> bool:
        """Whether whatever is published in this phase must be routed by it."""
        return self.since < phase and (self.until is None or self.until > phase)

    def perhaps(self, phase: int) -> bool:
        return self.since <= phase and (self.until is None or self.until >= phase)


@dataclass(slots=True)
class _Published:
    event: Event
    client: str
    phase: int
    surely: bool


@dataclass(slots=True)
class History:
    """What happened so far, and the network that it happened to."""

    network: BrokerNetwork
    random: Random
    phase: int = 0
    subscriptions: dict[str, dict[str, _Held]] = field(default_factory=dict)
    advertisements: dict[str, dict[str, _Held]] = field(default_factory=dict)
    ended: list[tuple[str, str, _Held]] = field(default_factory=list)
    published: list[_Published] = field(default_factory=list)
    numbers: int = 0
    serial: int = 0

    def happen(self, steps: int) -> None:
        """So many things happen, with messages arriving between them."""
        network, random = self.network, self.random
        for _ in range(steps):
            name = random.choice(list(network.clients))
            match random.choices(
                (
                    "subscribe",
                    "unsubscribe",
                    "advertise",
                    "unadvertise",
                    "publish",
                    "cut",
                    "restore",
                    "crash",
                    "detach",
                    "settle",
                ),
                (6, 4, 2, 1, 10, 2, 2, 1, 1, 3),
            )[0]:
                case "subscribe":
                    self.hold("subscribe", self.subscriptions, name, filter_text(random))
                case "unsubscribe":
                    self._withdraw("unsubscribe", self.subscriptions, name)
                case "advertise":
                    text = "TRUE" if random.random() < 0.3 else filter_text(random, weak=True)
                    self.hold("advertise", self.advertisements, name, text)
                case "unadvertise":
                    self._withdraw("unadvertise", self.advertisements, name)
                case "publish":
                    self._publish(name)
                case "cut":
                    network.cut(*random.choice(list(network.links)))
                case "restore":
                    network.restore(*random.choice(list(network.links)))
                case "crash":
                    network.crash(random.choice(list(network.brokers)))
                case "detach":
                    network.detach(name)
                case "settle":
                    self.settle()
            for _ in range(random.randrange(6)):
                network.step()

    def settle(self) -> None:
        self.network.settle()
        self.phase += 1

    def hold(self, wish: str, held: dict[str, dict[str, _Held]], name: str, text: str) -> None:
        if self.network.clients[name].connection is None:
            return
        self.numbers += 1
        id = f"f{self.numbers}"
        held[name][id] = _Held(text, self.phase)
        self._ask(name, {wish: {id: text}})

    def _withdraw(self, wish: str, held: dict[str, dict[str, _Held]], name: str) -> None:
        if self.network.clients[name].connection is None or not held[name]:
            return
        id = self.random.choice(list(held[name]))
        gone = held[name].pop(id)
        gone.until = self.phase
        if held is self.subscriptions:
            self.ended.append((name, id, gone))
        else:
            self.advertisements[name][f"{id} gone"] = gone
        if not id.endswith(" gone"):
            self._ask(name, {wish: (id,)})

    def _ask(self, name: str, wishes: Mapping[str, object]) -> None:
        """A wish is repeated until it is answered, as a client does it; here that means: it arrives now."""
        network, client = self.network, self.network.clients[name]
        number = network.ask(name, **wishes)
        while number not in client.told:
            assert network.step()
            network.attach(name)
            if number not in client.told and client.connection is None:
                raise AssertionError("nobody cuts this connection")

    def _publish(self, name: str) -> None:
        events = [self._event() for _ in range(self.random.randrange(1, 4))]
        self.network.publish(name, events)
        ads = self.advertisements[name].values()
        for event in events:
            surely = any(held.surely(self.phase) and holds(held.text, event) for held in ads)
            self.published.append(_Published(event, name, self.phase, surely))

    def _event(self) -> Event:
        self.serial += 1
        event: Event = {"serial": self.serial}
        if self.random.random() < 0.8:
            event["price"] = self.random.randrange(12)
        if self.random.random() < 0.6:
            event["size"] = self.random.randrange(6)
        if self.random.random() < 0.6:
            event["kind"] = self.random.choice(_KINDS)
        if self.random.random() < 0.6:
            event["note"] = f"{self.random.randrange(6)}" * 80
        return event

    def check(self) -> int:
        """Every client got what it must, nothing that it may not, and nothing twice; how many deliveries that is."""
        all_held = [(name, id, held) for name, ids in self.subscriptions.items() for id, held in ids.items()]
        all_held += self.ended
        told: dict[tuple[str, str, int], int] = {}
        for name, client in self.network.clients.items():
            serials = [event["serial"] for event, _ in client.delivered]
            assert len(set(serials)) == len(serials), f"{name} got an event twice"
            for event, ids in client.delivered:
                note = event.get("note")
                assert note is None or len(note) == 80, "a value came that was not sent"
                assert ids, "an event came that nobody asked for"
                for id in ids:
                    told[name, id, event["serial"]] = told.get((name, id, event["serial"]), 0) + 1
        texts = {f"{name} {id}": held.text for name, id, held in all_held}
        index = tamis.compile(texts, SCHEMA, matcher="naive")
        by_key = {f"{name} {id}": (name, id, held) for name, id, held in all_held}
        may: set[tuple[str, str, int]] = set()
        must: set[tuple[str, str, int]] = set()
        found = index.match([each.event for each in self.published]).to_lists() if self.published else []
        for each, keys in zip(self.published, found, strict=True):
            serial = each.event["serial"]
            assert isinstance(serial, int)
            for key in keys:
                name, id, held = by_key[key]
                if held.perhaps(each.phase):
                    may.add((name, id, serial))
                if held.surely(each.phase) and each.surely:
                    must.add((name, id, serial))
        assert not set(told) - may, f"too much: {sorted(set(told) - may)[:5]}"
        assert not must - set(told), f"lost: {sorted(must - set(told))[:5]}"
        return len(must)


def filter_text(random: Random, weak: bool = False) -> str:
    """A filter, of few enough kinds that filters often cover each other, or are the same."""
    terms = []
    if random.random() < 0.7:
        bound = random.randrange(2, 12)
        terms.append(random.choice([f"price < {bound}", f"price >= {bound}", f"price = {bound}"]))
    if random.random() < (0.2 if weak else 0.5):
        terms.append(f"size {random.choice('<>')} {random.randrange(1, 5)}")
    if random.random() < (0.2 if weak else 0.4):
        some = sorted(random.sample(_KINDS, random.randrange(1, 3)))
        terms.append(f"kind IN ({', '.join(map(repr, some))})")
    return " AND ".join(terms) or "price IS NOT NULL"


_FORMS: dict[str, tamis.Index] = {}


def holds(text: str, event: Event) -> bool:
    if text not in _FORMS:
        _FORMS[text] = tamis.compile({"it": text}, SCHEMA, matcher="naive")
    return bool(len(_FORMS[text].match([event])))


def history(seed: int, brokers: int, extra_links: int, settings: BrokerSettings) -> History:
    """A network drawn at random: a tree, and so many links more that close cycles."""
    random = Random(seed)
    names = [f"b{number:02}" for number in range(brokers)]
    network = BrokerNetwork(SCHEMA, names, settings, seed)
    for link in overlay(random, names, extra_links):
        network.link(*link)
        if extra_links:
            network.run()
    network.run()
    made = History(network, random)
    for number in range(brokers + 2):
        name = f"c{number:02}"
        network.client(name, random.choice(names))
        made.subscriptions[name], made.advertisements[name] = {}, {}
    network.run()
    for name in network.clients:
        made.hold("subscribe", made.subscriptions, name, filter_text(random))
        made.hold("advertise", made.advertisements, name, filter_text(random, weak=True))
    made.settle()
    return made


def overlay(random: Random, names: list[str], extra_links: int) -> list[tuple[str, str]]:
    links = [(name, random.choice(names[:place])) for place, name in enumerate(names) if place]
    known = {frozenset(link) for link in links}
    while extra_links and len(known) < len(names) * (len(names) - 1) // 2:
        one, other = random.sample(names, 2)
        if frozenset((one, other)) not in known:
            known.add(frozenset((one, other)))
            links.append((one, other))
            extra_links -= 1
    return links


def rebuilt(made: History, settings: BrokerSettings | None = None) -> BrokerNetwork:
    """A network built afresh with what the clients of this one have now."""
    old = made.network
    network = BrokerNetwork(SCHEMA, old.brokers, settings or old.settings, seed=1)
    for link in old.links:
        network.link(*link)
        network.run()
    for name, client in old.clients.items():
        network.client(name, client.broker)
        ads = {id: held.text for id, held in made.advertisements[name].items() if held.until is None}
        subs = {id: held.text for id, held in made.subscriptions[name].items()}
        network.ask(name, advertise=ads, subscribe=subs)
    network.run()
    return network
