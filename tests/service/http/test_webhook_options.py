"""Webhooks in parallel and by batches, and the rotation of their secrets, as subscribers ask for them."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tamis.service.base.configuration import DeliverySettings, Settings
from tamis.service.delivery.webhooks import PREVIOUS, secrets_before
from tamis.service.store import Store
from tests.service.http.server import Server

HOOK = {"mode": "webhook", "url": "http://127.0.0.1:9/hook"}
HERE = Settings(delivery=DeliverySettings(allow_private=True))


def _secret(fill: bytes = b"a") -> str:
    return "whsec_" + base64.b64encode(fill * 32).decode()


def _stored(server: Server, id: str) -> dict[str, Any]:
    found = server.service.store.subscriptions.get(id)
    assert found is not None
    return found.delivery


def test_a_webhook_may_have_calls_in_parallel_and_batches(server: Server) -> None:
    mine = server.key("subscribe")
    made = server.subscribe(headers=mine, delivery={**HOOK, "parallel": 8, "batch": 50})
    path = f"/v1/subscriptions/{made['id']}"
    shown = server.client.get(path, headers=mine).json()["delivery"]
    assert (shown["parallel"], shown["batch"]) == (8, 50)
    plain = server.client.patch(path, json={"delivery": HOOK}, headers=mine).json()["delivery"]
    assert not {"parallel", "batch"} & plain.keys()


@pytest.mark.parametrize("asked", [{"parallel": 5}, {"batch": 11}, {"parallel": 0}, {"batch": "all"}])
def test_more_than_the_server_allows_is_refused(start: Callable[..., Server], asked: dict[str, Any]) -> None:
    server = start(Settings(delivery=DeliverySettings(allow_private=True, parallel=4, batch=10)))
    answer = server.client.post("/v1/subscriptions", json={"filter": "TRUE", "delivery": {**HOOK, **asked}})
    assert answer.status_code == 422
    assert next(iter(asked)) in answer.json()["errors"][0]["field"]


def test_a_secret_is_rotated_and_the_one_before_signs_until_the_overlap_is_over(server: Server) -> None:
    mine = server.key("subscribe")
    made = server.subscribe(headers=mine, delivery={**HOOK, "batch": 50})
    path, old = f"/v1/subscriptions/{made['id']}", made["delivery"]["secret"]
    answer = server.client.post(f"{path}/rotate-secret", json={"overlap": 60}, headers=mine)
    assert answer.status_code == 200
    new = answer.json()["delivery"]["secret"]
    assert new != old
    assert "whsec" not in server.client.get(path, headers=mine).text
    with_ticket = {"Tamis-Ticket": made["ticket"]}
    newest = server.client.post(f"{path}/rotate-secret", headers=with_ticket).json()["delivery"]["secret"]
    stored, now = _stored(server, made["id"]), time.time()
    assert (stored["secret"], secrets_before(stored, now)) == (newest, [new, old])
    assert stored["batch"] == 50
    assert secrets_before(stored, now + 61) == [new]
    assert secrets_before(stored, now + 86_401) == []


def test_a_rotation_without_overlap_ends_all_secrets_before(server: Server) -> None:
    made = server.subscribe(delivery=HOOK)
    path, ticket = f"/v1/subscriptions/{made['id']}/rotate-secret", {"Tamis-Ticket": made["ticket"]}
    server.client.post(path, headers=ticket)
    server.client.post(path, json={"overlap": 0}, headers=ticket)
    assert PREVIOUS not in _stored(server, made["id"])


def test_a_rotation_to_a_secret_of_ones_own_can_be_asked_for_again(server: Server) -> None:
    made = server.subscribe(delivery=HOOK)
    path, ticket = f"/v1/subscriptions/{made['id']}/rotate-secret", {"Tamis-Ticket": made["ticket"]}
    for _ in range(5):
        answer = server.client.post(path, json={"secret": _secret(), "overlap": 3600}, headers=ticket)
        assert answer.json()["delivery"]["secret"] == _secret()
    assert secrets_before(_stored(server, made["id"]), time.time()) == [made["delivery"]["secret"]]
    for fill, status in ((b"b", 200), (b"c", 200), (b"d", 409)):
        assert server.client.post(path, json={"secret": _secret(fill)}, headers=ticket).status_code == status
    assert server.client.post(path, json={"secret": "whsec_" + "A" * 33}, headers=ticket).status_code == 422


def test_a_rotation_survives_a_restart(start: Callable[..., Server], tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'kept.sqlite'}"
    server = start(replace(HERE, store_url=url))
    made = server.subscribe(delivery=HOOK)
    path = f"/v1/subscriptions/{made['id']}/rotate-secret"
    server.client.post(path, headers={"Tamis-Ticket": made["ticket"]})
    again = Store.open(url)
    (kept,) = again.subscriptions.pushed()
    again.close()
    assert secrets_before(kept.delivery, time.time()) == [made["delivery"]["secret"]]


def test_only_webhooks_that_stand_have_a_secret_to_rotate_and_only_for_their_owner(server: Server) -> None:
    pulled, hook = server.subscribe(), server.subscribe(delivery=HOOK)
    path = "/v1/subscriptions/{}/rotate-secret"
    assert server.client.post(path.format(hook["id"])).status_code == 404
    ticket = {"Tamis-Ticket": pulled["ticket"]}
    assert server.client.post(path.format(pulled["id"]), headers=ticket).status_code == 409
    ticket = {"Tamis-Ticket": hook["ticket"]}
    assert server.client.post(path.format(hook["id"]), json={"overlap": -1}, headers=ticket).status_code == 422
    server.service.store.subscriptions.cancel(hook["id"])
    assert server.client.post(path.format(hook["id"]), headers=ticket).status_code in (409, 410)
