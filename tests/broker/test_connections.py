"""Links and clients over gRPC, with brokers inside the test: who is away is waited for, and strangers stay outside."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import grpc
import pytest

from tamis.broker import process
from tamis.broker.access import Access, AccessError, BrokerAway, BrokerRefusal, ask_status, require_free
from tamis.broker.broker import Broker, BrokerSettings
from tamis.broker.client import BrokerClient, BrokerThread
from tamis.broker.store import BrokerStore
from tests.broker.histories import SCHEMA
from tests.broker.processes import CuttableLink

_TOKEN, _CLIENTS, _OTHER = (Access(token=f"{word} 0123456789abcdef") for word in ("links", "clients", "others"))


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def _broker(name: str, *given: object) -> BrokerThread:
    return BrokerThread(Broker(SCHEMA, BrokerStore.open(None, name)), *given)  # type: ignore[arg-type]


def _free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end


def _states(broker: BrokerThread) -> list[str]:
    return [link["state"] for link in broker.status()["links"]]


def test_a_neighbour_that_is_away_is_called_until_it_is_there(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(process, "_LONGEST_DELAY", 0.2)
    there = _free_port()
    caller = stack.enter_context(_broker("caller", "127.0.0.1:0", [there]))
    _until(lambda: sum("no connection" in each for each in caplog.messages) > 0)
    called = stack.enter_context(_broker("called", there))
    _until(lambda: _states(caller) == _states(called) == ["open"])


def test_a_connection_that_swallows_everything_is_given_up_at_both_ends_and_made_anew(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    for options in ("CHANNEL_OPTIONS", "SERVER_OPTIONS"):
        # All times of the product, twenty times as fast; what it leaves to gRPC stays as slow as it is.
        given: list[tuple[str, int]] = getattr(process, options)
        faster = [(name, value // 20 if name.endswith("_ms") else value) for name, value in given]
        monkeypatch.setattr(process, options, faster)
    monkeypatch.setattr(process, "_LONGEST_DELAY", 0.2)
    patient = BrokerSettings(answer_seconds=1_000)  # an answer that is missing must not be what is noticed
    made = [Broker(SCHEMA, BrokerStore.open(None, name), patient) for name in ("called", "caller")]
    called = stack.enter_context(BrokerThread(made[0]))
    link = CuttableLink(called.address)
    stack.callback(link.close)
    caller = stack.enter_context(BrokerThread(made[1], "127.0.0.1:0", [link.address]))
    _until(lambda: _states(caller) == _states(called) == ["open"])
    link.swallow()
    _until(lambda: _states(caller) == _states(called) == ["down"])
    link.restore()
    _until(lambda: _states(caller) == _states(called) == ["open"])
    assert [caller.status()["links"][0]["sessions"], called.status()["links"][0]["sessions"]] == [2, 2]


def test_tokens_of_links_and_of_clients_are_good_for_what_they_are_for(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_LONGEST_DELAY", 0.5)
    one = stack.enter_context(_broker("one", "127.0.0.1:0", [], _TOKEN, _CLIENTS))
    stranger = stack.enter_context(_broker("stranger", "127.0.0.1:0", [one.address], _OTHER))
    client = stack.enter_context(_broker("client", "127.0.0.1:0", [one.address], _CLIENTS))
    friend = stack.enter_context(_broker("friend", "127.0.0.1:0", [one.address], _TOKEN))
    _until(lambda: _states(friend) == ["open"])
    assert [link["name"] for link in one.status()["links"]] == ["friend"]
    assert _states(stranger) == _states(client) == []
    with BrokerClient(one.address, "ann", _CLIENTS) as ann:
        assert ann.attached().broker == "one"
    with BrokerClient(one.address, "eve", _TOKEN) as eve, pytest.raises(BrokerRefusal, match="token"):
        eve.attached()


def test_a_name_is_spoken_for_by_one_connection_at_a_time(stack: ExitStack) -> None:
    one = stack.enter_context(_broker("one"))
    first = stack.enter_context(BrokerClient(one.address, "ann"))
    first.subscribe({"all": "TRUE"})
    second = stack.enter_context(BrokerClient(one.address, "ann"))
    assert second.attached().subscriptions == {"all": "TRUE"}
    with pytest.raises(BrokerRefusal, match="another connection"):
        list(first.deliveries(timeout=30))


def _fail_over_one(address: str) -> None:
    with BrokerClient(address, "ann") as ann:
        assert next(ann.deliveries()).events.column("serial").to_pylist() == [2]
        raise ZeroDivisionError


def test_what_was_handed_out_and_not_finished_comes_again(stack: ExitStack) -> None:
    one = stack.enter_context(_broker("one"))
    shop = stack.enter_context(BrokerClient(one.address, "shop"))
    shop.advertise({"all": "TRUE"})
    with BrokerClient(one.address, "ann") as ann:
        ann.subscribe({"all": "TRUE"})
        for serial in (1, 2, 3):
            shop.publish([{"serial": serial}])
        assert next(ann.deliveries()).events.column("serial").to_pylist() == [1]
    with pytest.raises(ZeroDivisionError):
        _fail_over_one(one.address)
    with BrokerClient(one.address, "ann") as ann:
        assert next(ann.deliveries()).events.column("serial").to_pylist() == [2]
        assert next(ann.deliveries()).events.column("serial").to_pylist() == [3]


def test_more_than_forty_small_deliveries_are_taken_one_by_one(stack: ExitStack) -> None:
    one = stack.enter_context(_broker("one"))
    with BrokerClient(one.address, "both") as both:
        both.advertise({"all": "TRUE"})
        both.subscribe({"all": "TRUE"})
        for serial in range(80):
            both.publish([{"serial": serial}])
            assert next(both.deliveries(timeout=20)).events.column("serial").to_pylist() == [serial]


def test_a_broker_that_others_reach_needs_a_token_and_a_port_is_taken_once(stack: ExitStack) -> None:
    with pytest.raises(AccessError, match="token"):
        _broker("open", "0.0.0.0:0").start()
    one = stack.enter_context(_broker("one"))
    with pytest.raises(AccessError, match=f"cannot listen at {one.address}: the port is taken; choose another"):
        _broker("two", one.address).start()
    with pytest.raises(AccessError, match=r"cannot listen at no\.such\.host\.invalid:1: "):
        require_free("no.such.host.invalid:1")
    with pytest.raises(AccessError, match=r"'127\.0\.0\.1' is no address: say HOST:PORT"):
        BrokerClient("127.0.0.1", "ann")
    with BrokerClient("127.0.0.1:1", "ann", timeout=0.3) as ann, pytest.raises(BrokerAway, match="is it running"):
        ann.attached()


def test_a_client_that_nobody_answers_says_why_and_does_not_wait_again_to_part() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, and never says a word
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        start = time.monotonic()
        with BrokerClient(address, "ann", timeout=3) as ann, pytest.raises(BrokerAway, match="did not answer in 3 s"):
            ann.attached()
        assert time.monotonic() - start < 5  # and not 3 and 3


def test_what_is_no_broker_is_named_as_such(stack: ExitStack) -> None:
    server = grpc.server(ThreadPoolExecutor(1))
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    stack.callback(server.stop, None)
    with (
        BrokerClient(address, "ann") as ann,
        pytest.raises(BrokerRefusal, match=f"what answers at {address} is no broker"),
    ):
        ann.attached()
    with pytest.raises(BrokerRefusal, match=f"what answers at {address} is no broker"):
        ask_status(address)
