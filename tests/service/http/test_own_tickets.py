"""A subscriber who brings a ticket may ask again: there is one subscription all the same."""

from __future__ import annotations

import secrets
import string
from typing import Any

import httpx
import pytest

from tamis.service.http.subscriptions import is_random
from tests.service.http.server import Server

TICKET = "tkt_q3Zx81LbTn0kVwYc5RjH2mUeGf7DsPiA9oKt4XyB-v_"
HOOK = {"mode": "webhook", "url": "http://127.0.0.1:9/hook", "headers": {"Authorization": "Bearer hush", "X-Team": "a"}}


def asked(server: Server, ticket: str = TICKET, **form: Any) -> httpx.Response:
    form = {"filter": "price < 10", "label": "cheap"} | form
    answer: httpx.Response = server.client.post("/v1/subscriptions", json=form, headers={"Tamis-Ticket": ticket})
    return answer


def test_asking_again_gives_the_same_subscription_and_its_secret(server: Server) -> None:
    first, again = asked(server, delivery=HOOK), asked(server, delivery=HOOK)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert first.json()["ticket"] == TICKET
    assert first.json()["delivery"]["secret"].startswith("whsec_")
    assert server.service.store.subscriptions.count(None) == 1


@pytest.mark.parametrize("other", [{"filter": "price < 11"}, {"label": "dear"}, {"delivery": HOOK}])
def test_asking_for_something_else_with_the_same_ticket_is_a_conflict(server: Server, other: dict[str, Any]) -> None:
    assert asked(server).status_code == 201
    assert asked(server, **other).status_code == 409
    assert server.service.store.subscriptions.count(None) == 1


@pytest.mark.parametrize(
    "ticket",
    [
        "tkt_short",
        "x" * 47,
        f"tkt_{'a' * 42}!",
        f"tkt_{'a' * 43}",
        f"tkt_{'0123456789' * 4}abc",
        f"tkt_{string.ascii_letters[:43]}",
        f"tkt_{string.ascii_letters[42::-1]}",
        f"tkt_{(string.ascii_letters + string.digits)[::2]}{string.digits}01"[:47],
        f"tkt_{'q3Zx81LbTn0kVwYc5RjH' * 3}"[:47],
        f"tkt_0{'1' * 6}{'2' * 6}{'3' * 6}{'4' * 6}{'5' * 6}{'6' * 6}{'7' * 6}",
    ],
)
def test_a_ticket_that_could_be_guessed_is_refused(server: Server, ticket: str) -> None:
    answer = asked(server, ticket)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "Tamis-Ticket"


def test_a_ticket_that_was_drawn_is_taken() -> None:
    assert all(is_random(f"tkt_{secrets.token_urlsafe(32)}") for _ in range(2_000))


@pytest.mark.parametrize(
    "name",
    [
        "Authorization", "X-Auth-Token", "Api-Key", "X-API-KEY", "apikey", "X-Access-Token", "X-Hub-Signature",
        "X-Shared-Secret", "X-Password", "Private-Token", "X-Amz-Security-Token", "X-Webhook-Credentials", "Cookie",
        "X-Session-Id",
    ],
)  # fmt: skip
def test_headers_that_are_credentials_by_their_name_are_sent_and_not_shown(server: Server, name: str) -> None:
    made = asked(server, delivery={**HOOK, "headers": {name: "hush", "X-Team": "a"}}).json()
    assert made["delivery"]["headers"] == {name: "…", "X-Team": "a"}
    found = server.service.store.subscriptions.get(made["id"])
    assert found is not None
    assert found.delivery["headers"] == {name: "hush", "X-Team": "a"}


def test_the_credentials_of_an_endpoint_are_not_shown(server: Server) -> None:
    made = asked(server, delivery=HOOK).json()
    seen = server.client.get(f"/v1/subscriptions/{made['id']}", headers={"Tamis-Ticket": TICKET}).json()
    assert seen["delivery"]["headers"] == {"Authorization": "…", "X-Team": "a"}
    assert "hush" not in str(made) + str(seen)
