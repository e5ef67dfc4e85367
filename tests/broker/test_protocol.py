"""What brokers say to each other and to clients, case by case."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

import tamis
from tamis.broker.broker import Broker, BrokerSettings
from tamis.broker.messages import Applied, Holds, Message, Supply, Want, decode, encode
from tamis.broker.outbox import QueueBound
from tamis.broker.store import BrokerStore
from tamis.routing.merging import MergePolicy, Rules
from tamis.testing.faults import BrokerNetwork, NetworkClient
from tests.broker.histories import SCHEMA


def _chain(count: int = 3, settings: BrokerSettings | None = None) -> BrokerNetwork:
    """Brokers a, b, c, ... in a row, a client at each end: `pub` at the first, `sub` at the last."""
    names = [chr(ord("a") + place) for place in range(count)]
    network = BrokerNetwork(SCHEMA, names, settings)
    for one, other in pairwise(names):
        network.link(one, other)
    network.run()
    network.client("pub", names[0])
    network.client("sub", names[-1])
    network.ask("pub", advertise={"all": "TRUE"})
    network.run()
    return network


def _serials(client: NetworkClient) -> list[int]:
    return [event["serial"] for event, _ in client.delivered]


def _is_up(network: BrokerNetwork) -> bool:
    return network.links["a", "b"] is not None


def _links(network: BrokerNetwork, name: str) -> dict[str, Any]:
    from tamis.broker.broker import status_of

    return {link["name"]: link for link in status_of(network.brokers[name])["links"]}


def test_a_change_is_settled_only_when_it_is_known_beyond_a_link_that_was_cut() -> None:
    network = _chain()
    sub = network.clients["sub"]
    network.cut("a", "b")
    asked = network.ask("sub", subscribe={"cheap": "price < 5"})
    network.run()
    assert asked in sub.told
    assert asked not in sub.settled
    assert _links(network, "b")["a"]["unsettled"] == 1
    network.settle()
    assert asked in sub.settled
    withdrawn = network.ask("sub", unsubscribe=("cheap",))
    network.run()
    assert withdrawn in sub.settled
    assert network.brokers["a"].filters.subscriptions.rows("link:b") == []


def test_a_neighbour_that_does_not_answer_in_time_is_connected_to_anew_and_told_again() -> None:
    network = _chain(2)
    network.tick(0.0)
    asked = network.ask("sub", subscribe={"cheap": "price < 5"})
    wire = next(wire for number, wire in network._wires.items() if number == network.links["a", "b"])
    while not wire.under_way[0]:
        network.step()
    wire.under_way[0].clear()  # lost on its way to a
    network.run()
    assert asked not in network.clients["sub"].settled
    network.tick(5.0)
    assert _is_up(network)
    network.tick(11.0)
    assert not _is_up(network)
    assert _links(network, "b")["a"]["resets"] == 1
    network.settle()
    assert asked in network.clients["sub"].settled
    assert network.brokers["a"].filters.subscriptions.rows("link:b") == ["price <= 4"]


def test_a_table_that_the_neighbour_has_already_is_not_told_again() -> None:
    network = _chain()
    network.ask("sub", subscribe={f"s{n}": f"price = {n}" for n in range(50)})
    network.run()
    network.cut("a", "b")
    before = network.messages
    network.settle()
    assert network.messages - before < 20
    assert len(network.brokers["a"].filters.subscriptions.rows("link:b")) == 50


def test_large_tables_and_changes_go_in_parts() -> None:
    network = _chain(settings=BrokerSettings(table_part=60))
    filters = {f"s{n}": f"price = {n}" for n in range(40)}
    network.ask("sub", subscribe=filters)
    network.run()
    assert len(network.brokers["a"].filters.subscriptions.rows("link:b")) == 40
    network.cut("a", "b")
    network.ask("sub", unsubscribe=tuple(list(filters)[:30]))
    network.settle()
    assert len(network.brokers["a"].filters.subscriptions.rows("link:b")) == 10


def test_publishers_wait_while_a_queue_is_full_and_go_on_when_it_is_not() -> None:
    network = _chain(settings=BrokerSettings(link_bound=QueueBound(events=4)))
    pub, sub = network.clients["pub"], network.clients["sub"]
    network.ask("sub", subscribe={"all": "TRUE"})
    network.run()
    network.cut("b", "c")
    for serial in range(1, 21):
        network.publish("pub", [{"serial": serial}])
    network.run()
    assert 4 <= len(pub.taken) < 12, "both queues on the way fill up, and then nothing more is taken"
    assert _links(network, "b")["c"]["queue_full"]
    network.settle()
    assert len(pub.taken) == 20
    assert _serials(sub) == list(range(1, 21))


def test_a_queue_that_drops_loses_the_oldest_and_counts_them() -> None:
    network = _chain(2, BrokerSettings(link_bound=QueueBound(events=4, overflow="drop")))
    network.ask("sub", subscribe={"all": "TRUE"})
    network.run()
    network.cut("a", "b")
    for serial in range(1, 11):
        network.publish("pub", [{"serial": serial}])
    network.run()
    network.settle()
    assert len(network.clients["pub"].taken) == 10
    assert _serials(network.clients["sub"]) == [7, 8, 9, 10]
    assert network.brokers["a"].store.dropped() == 6


def test_what_waits_for_a_client_that_is_away_is_there_when_it_comes_back() -> None:
    network = _chain(2)
    network.ask("sub", subscribe={"all": "TRUE"})
    network.run()
    network.detach("sub")
    network.publish("pub", [{"serial": 1}])
    network.run()
    network.crash("b")
    network.settle()
    assert _serials(network.clients["sub"]) == [1]


def test_a_link_that_closes_a_circle_waits_until_another_is_taken_away() -> None:
    network = BrokerNetwork(SCHEMA, ["a", "b", "c"])
    for link in (("a", "b"), ("b", "c"), ("c", "a")):
        network.link(*link)
        network.run()
    assert not _links(network, "a")["c"]["in_use"]
    network.client("pub", "a")
    network.client("sub", "c")
    network.ask("pub", advertise={"all": "TRUE"})
    network.ask("sub", subscribe={"all": "TRUE"})
    network.run()
    network.publish("pub", [{"serial": 1}])
    network.run()
    assert _links(network, "a")["c"]["events_out"] == 0
    assert _links(network, "a")["b"]["events_out"] == 1
    network.brokers["a"].links.forget("b")
    del network.links["a", "b"]
    network.tick(0.0)
    network.settle()
    assert _links(network, "a")["c"]["in_use"]
    assert network.brokers["b"].filters.advertisements.rows("link:a") == []
    network.publish("pub", [{"serial": 2}])
    network.run()
    assert _serials(network.clients["sub"]) == [1, 2]
    assert _links(network, "a")["c"]["events_out"] == 1


def test_a_link_that_was_taken_away_and_is_made_again_carries_events_again() -> None:
    network = _chain(2)
    network.ask("sub", subscribe={"all": "TRUE"})
    network.run()
    for serial in (1, 2, 3):
        network.publish("pub", [{"serial": serial}])
    network.run()
    network.brokers["a"].links.forget("b")
    network.tick(0.0)
    network.run()
    network.settle()
    network.publish("pub", [{"serial": 4}])
    network.run()
    assert _serials(network.clients["sub"]) == [1, 2, 3, 4]


def test_what_waits_for_a_link_arrives_when_one_made_at_the_same_moment_takes_its_place() -> None:
    network = BrokerNetwork(SCHEMA, ["b", "c", "x", "y"])
    network.client("pub", "c")
    network.client("sub", "x")
    network.ask("pub", advertise={"all": "TRUE"})
    network.ask("sub", subscribe={"all": "TRUE"})
    for link in (("b", "c"), ("x", "y")):
        network.link(*link)
        network.run()
        network.cut(*link)
    # Neither pair knows of the other's link, so both have the same age; b and y come first.
    for link in (("c", "x"), ("b", "y")):
        network.link(*link)
        network.run()
    network.cut("c", "x")
    network.publish("pub", [{"serial": 1}])
    network.run()
    network.settle()
    assert not _links(network, "c")["x"]["in_use"]
    network.publish("pub", [{"serial": 2}])
    network.run()
    assert _serials(network.clients["sub"]) == [1, 2]
    assert [broker.store.dropped() for broker in network.brokers.values()] == [0, 0, 0, 0]
    assert _links(network, "c")["x"]["events_out"] == 1


def test_links_that_close_a_circle_at_the_same_moment_leave_a_tree_and_lose_nothing() -> None:
    links = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")]
    for seed in range(5):
        network = BrokerNetwork(SCHEMA, ["a", "b", "c"], seed=seed)
        network.client("pub", "b")
        network.ask("pub", advertise={"all": "TRUE"})
        for name in ("a", "c"):
            network.client(f"sub-{name}", name)
            network.ask(f"sub-{name}", subscribe={"all": "TRUE"})
        for link in links:
            network.link(*link)
        serial = 0
        while network.step():
            if serial < 20:
                serial += 1
                network.publish("pub", [{"serial": serial}])
        network.settle()
        network.publish("pub", [{"serial": 100}])
        network.run()
        in_use = [link["in_use"] for name in "abc" for link in _links(network, name).values()]
        assert sorted(in_use) == [False, False, True, True, True, True]
        for name in ("sub-a", "sub-c"):
            got = _serials(network.clients[name])
            # From the first on that was published when the way was known, each comes once.
            assert got == [*range(got[0], 21), 100] if got[0] < 100 else got == [100]


def test_both_ends_may_call_and_one_connection_stays() -> None:
    network = BrokerNetwork(SCHEMA, ["a", "b"])
    network.link("a", "b")
    network.link("b", "a")
    network.run()
    for _ in range(3):
        network.settle()
    assert network.links["a", "b"] is not None
    assert [_links(network, name)[other]["state"] for name, other in (("a", "b"), ("b", "a"))] == ["open", "open"]


def test_brokers_of_different_schemas_or_one_name_are_not_linked() -> None:
    network = BrokerNetwork(SCHEMA, ["a", "b"])
    other = tamis.Schema.from_dict({"attributes": {"x": "integer"}, "event_types": {"t": {"x": "optional"}}})
    network.brokers["b"] = Broker(other, BrokerStore.open(None, "b"))
    network.link("a", "b")
    network.run()
    assert network.links["a", "b"] is None
    network.brokers["b"] = Broker(SCHEMA, BrokerStore.open(None, "a"))
    network.restore("a", "b")
    network.run()
    assert network.links["a", "b"] is None
    assert not network.brokers["a"].links.links


def test_a_broker_that_lost_its_state_is_taken_for_a_new_one() -> None:
    network = _chain()
    network.ask("sub", subscribe={"all": "TRUE"})
    network.run()
    network.publish("pub", [{"serial": 1}])
    network.run()
    network.crash("b")
    network.brokers["b"] = Broker(SCHEMA, BrokerStore.open(None, "b"))
    network.publish("pub", [{"serial": 2}])
    network.settle()
    network.publish("pub", [{"serial": 3}])
    network.run()
    assert _serials(network.clients["sub"]) == [1, 2, 3]


def test_a_client_is_told_what_is_wrong_and_the_rest_is_done() -> None:
    network = _chain(2)
    pub, sub = network.clients["pub"], network.clients["sub"]
    first = network.ask(
        "sub", subscribe={"good": "price < 5", "bad": "prize < 5", "x y": "TRUE"}, unsubscribe=("none",)
    )
    network.run()
    assert set(sub.told[first].refused) == {"bad", "x y", "none"}
    again = network.ask("sub", subscribe={"good": "price > 5"})
    network.run()
    assert "another subscription" in sub.told[again].refused["good"]
    network.ask("pub", unadvertise=("all",), advertise={"cheap": "price < 3"})
    number = network.publish("pub", [{"serial": 1, "price": 2}, {"serial": 2, "price": 4}, {"price": 1}])
    network.run()
    taken = pub.taken[number]
    assert taken.accepted == 1
    assert "advertise" in taken.refused["1"]
    assert "serial" in taken.refused["2"]
    assert _serials(sub) == [1]


def test_a_publish_that_is_said_again_is_published_once() -> None:
    network = _chain(2)
    network.ask("sub", subscribe={"all": "TRUE"})
    number = network.publish("pub", [{"serial": 1}])
    client = network.clients["pub"]
    network._say(client, client.unanswered[number])
    network.run()
    assert _serials(network.clients["sub"]) == [1]
    assert client.taken[number].repeated


def test_imperfect_merging_learns_from_events_and_clients_see_no_false_positive() -> None:
    merging = MergePolicy(every=1, imt=0.3, rules=Rules.HULLS)
    network = _chain(2, BrokerSettings(policy="merging", merging=merging))
    network.ask("sub", subscribe={f"s{n}": f"price = {n}" for n in (1, 3, 5)})
    network.run()
    assert len(network.brokers["a"].filters.subscriptions.rows("link:b")) == 3
    network.ask("sub", subscribe={"other": "size = 1"})
    network.ask("pub", subscribe={"warm": "price = 7"})
    for first in range(1, 1000, 100):
        network.publish("pub", [{"serial": n, "price": n % 100} for n in range(first, first + 100)])
    network.run()
    # b has seen only what came to it; that a tells it of the others is not so in life.
    network.brokers["b"].filters.subscriptions.learn(network.brokers["a"].traffic.observed.statistics())
    network.ask("sub", subscribe={"more": "size = 2"})
    network.run()
    forwarded = network.brokers["a"].filters.subscriptions.rows("link:b")
    assert "price BETWEEN 1 AND 5" in forwarded
    before = len(_serials(network.clients["sub"]))
    network.publish("pub", [{"serial": 5_000 + n, "price": n} for n in range(7)])
    network.run()
    assert _serials(network.clients["sub"])[before:] == [5_001, 5_003, 5_005]
    assert _links(network, "b")["a"]["unwanted"] > 0


def test_a_bulky_value_goes_over_a_link_once() -> None:
    network = _chain()
    network.ask("sub", subscribe={"all": "TRUE"})
    network.run()
    for serial in range(40):
        network.publish("pub", [{"serial": serial, "note": f"{serial % 2}" * 10_000}])
        network.run()
    assert [len(event["note"]) for event, _ in network.clients["sub"].delivered] == [10_000] * 40
    for name, other in (("a", "b"), ("b", "c")):
        assert 20_000 < _links(network, name)[other]["bytes_out"] < 100_000


_HALF = rb'{"":"Refused","reason":"\ud800"}'


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\0\0\0\2{}", len(_HALF).to_bytes(4, "big") + _HALF])
def test_nonsense_ends_a_connection_and_nothing_else(data: bytes) -> None:
    network = _chain(2)
    broker = network.brokers["b"]
    broker.connect(999, "client")
    broker.receive(999, data)
    told = broker.commit()
    assert told[999].close is not None
    network.ask("sub", subscribe={"all": "TRUE"})
    network.run()
    network.publish("pub", [{"serial": 1}])
    network.run()
    assert _serials(network.clients["sub"]) == [1]


def test_a_value_that_a_neighbour_does_not_send_in_time_is_asked_for_anew_and_nothing_is_lost() -> None:
    network = _chain(2, BrokerSettings(repository=1))
    network.ask("sub", subscribe={"all": "TRUE"})
    network.run()
    network.tick(0.0)
    for serial, letter in enumerate("xyx"):
        network.publish("pub", [{"serial": serial, "note": letter * 2_000}])
        if serial < 2:
            network.run()
    wire = next(wire for number, wire in network._wires.items() if number == network.links["a", "b"])
    while not any(isinstance(decode(data), Supply) for data in wire.under_way[1]):
        assert network.step()
    wire.under_way[1].clear()  # lost on its way to b
    network.run()
    assert _serials(network.clients["sub"]) == [0, 1]
    network.tick(5.0)
    assert _is_up(network)
    network.tick(11.0)
    assert not _is_up(network)
    assert _links(network, "b")["a"]["resets"] == 1
    network.settle()
    assert _serials(network.clients["sub"]) == [0, 1, 2]


def test_a_link_that_opens_before_the_first_tick_is_given_its_time() -> None:
    network = BrokerNetwork(SCHEMA, ["a", "b"])
    network.link("a", "b")
    wire = next(wire for number, wire in network._wires.items() if number == network.links["a", "b"])
    for _ in range(100):
        for end in (0, 1):
            held = [data for data in wire.under_way[end] if isinstance(decode(data), Applied)]
            for data in held:
                wire.under_way[end].remove(data)  # on its way for longer than all else
        network.step()
    assert [link["state"] for name in "ab" for link in _links(network, name).values()] == ["open", "open"]
    for now in (50_000.0, 50_001.0, 50_010.0):  # what a clock shows that began long ago
        network.tick(now)
        assert _is_up(network)
    network.tick(50_011.0)
    assert not _is_up(network)


@pytest.mark.parametrize(
    "message", [Want("zz"), Supply("zz", b""), Holds(("zz",))], ids=lambda each: type(each).__name__
)
def test_a_neighbour_that_names_no_value_is_connected_to_anew(message: Message) -> None:
    network = _chain(2)
    wire = next(wire for number, wire in network._wires.items() if number == network.links["a", "b"])
    wire.under_way[0].append(encode(message))
    network.run()
    assert not _is_up(network)
    network.settle()
    assert _is_up(network)
