"""Nobody reads or changes what is another's, and no answer tells that it is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tamis.service.base.configuration import AccessSettings, Settings
from tests.service.http.server import CHEAP, Server

# Every path that leads to one subscription, with a body that would be fine.
PATHS: list[tuple[str, str, Any]] = [
    ("GET", "", None),
    ("PATCH", "", {"label": "mine now"}),
    ("DELETE", "", None),
    ("POST", "/renew", {"validity": "P3D"}),
    ("POST", "/test", {"event": CHEAP}),
    ("GET", "/activity", None),
    ("GET", "/notifications", None),
    ("GET", "/stream", None),
]


def ask(server: Server, method: str, path: str, body: Any, headers: dict[str, str]) -> tuple[int, str]:
    answer = server.client.request(method, path, json=body, headers=headers)
    return answer.status_code, answer.text


@pytest.mark.parametrize(("method", "path", "body"), PATHS)
def test_anothers_subscription_is_answered_like_one_that_does_not_exist(
    server: Server, method: str, path: str, body: Any
) -> None:
    owner, stranger = server.key("subscribe"), server.key("publish", "subscribe")
    theirs = server.subscribe("title = 'private'", headers=owner)
    mine = server.subscribe(headers=stranger)
    nowhere = "sub_" + "A" * 22
    strangers = [
        {},
        stranger,
        {"Tamis-Ticket": mine["ticket"]},
        {**stranger, "Tamis-Ticket": mine["ticket"]},
        {**stranger, "Tamis-Ticket": "tkt_" + "A" * 43},
        {"Tamis-Ticket": "x" * 5_000},
    ]
    for headers in strangers:
        there = ask(server, method, f"/v1/subscriptions/{theirs['id']}{path}", body, headers)
        absent = ask(server, method, f"/v1/subscriptions/{nowhere}{path}", body, headers)
        assert there == absent
        assert there[0] == 404
    assert server.client.get(f"/v1/subscriptions/{theirs['id']}", headers=owner).json()["label"] == ""


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_nor_is_anothers_there_in_cloudevents_own_api(server: Server, method: str) -> None:
    form = {"sink": "https://example.org/hook", "protocol": "HTTP", "filters": [{"exact": {"type": "private"}}]}
    owner, stranger = server.key("subscribe"), server.key("publish", "subscribe")
    made = server.client.post("/cloudevents/v1/subscriptions", json=form, headers=owner)
    mine = server.client.post("/cloudevents/v1/subscriptions", json=form)
    body = form if method == "PUT" else None
    for headers in [{}, stranger, {"Tamis-Ticket": mine.headers["Tamis-Ticket"]}]:
        there = ask(server, method, f"/cloudevents/v1/subscriptions/{made.json()['id']}", body, headers)
        absent = ask(server, method, f"/cloudevents/v1/subscriptions/sub_{'A' * 22}", body, headers)
        assert there == absent
        assert there[0] == 404
    assert server.client.get("/cloudevents/v1/subscriptions", headers=stranger).json() == []
    assert len(server.client.get("/cloudevents/v1/subscriptions", headers=owner).json()) == 1


@pytest.mark.parametrize("path", ["/socket"])
def test_anothers_socket_is_refused(server: Server, path: str) -> None:
    theirs = server.subscribe(headers=server.key("subscribe"))
    mine = server.subscribe()
    with (
        pytest.raises(Exception) as refused,
        server.client.websocket_connect(f"/v1/subscriptions/{theirs['id']}{path}?ticket={mine['ticket']}"),
    ):
        pass
    assert getattr(refused.value, "status_code", None) == 404


def test_a_ticket_in_the_query_opens_only_what_browsers_cannot_open_otherwise(server: Server) -> None:
    made = server.subscribe()
    path = f"/v1/subscriptions/{made['id']}"
    assert server.client.get(f"{path}?ticket={made['ticket']}").status_code == 404
    with server.client.websocket_connect(f"{path}/socket?ticket={made['ticket']}"):
        pass


def test_two_without_a_key_do_not_see_each_other(server: Server) -> None:
    made = server.subscribe()
    path = f"/v1/subscriptions/{made['id']}"
    assert server.client.get(path).status_code == 404
    assert server.client.get(path, headers={"Tamis-Ticket": server.subscribe()["ticket"]}).status_code == 404
    assert server.client.get(path, headers={"Tamis-Ticket": made["ticket"]}).status_code == 200


def test_an_administrator_sees_everything_but_tickets_and_secrets(server: Server) -> None:
    delivery = {"mode": "webhook", "url": "http://127.0.0.1:9/hook"}
    made = server.subscribe(headers=server.key("subscribe"), delivery=delivery)
    boss = server.key("administer")
    for path in ("", f"/{made['id']}"):
        shown = server.client.get(f"/v1/subscriptions{path}", headers=boss)
        assert made["id"] in shown.text
        assert made["ticket"] not in shown.text
        assert made["delivery"]["secret"] not in shown.text


def test_anothers_backtest_is_not_there(server: Server) -> None:
    owner, stranger = server.key("subscribe"), server.key("subscribe")
    made = server.client.post("/v1/backtests", json={"filter": "price < 5"}, headers=owner).json()
    path = f"/v1/backtests/{made['id']}"
    assert server.client.get(path, headers=owner).json()["state"] == "waiting"
    assert server.client.get(path, headers=server.key("administer")).status_code == 200
    absent = server.client.get("/v1/backtests/bkt_AAAAAAAAAAAAAAAAAAAAAA", headers=stranger)
    there = server.client.get(path, headers=stranger)
    assert (there.status_code, there.text) == (404, absent.text)
    assert server.client.get(path).status_code == 404


def test_anothers_advertisement_stays(server: Server) -> None:
    owner, stranger = server.key("publish"), server.key("publish")
    made = server.client.post("/v1/advertisements", json={"event_type": "antiques"}, headers=owner).json()
    path = f"/v1/advertisements/{made['id']}"
    assert server.client.delete(path, headers=stranger).status_code == 404
    assert server.client.delete(path).status_code == 404
    assert server.client.delete(path, headers=owner).status_code == 204


@pytest.mark.parametrize(
    "secret", ["", "tk_", "tk_0123456789abcdef_" + "A" * 43, "x" * 10_000, "tk_\xe9", "tk_%00", "null"]
)
def test_a_key_that_is_none_is_401_everywhere(server: Server, secret: str) -> None:
    headers = {"Authorization": f"Bearer {secret}".encode("latin-1")}
    for method, path in [("GET", "/v1/status"), ("GET", "/v1/schema"), ("POST", "/v1/events"), ("GET", "/v1/keys")]:
        answer = server.client.request(method, path, headers=headers)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")


def test_a_revoked_key_opens_nothing_from_then_on(server: Server) -> None:
    boss = server.key("administer")
    made = server.client.post("/v1/keys", json={"name": "x", "roles": ["subscribe"]}, headers=boss).json()
    key = {"Authorization": f"Bearer {made['secret']}"}
    assert server.client.get("/v1/subscriptions", headers=key).status_code == 200
    assert server.client.delete(f"/v1/keys/{made['id']}", headers=boss).status_code == 200
    assert server.client.get("/v1/subscriptions", headers=key).status_code == 401
    assert server.client.delete(f"/v1/keys/{made['id']}", headers=boss).status_code == 404


def test_roles_are_asked_for_where_the_server_is_set_so(start: Callable[..., Server]) -> None:
    server = start(Settings(access=AccessSettings(publish="keys", subscribe="keys")))
    publisher, subscriber, boss = server.key("publish"), server.key("subscribe"), server.key("administer")
    filter = {"filter": "price < 1"}

    def statuses(headers: dict[str, str]) -> tuple[int, int, int]:
        post = server.client.post
        return (
            post("/v1/events", json=CHEAP, headers=headers).status_code,
            post("/v1/subscriptions", json=filter, headers=headers).status_code,
            post("/v1/keys", json={"name": "k", "roles": ["publish"]}, headers=headers).status_code,
        )

    assert statuses({}) == (401, 401, 401)
    assert statuses(publisher) == (202, 403, 403)
    assert statuses(subscriber) == (403, 201, 403)
    assert statuses(boss) == (202, 201, 201)


def test_keys_are_listed_without_their_secrets(server: Server) -> None:
    boss = server.key("administer")
    made = server.client.post("/v1/keys", json={"name": "house", "roles": ["publish"]}, headers=boss).json()
    listed = server.client.get("/v1/keys", headers=boss)
    assert made["secret"] not in listed.text
    assert {item["name"] for item in listed.json()["items"]} == {"test", "house"}
    assert server.client.post("/v1/keys", json={"name": "x", "roles": ["rule"]}, headers=boss).status_code == 422
    assert server.client.post("/v1/keys", json={"name": "x", "roles": []}, headers=boss).status_code == 422
