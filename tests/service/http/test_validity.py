"""How long subscriptions are valid, and how a subscriber learns that one ends: once, before it does."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from sqlalchemy import text

from tamis.service.base.configuration import Settings
from tamis.service.delivery.matched import structured_event
from tamis.service.http.background import expire
from tamis.service.http.live_streams import written
from tamis.service.store import FOREVER, Store
from tamis.service.store.database import Database
from tests.service.delivery.made import WEBHOOK, Running, record, run
from tests.service.http.server import CHEAP, Server
from tests.service.store.made import LATER, subscribed

DAY = timedelta(days=1)


def read(server: Server, made: Any) -> list[Any]:
    ticket = {"Tamis-Ticket": made["ticket"]}
    answer = server.client.get(f"/v1/subscriptions/{made['id']}/notifications", headers=ticket).json()
    found: list[Any] = answer["notifications"]
    return found


def test_a_subscription_may_be_valid_until_it_is_cancelled_and_says_so(start: Callable[..., Server]) -> None:
    server = start(Settings(default_validity=DAY))
    made = server.subscribe(validity="forever")
    assert (made["validity"], "expires" in made) == ("forever", False)
    assert server.subscribe()["expires"]
    server.service.store.subscriptions.expire(datetime.now(UTC) + timedelta(days=365_000))
    ticket = {"Tamis-Ticket": made["ticket"]}
    assert server.client.get(f"/v1/subscriptions/{made['id']}", headers=ticket).json()["state"] == "active"


def test_where_there_is_a_longest_validity_it_is_the_default_and_forever_is_refused(
    start: Callable[..., Server],
) -> None:
    server = start(Settings(max_validity=timedelta(days=7)))
    made = server.subscribe()
    assert datetime.fromisoformat(made["expires"]) - datetime.fromisoformat(made["created"]) > timedelta(days=6)
    refused = server.client.post("/v1/subscriptions", json={"filter": "TRUE", "validity": "forever"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "validity")


def test_renewing_without_a_word_is_for_as_long_as_before(server: Server) -> None:
    made = server.subscribe(validity="P7D")
    path, ticket = f"/v1/subscriptions/{made['id']}/renew", {"Tamis-Ticket": made["ticket"]}
    renewed = server.client.post(path, headers=ticket).json()
    assert timedelta(days=6) < datetime.fromisoformat(renewed["expires"]) - datetime.now(UTC) <= timedelta(days=7)
    assert server.client.post(path, json={"validity": "forever"}, headers=ticket).json()["validity"] == "forever"
    assert server.client.post(path, headers=ticket).json()["validity"] == "forever"


def test_the_subscriber_is_told_once_before_the_end_and_can_tell_it_from_a_match(server: Server) -> None:
    soon = server.subscribe("price IS NULL OR price < 10", validity=10)
    later, never = server.subscribe(validity="P1D"), server.subscribe()
    store = server.service.store.subscriptions
    for _ in range(2):
        store.announce(datetime.now(UTC) + timedelta(seconds=9.5))
    (told,) = read(server, soon)
    assert (told["type"], told["subscription"], told["expires"]) == (
        "subscription.expiring", soon["id"], soon["expires"],
    )  # fmt: skip
    assert (told["event"], told["matched"]) == ({}, [])
    assert read(server, later) == read(server, never) == []
    ticket = {"Tamis-Ticket": soon["ticket"]}
    assert server.client.get(f"/v1/subscriptions/{soon['id']}/activity", headers=ticket).json()["total"] == 0
    found = server.service.store.subscriptions.get(soon["id"])
    assert found is not None
    record(server.service.store, 1, [(CHEAP, [found.number])], datetime.now(UTC))
    assert [one.get("type") for one in read(server, soon)] == ["subscription.expiring", None]


def test_a_renewal_is_told_of_in_its_turn(server: Server) -> None:
    made = server.subscribe(validity=100)
    store = server.service.store.subscriptions
    assert store.announce(datetime.now(UTC) + timedelta(seconds=95)) == 1
    store.renew(made["id"], datetime.now(UTC) + timedelta(seconds=300))
    assert store.announce(datetime.now(UTC) + timedelta(seconds=95)) == 0
    assert store.announce(datetime.now(UTC) + timedelta(seconds=290)) == 1


@pytest.mark.parametrize(
    ("validity", "notice"), [(timedelta(days=100), DAY), (timedelta(hours=10), timedelta(hours=1))]
)
def test_the_notice_comes_a_tenth_of_the_validity_before_the_end_and_a_day_at_most(
    any_store: Store, validity: timedelta, notice: timedelta
) -> None:
    made = subscribed(any_store, expires=datetime.now(UTC) + validity)
    subscribed(any_store, expires=FOREVER)
    at, second = made.expires - notice, timedelta(seconds=1)
    assert any_store.subscriptions.announce(at - second) == 0
    assert any_store.subscriptions.list(None, expiring=at - second) == []
    assert any_store.subscriptions.announce(at + second) == 1
    assert any_store.subscriptions.announce(at + second) == 0
    assert [one.id for one in any_store.subscriptions.list(None, expiring=at + second)] == [made.id]
    assert any_store.subscriptions.count_expiring(None, at + second) == 1
    assert made.is_expiring(at + second)
    assert any_store.subscriptions.expire(made.expires + second) == 1
    assert any_store.subscriptions.list(None, expiring=at + second) == []


def test_a_list_shows_those_that_end_soon_and_the_server_tells_them_by_itself(server: Server) -> None:
    mine = server.key("subscribe")
    soon, _ = server.subscribe(headers=mine, validity="PT1H"), server.subscribe(headers=mine)
    query = {"params": {"state": "expiring"}, "headers": mine}
    assert server.client.get("/v1/subscriptions", **query).json()["total"] == 0
    _let_pass(server.service.store, timedelta(minutes=55))
    listed = server.client.get("/v1/subscriptions", **query).json()
    assert ([(one["id"], one["state"], one["expiring"]) for one in listed["items"]], listed["total"]) == (
        [(soon["id"], "active", True)], 1,
    )  # fmt: skip
    expire(server.service)
    expire(server.service)
    assert [one["type"] for one in read(server, soon)] == ["subscription.expiring"]
    _let_pass(server.service.store, timedelta(minutes=10))
    expire(server.service)
    assert server.client.get(f"/v1/subscriptions/{soon['id']}", headers=mine).json()["state"] == "expired"


def _let_pass(store: Store, time: timedelta) -> None:
    """As if everything had been made so much earlier."""
    by = time // timedelta(microseconds=1)
    names = ("created", "began", "notice", "expires")
    moved = ", ".join(f"{name} = {name} - {by}" for name in names)
    with closing(Database(store.url)) as database, database.write() as connection:
        connection.execute(text(f"UPDATE subscriptions SET {moved} WHERE expires < 10000000000000000"))


def test_webhooks_and_streams_are_told_too_and_a_restart_tells_it_no_second_time(any_store: Store) -> None:
    async def push() -> None:
        async with Running(any_store) as running:
            made = subscribed(any_store, delivery=WEBHOOK)  # valid until LATER
            await running.delivery.notice_changes()
            any_store.subscriptions.announce(LATER - timedelta(minutes=1))
            running.delivery.wake(any_store.notifications.head())
            sent = await running.channel.next()
            body = json.loads(sent.body)
            assert (body["type"], body["subscription"]) == ("subscription.expiring", made.id)
            assert written([sent], False).startswith(b"event: subscription.expiring\nid: ")
            assert written([sent], True).startswith(b"event: subscription.expiring\nid: ")
            event = orjson.loads(structured_event(sent))
            assert (event["type"], event["subject"]) == ("tamis.subscription.expiring", made.id)
            assert event["data"] == {"subscription": made.id, "expires": body["expires"]}
        async with Running(any_store) as running:
            any_store.subscriptions.announce(LATER - timedelta(minutes=1))
            (position,) = running.record(1, [(CHEAP, [made.number])])
            assert (await running.channel.next()).position == position

    run(push())
