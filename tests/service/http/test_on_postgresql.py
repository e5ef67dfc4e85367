"""The API over PostgreSQL: what it does with the store is the same as over SQLite."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from scripts.postgres import Postgres
from tamis.service.app import create_app
from tamis.service.base.configuration import Settings
from tamis.service.http.background import expire, let_go
from tests.service.delivery.made import record
from tests.service.http.server import CHEAP, PlayedPipeline, Server, make_service

NUL = "\0"


@pytest.fixture
def server(start: Callable[..., Server], postgres: Postgres) -> Server:
    return start(Settings(store_url=postgres.new_database()))


@pytest.fixture
def two_servers(tmp_path: Path, postgres: Postgres) -> Iterator[tuple[Server, Server]]:
    """Two over one store, each with a folder of its own."""
    settings = Settings(store_url=postgres.new_database())
    with ExitStack() as running:
        made = []
        for name in ("one", "other"):
            pipeline = PlayedPipeline()
            service = make_service(tmp_path / name, pipeline, replace(settings))
            made.append(Server(service, pipeline, TestClient(create_app(service), raise_server_exceptions=False)))
            running.enter_context(made[-1].client)
        yield made[0], made[1]


def test_a_subscription_from_its_making_to_its_end(server: Server) -> None:
    mine, other = server.key("subscribe"), server.key("subscribe")
    made = server.subscribe("price < 10", headers=mine, label="ümlaut 🪑")
    path, ticket = f"/v1/subscriptions/{made['id']}", {"Tamis-Ticket": made["ticket"]}
    listed = server.client.get("/v1/subscriptions?search=🪑", headers=mine).json()
    assert [one["id"] for one in listed["items"]] == [made["id"]]
    assert server.client.get(path, headers=other).status_code == 404
    number = server.service.store.subscriptions.get(made["id"])
    assert number is not None
    record(server.service.store, 1, [(CHEAP, [number.number])], datetime.now(UTC))
    (told,) = server.client.get(f"{path}/notifications", headers=mine).json()["notifications"]
    assert told["event"] == CHEAP
    assert server.client.get(f"{path}/activity", headers=mine).json()["total"] == 1
    assert server.client.post(f"{path}/renew", json={"validity": "P3D"}, headers=ticket).status_code == 200
    assert server.client.delete(path, headers=ticket).status_code == 204
    assert server.client.get(path, headers=mine).json()["state"] == "cancelled"


def test_events_are_taken_and_what_is_refused_is_kept(server: Server) -> None:
    boss = server.key("administer")
    answer = server.publish([CHEAP, {**CHEAP, "price": f"no{NUL}ne"}])
    assert (answer.status_code, answer.json()["accepted"], answer.json()["refused_count"]) == (202, 1, 1)
    (letter,) = server.client.get("/v1/dead-letters", headers=boss).json()["dead_letters"]
    assert "price" in letter["reason"]
    assert server.client.delete(f"/v1/dead-letters/{letter['id']}", headers=boss).status_code == 204
    assert server.client.get("/ready").json()["ready"] is True
    assert "tamis_" in server.client.get("/metrics").text
    assert server.client.get("/v1/status").json()["dead_letters"] == 0


def test_what_no_database_holds_is_a_refusal_and_no_fault(server: Server) -> None:
    answer = server.client.post("/v1/subscriptions", json={"filter": "price < 10", "label": f"a{NUL}b"})
    assert answer.status_code == 422
    found = server.client.get("/v1/subscriptions?search=%00", headers=server.key("subscribe"))
    assert found.status_code in (200, 422)


def test_schema_keys_backtests_and_sweeps(server: Server) -> None:
    boss = server.key("administer")
    form = {"attributes": {"colour": "string"}, "optional": {"antiques": {"colour": "optional"}}}
    assert server.client.post("/v1/schema/extensions", json=form, headers=boss).json()["version"] == 2
    made = server.client.post("/v1/keys", json={"name": "n", "roles": ["publish"]}, headers=boss).json()
    assert server.client.delete(f"/v1/keys/{made['id']}", headers=boss).json() == {"id": made["id"], "paused": 0}
    asked = server.client.post("/v1/backtests", json={"filter": "colour = 'red'"})
    assert asked.status_code == 202
    claimed = server.service.store.backtests.claim()
    assert claimed is not None
    assert claimed.id == asked.json()["id"]
    expire(server.service)
    let_go(server.service)


def test_subscriptions_made_at_once_have_numbers_of_their_own(server: Server) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: server.subscribe(), range(40)))
    assert len({one["id"] for one in made}) == 40
    changes = server.service.store.subscriptions.changes(0)
    assert [row.revision for row in changes] == list(range(1, 41))


def test_what_one_server_is_told_the_other_knows(two_servers: tuple[Server, Server]) -> None:
    one, other = two_servers
    key = one.key("subscribe")
    made = one.subscribe(headers=key)
    path = f"/v1/subscriptions/{made['id']}"
    assert other.client.get(path, headers=key).json()["id"] == made["id"]
    assert other.client.delete(path, headers={"Tamis-Ticket": made["ticket"]}).status_code == 204
    assert one.client.get(path, headers=key).json()["state"] == "cancelled"
    pushing = [server.client.get("/v1/status").json()["delivery"]["pushing"] for server in two_servers]
    assert pushing == [1, 0]


def test_a_database_that_is_away_is_said_once_and_shown_to_nobody(
    start: Callable[..., Server], caplog: pytest.LogCaptureFixture
) -> None:
    with Postgres(fsync=False) as away:
        server = start(Settings(store_url=away.new_database()))
        made = server.subscribe()
        path, ticket = f"/v1/subscriptions/{made['id']}/notifications", {"Tamis-Ticket": made["ticket"]}
        key = {"Authorization": f"Bearer tk_{'0' * 16}_{'x' * 43}"}
        away.kill()
        for _ in range(20):
            for answer in (
                server.client.get(path, headers=ticket),
                server.client.get("/v1/status"),
                server.client.get("/ready"),
                server.client.post("/v1/subscriptions", json={"filter": "price < 10"}),
                server.client.post("/v1/subscriptions", json={"filter": "price < 10"}, headers=key),
            ):
                assert answer.status_code == 503
                assert not re.search(r"tamis@|postgresql|127\.0\.0\.1|connection", answer.text), answer.text
        assert "tamis_pipeline_up 1.0" in server.client.get("/metrics").text
        away.start()
        deadline = time.monotonic() + 30
        while len(caplog.records) < 2 and time.monotonic() < deadline:
            server.client.get("/ready")
        assert server.client.get("/ready").status_code == 200
        assert server.client.get(path, headers=ticket).status_code == 200
    gone, back = [record for record in caplog.records if record.levelno >= logging.WARNING][:2]
    assert "does not answer" in gone.getMessage()
    assert "answers again" in back.getMessage()
    assert len(caplog.records) == 2, "of twenty rounds of requests, delivery, expiry and the schema"
    assert all(record.exc_info is None for record in caplog.records)
