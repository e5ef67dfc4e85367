"""Three brokers as real processes over gRPC and TLS: a link is cut, a broker is killed, and every event comes once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tamis.broker.access import Access, BrokerAway, BrokerRefusal, ask_status
from tamis.broker.client import BrokerClient
from tests.broker.processes import BrokerAtWork, CuttableLink, make_certificates


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_certificates(tmp_path)
    return tmp_path


@pytest.fixture
def trusted(folder: Path) -> Access:
    return Access.read(folder / "token", folder / "cert.pem", folder / "key.pem", folder / "ca.pem")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def _serials(client: BrokerClient, wanted: int) -> list[int]:
    """Of the events that come until there are so many."""
    found: list[int] = []
    for delivered in client.deliveries(timeout=60):
        found += delivered.events.column("serial").to_pylist()
        if len(found) >= wanted:
            break
    return found


@pytest.mark.slow
def test_nothing_is_lost_or_comes_twice_when_a_link_is_cut_and_a_broker_killed(
    folder: Path, trusted: Access, stack: ExitStack
) -> None:
    outer = [BrokerAtWork(folder, "a"), BrokerAtWork(folder, "c")]
    for each in outer:
        stack.callback(each.end)
        each.begin()
    link = CuttableLink(outer[0].wait_until_ready())
    stack.callback(link.close)
    middle = BrokerAtWork(folder, "b", [link.address, outer[1].wait_until_ready()])
    stack.callback(middle.end)
    middle.begin()
    middle.wait_until_ready()
    seller = stack.enter_context(BrokerClient(outer[0].address, "seller", trusted, timeout=60))
    buyer = stack.enter_context(BrokerClient(outer[1].address, "buyer", trusted, timeout=60))
    buyer.subscribe({"cheap": "price < 10", "chairs": "kind = 'chair' AND price < 50"})
    seller.advertise({"all": "price < 100"}, settle=True)
    told = [each for each in ask_status(middle.address, trusted)["links"] if each["name"] == "a"]
    while not told[0]["subscriptions_out"]:  # they went on when the advertisement came
        told = [each for each in ask_status(middle.address, trusted)["links"] if each["name"] == "a"]

    assert seller.publish([{"serial": n, "price": n % 20} for n in range(100)]) == 100
    expected = [n for n in range(100) if n % 20 < 10]
    assert _serials(buyer, len(expected)) == expected

    link.cut()
    seller.publish([{"serial": n, "price": n % 20} for n in range(100, 140)])
    link.restore()
    assert _serials(buyer, 20) == [n for n in range(100, 140) if n % 20 < 10]

    middle.kill()
    seller.publish([{"serial": n, "price": n % 20} for n in range(140, 180)])
    middle.begin()
    middle.wait_until_ready()
    seller.publish([{"serial": n, "price": n % 20} for n in range(180, 200)])
    assert _serials(buyer, 30) == [n for n in range(140, 200) if n % 20 < 10]

    buyer.unsubscribe(["cheap"], settle=True)
    (told_a,) = ask_status(outer[0].address, trusted)["links"]
    assert told_a["subscriptions_in"] == 1
    seller.publish([{"serial": 300, "price": 5}, {"serial": 301, "price": 5, "kind": "chair"}])
    assert _serials(buyer, 1) == [301]

    (told_a,) = ask_status(outer[0].address, trusted)["links"]
    assert told_a["queue_events"] == 0

    untold = Access(authority=trusted.authority, certificate=trusted.certificate, key=trusted.key)
    with BrokerClient(outer[0].address, "stranger", untold, timeout=20) as stranger, pytest.raises(BrokerRefusal):
        stranger.subscribe({"all": "TRUE"})
    with pytest.raises(BrokerAway):
        ask_status(outer[0].address, Access(token=trusted.token, authority=trusted.authority), timeout=5)
