"""Replay over HTTP: from a time or a cursor, for those who push and those who pull."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tamis.service.store import DeliveryState
from tests.service.delivery.made import record
from tests.service.http.server import Server

BEGAN = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=3)


def made(server: Server, mode: str) -> dict[str, Any]:
    """A subscription with two notifications, received an hour apart."""
    delivery = {"mode": "webhook", "url": "https://93.184.215.14/hook"} if mode == "webhook" else {"mode": "pull"}
    about: dict[str, Any] = server.subscribe(delivery=delivery)
    number = number_of(server, about)
    record(server.service.store, 1, [({"price": 5}, [number])], BEGAN)
    record(server.service.store, 2, [({"price": 6}, [number])], BEGAN + timedelta(hours=1))
    return about


def number_of(server: Server, about: dict[str, Any]) -> int:
    found = server.service.store.subscriptions.get(about["id"])
    assert found is not None
    return found.number


def replay(server: Server, about: dict[str, Any], form: dict[str, Any], ticket: str | None = None) -> httpx.Response:
    headers = {"Tamis-Ticket": about["ticket"] if ticket is None else ticket}
    return server.client.post(f"/v1/subscriptions/{about['id']}/replay", json=form, headers=headers)


@pytest.mark.parametrize(("hours", "expected"), [(-1, [5, 6]), (0, [5, 6]), (0.5, [6]), (1, [6]), (2, [])])
def test_who_pulls_is_given_the_cursor_to_read_from(server: Server, hours: float, expected: list[int]) -> None:
    about = made(server, "pull")
    answer = replay(server, about, {"since": (BEGAN + timedelta(hours=hours)).isoformat()})
    assert answer.status_code == 200, answer.text
    assert datetime.fromisoformat(answer.json()["from"]) == BEGAN
    polled = server.client.get(
        f"/v1/subscriptions/{about['id']}/notifications",
        params={"cursor": answer.json()["cursor"]},
        headers={"Tamis-Ticket": about["ticket"]},
    )
    assert [one["event"]["price"] for one in polled.json()["notifications"]] == expected
    assert server.service.store.deliveries.get([number_of(server, about)]) == {}


def test_what_is_pushed_is_set_back_and_told_from_where(server: Server) -> None:
    about = made(server, "webhook")
    number, deliveries = number_of(server, about), server.service.store.deliveries
    second = 2 << 24 | 1
    deliveries.save([DeliveryState(number, second)])
    answer = replay(server, about, {"since": (BEGAN + timedelta(minutes=1)).isoformat()})
    assert (answer.status_code, answer.json()["cursor"]) == (200, str(second - 1))
    state = deliveries.get([number])[number]
    assert (state.cursor, state.epoch) == (second - 1, 1)
    assert replay(server, about, {"cursor": "7"}).json()["cursor"] == "7"
    assert replay(server, about, {"cursor": f"7-{number - 1}"}).json()["cursor"] == "6"


def test_what_is_not_kept_is_not_promised(server: Server) -> None:
    about = made(server, "pull")
    server.service.store.notifications.sweep(BEGAN + timedelta(minutes=1))
    answer = replay(server, about, {"since": BEGAN.isoformat()}).json()
    assert datetime.fromisoformat(answer["from"]) == BEGAN + timedelta(hours=1)
    server.service.store.notifications.sweep(BEGAN + timedelta(hours=2))
    assert "from" not in replay(server, about, {"since": BEGAN.isoformat()}).json()


@pytest.mark.parametrize(
    "form",
    [{}, {"since": BEGAN.isoformat(), "cursor": "1"}, {"cursor": "soon"}, {"cursor": "latest"}, {"since": "now"}],
)
def test_a_replay_from_nowhere_is_refused(server: Server, form: dict[str, Any]) -> None:
    assert replay(server, made(server, "pull"), form).status_code == 422


def test_a_replay_is_for_the_ticket_or_the_key_that_owns_it(server: Server) -> None:
    about = server.subscribe(headers=(owner := server.key("subscribe")))
    path, form = f"/v1/subscriptions/{about['id']}/replay", {"cursor": "1"}
    assert replay(server, about, form, ticket="tkt_wrong").status_code == 404
    assert server.client.post(path, json=form, headers=server.key("subscribe")).status_code == 404
    assert server.client.post(path, json=form, headers=owner).status_code == 200
    assert replay(server, about, form).status_code == 200


def test_what_has_ended_is_not_sent_again_and_can_be_read_while_it_may_be(server: Server) -> None:
    pushed, pulled = made(server, "webhook"), server.subscribe()
    store = server.service.store
    for about in (pushed, pulled):
        store.subscriptions.renew(about["id"], datetime.now(UTC) - timedelta(seconds=1))
    store.subscriptions.expire(datetime.now(UTC))
    assert [replay(server, about, {"cursor": "1"}).status_code for about in (pushed, pulled)] == [409, 200]
    store.subscriptions.cancel(pulled["id"])
    assert replay(server, pulled, {"cursor": "1"}).status_code == 409
