"""`tamis serve` on PostgreSQL and Kafka, alone and with another beside it, while processes die."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("aiokafka", reason="the service extra is not installed")

from benchmarks.service.server import descendants
from scripts.postgres import Postgres
from tests.pipeline.test_kafka import connector, servers
from tests.service.scaled import SPARKS_JAVA, Host, read_stream, read_topic, until

pytestmark = [pytest.mark.slow, pytest.mark.spark]

__all__ = ["connector", "servers"]

Make = Callable[[], Host]


@pytest.fixture
def make(postgres: Postgres, servers: str, connector: str, tmp_path: Path) -> Iterator[Make]:
    """Makes hosts over one store and one log."""
    store, topic, made = postgres.new_database(), f"events-{uuid.uuid4().hex}", list[Host]()

    def another() -> Host:
        made.append(Host(tmp_path / f"host{len(made)}", store, servers, topic, connector))
        return made[-1]

    yield another
    for host in made:
        if host.process is not None and host.process.poll() is None:
            host.end()


def lots(batch: int, size: int = 10) -> list[dict[str, Any]]:
    """Half of them are cheap."""
    return [{"n": batch * size + place, "price": 5.0 if place % 2 else 50.0} for place in range(size)]


def cheap(batches: int) -> list[int]:
    return [lot["n"] for batch in range(batches) for lot in lots(batch) if lot["price"] < 10]


def numbers(notifications: list[dict[str, Any]]) -> list[int]:
    """What they are about, each id once, in the order in which it first came."""
    by_id = {one["id"]: one["event"]["n"] for one in reversed(notifications)}
    return [by_id[id] for id in dict.fromkeys(one["id"] for one in notifications)]


def test_a_service_that_is_killed_goes_on_without_loss_or_repeat(make: Make) -> None:
    host = make()
    told = f"told-{uuid.uuid4().hex}"
    host.start()
    host.wait_until_it_says()
    pulled = host.subscribe("price < 10")
    pushed = host.subscribe("price < 10", delivery={"mode": "kafka", "topic": told})
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(read_stream, host, pulled, len(cheap(30)))
        for batch in range(15):
            host.publish(lots(batch), key=str(batch))
        host.kill()
        host.start()
        for batch in range(15, 30):
            host.publish(lots(batch), key=str(batch))
        streamed = reading.result()
    # What was appended and not acknowledged when the process died may be there twice, under one id.
    assert sorted(numbers(streamed)) == cheap(30)
    assert all(one["matched"] == [{"condition": "price < 10", "values": {"price": [5.0]}}] for one in streamed)
    assert len({one["cursor"] for one in streamed}) == len(streamed), "resumed after the last cursor, nothing repeats"
    on_topic = read_topic(host.servers, told, pushed["id"], len(cheap(30)))
    assert sorted(numbers(on_topic)) == cheap(30)
    again = httpx.post(f"{host.address}/v1/events", json=lots(3), headers={"Idempotency-Key": "3"}).json()
    assert (again["accepted"], again["repeated"]) == (10, True), "keys outlive the process too"
    host.wait_until_it_says()
    assert host.end() == 0


def test_of_two_services_one_matches_and_pushes_and_the_other_takes_its_place(make: Make) -> None:
    one, other = make(), make()
    told = f"told-{uuid.uuid4().hex}"
    one.start()
    one.wait_until_it_says()
    other.start()
    other.wait_until_it_says("another service of this store matches events; this one takes its place when it ends")
    ready = httpx.get(f"{other.address}/ready")
    assert (ready.status_code, ready.json()["pipeline"]) == (200, "ok"), "it serves, though it does not match"
    # Subscribed at the one, published at both, read at the other.
    pushed = one.subscribe("price < 10", delivery={"mode": "kafka", "topic": told})
    pulled = other.subscribe("price < 10")
    for batch in range(4):
        (one if batch % 2 else other).publish(lots(batch), key=str(batch))
    streamed = read_stream(other, pulled, len(cheap(4)))
    read_topic(one.servers, told, pushed["id"], len(cheap(4)))
    status = [httpx.get(f"{host.address}/v1/status").json()["delivery"]["pushing"] for host in (one, other)]
    assert status == [1, 0]

    assert one.end() == 0
    for batch in range(4, 8):
        other.publish(lots(batch), key=str(batch))
    until(lambda: httpx.get(f"{other.address}/v1/status").json()["delivery"]["pushing"] == 1, "pushing", other.said)
    streamed = read_stream(other, pulled, len(cheap(8)))
    assert Counter(one["event"]["n"] for one in streamed) == Counter(cheap(8)), "each is recorded once"
    on_topic = read_topic(other.servers, told, pushed["id"], len(cheap(8)))
    assert Counter(one["event"]["n"] for one in on_topic) == Counter(cheap(8)), "and sent once, where nobody is killed"

    # Back again, over a folder that others have overtaken.
    one.start()
    one.wait_until_it_says("another service of this store matches events")
    other.kill()
    one.wait_until_it_says()
    one.publish(lots(8), key="8")
    assert Counter(one["event"]["n"] for one in read_stream(one, pulled, len(cheap(9)))) == Counter(cheap(9))
    on_topic = read_topic(one.servers, told, pushed["id"], len(cheap(9)))
    assert sorted(numbers(on_topic)) == cheap(9)


def java_of(host: Host) -> list[int]:
    """Spark's own Java process, and not the launchers that it is started by."""
    assert host.process is not None
    return [pid for pid, command in descendants(host.process.pid) if SPARKS_JAVA.search(command) is not None]


def test_a_waiting_service_takes_over_with_the_spark_that_it_has(make: Make) -> None:
    one, other = make(), make()
    one.start()
    one.wait_until_it_says()
    other.start()
    other.wait_until_it_says("another service of this store matches events; this one takes its place when it ends")
    until(lambda: java_of(other), "Spark at the one that waits", other.said)
    java = java_of(other)
    pulled = other.subscribe("price < 10")
    one.publish(lots(0), key="0")
    one.kill()
    other.publish(lots(1), key="1")
    assert sorted(numbers(read_stream(other, pulled, len(cheap(2))))) == cheap(2)
    assert java_of(other) == java


def test_matching_goes_on_in_the_same_spark_when_postgresql_is_back(
    servers: str, connector: str, tmp_path: Path
) -> None:
    with Postgres() as postgres:
        host = Host(tmp_path / "host", postgres.new_database(), servers, f"events-{uuid.uuid4().hex}", connector)
        try:
            host.start()
            host.wait_until_it_says()
            java, pulled = java_of(host), host.subscribe("price < 10")
            assert len(java) == 1
            for batch in range(3):
                host.publish(lots(batch), key=str(batch))
                # Once when there is something to match, and once when there is not.
                if batch == 1:
                    read_stream(host, pulled, len(cheap(2)))
                postgres.kill()
                until(lambda: httpx.get(f"{host.address}/ready", timeout=30).status_code == 503, "absence", host.said)
                postgres.start()
            host.publish(lots(3), key="3")
            assert sorted(numbers(read_stream(host, pulled, len(cheap(4))))) == cheap(4)
            assert java_of(host) == java
            status = httpx.get(f"{host.address}/v1/status").json()["pipeline"]
            assert (status["state"], status["restarts"]) == ("running", 0)
        finally:
            host.kill()
