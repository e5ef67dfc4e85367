"""A revoked key is taken back whole: with its tickets where access is by keys, its open streams, and its pushes."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.websockets import WebSocketDisconnect

from tamis.service.base.configuration import AccessSettings, DeliverySettings, Settings
from tests.service.delivery.made import record
from tests.service.http.server import CHEAP, PlayedPipeline, Server, make_service, over_http

KEYS = Settings(access=AccessSettings(publish="keys", subscribe="keys"), delivery=DeliverySettings(allow_private=True))
HOOK = {"mode": "webhook", "url": "http://127.0.0.1:9/hook"}
# All that a ticket lets its holder do, with bodies that would be fine.
BY_TICKET: list[tuple[str, str, Any]] = [
    ("GET", "", None),
    ("GET", "/notifications", None),
    ("GET", "/stream", None),
    ("GET", "/activity", None),
    ("POST", "/test", {"event": CHEAP}),
    ("PATCH", "", {"filter": "TRUE"}),
    ("PATCH", "", {"delivery": HOOK}),
    ("PATCH", "", {"state": "active"}),
    ("POST", "/renew", {"validity": "P300D"}),
    ("DELETE", "", None),
]


@pytest.fixture
def server(start: Callable[..., Server]) -> Server:
    return start(KEYS)


def key(server: Server, *roles: str) -> tuple[str, dict[str, str]]:
    made, secret = server.service.store.keys.create("test", roles)  # type: ignore[arg-type]
    return made.id, {"Authorization": f"Bearer {secret}"}


def revoke(server: Server, id: str) -> Any:
    answer = server.client.delete(f"/v1/keys/{id}", headers=server.key("administer"))
    assert answer.status_code == 200, answer.text
    return answer.json()


def number_of(server: Server, made: Any) -> int:
    found = server.service.store.subscriptions.get(made["id"])
    assert found is not None
    return found.number


@pytest.mark.parametrize(("method", "path", "body"), BY_TICKET)
def test_a_revoked_keys_ticket_opens_nothing_where_access_is_by_keys(
    server: Server, method: str, path: str, body: Any
) -> None:
    id, mine = key(server, "subscribe")
    made = server.subscribe(headers=mine)
    revoke(server, id)
    ticket, other = {"Tamis-Ticket": made["ticket"]}, server.key("subscribe")
    for headers in (ticket, {**other, **ticket}):
        answer = server.client.request(method, f"/v1/subscriptions/{made['id']}{path}", json=body, headers=headers)
        assert answer.status_code == 403
        assert "revoked" in answer.json()["detail"]


def test_a_ticket_reads_and_renews_for_others_while_its_key_is_live_but_changes_no_filter(server: Server) -> None:
    made = server.subscribe(headers=server.key("subscribe"))
    path, ticket = f"/v1/subscriptions/{made['id']}", {"Tamis-Ticket": made["ticket"]}
    assert server.client.get(f"{path}/notifications", headers=ticket).status_code == 200
    assert server.client.post(f"{path}/renew", json={"validity": "P2D"}, headers=ticket).status_code == 200
    for body in ({"filter": "TRUE"}, {"delivery": HOOK}):
        assert server.client.patch(path, json=body, headers=ticket).status_code == 401
        publisher = {**server.key("publish"), **ticket}
        assert server.client.patch(path, json=body, headers=publisher).status_code == 403
        subscriber = {**server.key("subscribe"), **ticket}
        assert server.client.patch(path, json=body, headers=subscriber).status_code == 200
    assert server.client.delete(path, headers=ticket).status_code == 204


def test_where_anyone_may_subscribe_a_ticket_stays_good_and_resumes_what_the_revocation_paused(
    start: Callable[..., Server],
) -> None:
    server = start()
    id, mine = key(server, "subscribe")
    made = server.subscribe(headers=mine)
    assert revoke(server, id) == {"id": id, "paused": 1}
    path, ticket = f"/v1/subscriptions/{made['id']}", {"Tamis-Ticket": made["ticket"]}
    assert server.client.get(path, headers=ticket).json()["state"] == "paused"
    assert server.client.patch(path, json={"state": "active"}, headers=ticket).json()["state"] == "active"
    assert server.client.get(f"{path}/notifications", headers=ticket).status_code == 200


def test_revoking_pauses_what_the_key_made_and_an_administrator_finds_resumes_and_cancels_it(server: Server) -> None:
    id, mine = key(server, "subscribe")
    pulled, pushed = server.subscribe(headers=mine), server.subscribe(headers=mine, delivery=HOOK)
    others = server.subscribe(headers=server.key("subscribe"))
    assert revoke(server, id) == {"id": id, "paused": 2}
    boss = server.key("administer")

    def listed(**query: str) -> dict[str, str]:
        items = server.client.get("/v1/subscriptions", params=query, headers=boss).json()["items"]
        return {one["id"]: one["state"] for one in items}

    assert listed(owner=id) == {pulled["id"]: "paused", pushed["id"]: "paused"}
    assert listed(state="active") == {others["id"]: "active"}
    resumed = server.client.patch(f"/v1/subscriptions/{pushed['id']}", json={"state": "active"}, headers=boss)
    assert resumed.json()["state"] == "active"
    assert server.client.delete(f"/v1/subscriptions/{pulled['id']}", headers=boss).status_code == 204
    assert listed(owner=id) == {pulled["id"]: "cancelled", pushed["id"]: "active"}


def test_an_administrator_gives_a_subscription_to_another_key_and_the_old_ticket_is_void(server: Server) -> None:
    old, mine = key(server, "subscribe")
    new, theirs = key(server, "subscribe")
    made = server.subscribe(headers=mine)
    revoke(server, old)
    path, boss = f"/v1/subscriptions/{made['id']}", server.key("administer")
    assert server.client.patch(path, json={"owner": new}, headers=theirs).status_code == 404
    given = server.client.patch(path, json={"owner": new, "state": "active"}, headers=boss).json()
    assert (given["owner"], given["state"]) == (new, "active")
    assert server.client.get(f"{path}/notifications", headers=theirs).status_code == 200
    assert server.client.get(path, headers={"Tamis-Ticket": given["ticket"]}).status_code == 200
    assert server.client.get(path, headers={"Tamis-Ticket": made["ticket"]}).status_code == 404
    assert [one["id"] for one in server.client.get("/v1/subscriptions", headers=theirs).json()["items"]] == [made["id"]]


@pytest.mark.parametrize("owner", ["0123456789abcdef", "revoked", "publisher"])
def test_a_subscription_is_given_only_to_a_live_key_that_may_subscribe(server: Server, owner: str) -> None:
    made = server.subscribe(headers=server.key("subscribe"))
    if owner == "revoked":
        owner, _ = key(server, "subscribe")
        revoke(server, owner)
    elif owner == "publisher":
        owner, _ = key(server, "publish")
    path = f"/v1/subscriptions/{made['id']}"
    answer = server.client.patch(path, json={"owner": owner}, headers=server.key("administer"))
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "owner")


def test_only_an_administrator_gives_a_subscription_away(server: Server) -> None:
    mine = server.key("subscribe")
    made = server.subscribe(headers=mine)
    other, _ = key(server, "subscribe")
    assert (
        server.client.patch(f"/v1/subscriptions/{made['id']}", json={"owner": other}, headers=mine).status_code == 403
    )


def test_asking_again_with_a_ticket_that_is_void_is_a_conflict(server: Server) -> None:
    mine = server.key("subscribe")
    new, _ = key(server, "subscribe")
    brought = {**mine, "Tamis-Ticket": f"tkt_{secrets.token_urlsafe(32)}"}
    made = server.subscribe(headers=brought)
    boss = server.key("administer")
    server.client.patch(f"/v1/subscriptions/{made['id']}", json={"owner": new}, headers=boss)
    again = server.client.post("/v1/subscriptions", json={"filter": "price < 10"}, headers=brought)
    assert again.status_code == 409


@pytest.mark.parametrize("settings", [KEYS, Settings()])
@pytest.mark.parametrize("path", ["/v1/subscriptions/{id}/socket?key={secret}", "/v1/socket?key={secret}"])
def test_open_sockets_of_a_revoked_key_end(start: Callable[..., Server], settings: Settings, path: str) -> None:
    server = start(settings)
    id, mine = key(server, "subscribe")
    made = server.subscribe(headers=mine)
    secret = mine["Authorization"].removeprefix("Bearer ")
    with server.client.websocket_connect(path.format(id=made["id"], secret=secret) + "&cursor=latest") as socket:
        revoke(server, id)
        with pytest.raises(WebSocketDisconnect) as ended:
            socket.receive_text()
    assert (ended.value.code, ended.value.reason) == (1008, "the key is revoked")


def test_open_sockets_by_a_revoked_keys_ticket_end_where_access_is_by_keys(server: Server) -> None:
    id, mine = key(server, "subscribe")
    made = server.subscribe(headers=mine)
    path = f"/v1/subscriptions/{made['id']}/socket?ticket={made['ticket']}&cursor=latest"
    with server.client.websocket_connect(path) as socket:
        revoke(server, id)
        with pytest.raises(WebSocketDisconnect) as ended:
            socket.receive_text()
    assert ended.value.code == 1008


def test_open_sockets_end_when_the_subscription_is_given_to_another_key(server: Server) -> None:
    made = server.subscribe(headers=server.key("subscribe"))
    new, _ = key(server, "subscribe")
    path = f"/v1/subscriptions/{made['id']}/socket?ticket={made['ticket']}&cursor=latest"
    with server.client.websocket_connect(path) as socket:
        given = server.client.patch(
            f"/v1/subscriptions/{made['id']}", json={"owner": new}, headers=server.key("administer")
        )
        assert given.status_code == 200
        with pytest.raises(WebSocketDisconnect) as ended:
            socket.receive_text()
    assert (ended.value.code, ended.value.reason) == (1008, "the subscription was given to another key")


def test_an_open_event_stream_ends_though_another_service_revoked_the_key(tmp_path: Path) -> None:
    service = make_service(tmp_path / "one", PlayedPipeline(), KEYS)
    made, secret = service.store.keys.create("test", ["subscribe"])
    headers = {"Authorization": f"Bearer {secret}"}
    with over_http(service) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as http:
        mine = http.post("/v1/subscriptions", json={"filter": "price < 10"}, headers=headers).json()
        ticket = {"Tamis-Ticket": mine["ticket"]}
        with http.stream("GET", f"/v1/subscriptions/{mine['id']}/stream", headers=ticket) as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith("retry")
            # As another service over the same store does it: nobody here is told.
            assert service.store.keys.revoke(made.id) == 1
            assert ": revoked" in list(lines)


def test_nothing_is_pushed_for_a_revoked_key_from_the_moment_it_is_revoked(
    start: Callable[..., Server],
) -> None:
    server = start(KEYS)
    id, mine = key(server, "subscribe")
    made = server.subscribe(headers=mine, delivery=HOOK)
    revoke(server, id)
    record(server.service.store, 1, [(CHEAP, [number_of(server, made)])], datetime.now(UTC))
    found = server.client.get(f"/v1/subscriptions/{made['id']}", headers=server.key("administer")).json()
    assert found["state"] == "paused"
    (row,) = [one for one in server.service.store.subscriptions.changes(0) if one.number == number_of(server, made)]
    assert row.filter is None


def test_another_service_that_still_knows_the_key_undoes_no_pause(start: Callable[..., Server]) -> None:
    """A key that was looked up a moment ago is taken for live for two seconds: the store knows better."""
    server = start(KEYS)
    id, mine = key(server, "subscribe")
    made = server.subscribe(headers=mine)
    path = f"/v1/subscriptions/{made['id']}"
    assert server.service.store.keys.revoke(id) == 1  # elsewhere: this service's key ring has it still
    for answer in (
        server.client.patch(path, json={"state": "active"}, headers=mine),
        server.client.post(f"{path}/renew", headers=mine),
        server.client.post("/v1/subscriptions", json={"filter": "TRUE", "delivery": HOOK}, headers=mine),
    ):
        assert (answer.status_code, answer.json()["type"]) in {
            (403, "urn:tamis:problem:key"),
            (401, "urn:tamis:problem:key"),
        }
    assert server.service.store.subscriptions.count(id, "active") == 0


def test_the_same_holds_in_cloudevents_own_api(server: Server) -> None:
    form = {"sink": "http://127.0.0.1:9/hook", "protocol": "HTTP"}
    id, mine = key(server, "subscribe")
    made = server.client.post("/cloudevents/v1/subscriptions", json=form, headers=mine)
    path, ticket = made.headers["Location"], {"Tamis-Ticket": made.headers["Tamis-Ticket"]}
    assert server.client.put(path, json=form, headers=ticket).status_code == 401
    assert server.client.get(path, headers=ticket).status_code == 200
    renewed = {**form, "config": {"validity": "P3D"}}
    assert server.client.put(path, json=renewed, headers=mine).status_code == 200
    revoke(server, id)
    for method, body in (("GET", None), ("DELETE", None)):
        assert server.client.request(method, path, json=body, headers=ticket).status_code == 403
    other = server.key("subscribe")
    assert server.client.put(path, json=renewed, headers={**other, **ticket}).status_code == 403
    assert server.client.delete(path, headers=server.key("administer")).status_code == 200
