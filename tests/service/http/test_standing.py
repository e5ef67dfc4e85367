"""What callers without a key may have: one of them no more than half, and none of what keys have."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tamis.service.base.configuration import LimitSettings, Settings
from tamis.service.http import service as standing
from tamis.service.http.service import Allowances, Standing
from tamis.service.intake.allowances import Claimant
from tamis.service.store import TooManyError
from tests.service.http.server import Server


@dataclass(frozen=True)
class _From:
    address: str
    owner: str = ""


def _post(server: Server, address: str, path: str, form: Any, **headers: str) -> httpx.Response:
    """A request that comes from an address."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(server.client.app, client=(address, 4_000))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post(f"/v1/{path}", json=form, headers=headers)

    return asyncio.run(ask())


@pytest.fixture
def small(start: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server on which six of each may stand without a key."""
    server = start(Settings(limits=LimitSettings(subscriptions_per_key=6)))
    monkeypatch.setattr(standing, "BACKTESTS_UNDER_WAY", 6)
    monkeypatch.setattr(standing, "ADVERTISEMENTS_IN_FORCE", 6)
    server.service.allowances = Allowances(server.service.store, server.service.limits)
    return server


@pytest.mark.parametrize(
    ("path", "form", "made", "refused"),
    [
        ("subscriptions", {"filter": "price < 3"}, 201, 403),
        ("advertisements", {"event_type": "antiques", "filter": "price < 3"}, 201, 403),
        ("backtests", {"filter": "price < 3"}, 202, 429),
    ],
)
def test_one_address_has_half_of_what_callers_without_a_key_may_have(
    small: Server, path: str, form: dict[str, Any], made: int, refused: int
) -> None:
    def asked(address: str, **headers: str) -> int:
        return _post(small, address, path, form, **headers).status_code

    assert [asked("192.0.2.1") for _ in range(5)] == [made] * 3 + [refused] * 2
    assert [asked("2001:db8::1"), asked("2001:db8::2"), asked("2001:db8::3")] == [made] * 3
    assert asked("2001:db8::4") == refused
    key = small.key("subscribe", "publish")
    assert [asked("192.0.2.1", **key) for _ in range(4)] == [made] * 4


def test_what_has_ended_makes_room_for_the_address(small: Server) -> None:
    form = {"filter": "price < 3"}
    made = [_post(small, "192.0.2.1", "backtests", form).json()["id"] for _ in range(3)]
    assert _post(small, "192.0.2.1", "backtests", form).status_code == 429
    small.service.store.backtests.finish(made[0], {"events": 0, "total": 0})
    assert _post(small, "192.0.2.1", "backtests", form).status_code == 202


def test_no_more_are_made_than_may_be_by_many_who_ask_at_once(server: Server) -> None:
    store = server.service.store

    def one_more(_: int) -> bool:
        try:
            store.backtests.create("", {}, most=5)
        except TooManyError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(one_more, range(20))) == 5


def test_backtests_and_advertisements_of_keys_come_first(server: Server) -> None:
    store = server.service.store
    store.backtests.create("", {})
    mine = store.backtests.create("k1", {})
    claimed = store.backtests.claim()
    assert claimed is not None
    assert claimed.id == mine
    for _ in range(3):
        server.client.post("/v1/advertisements", json={"event_type": "antiques"})
    key = server.key("publish")
    server.client.post("/v1/advertisements", json={"event_type": "lots"}, headers=key)
    listed = server.client.get("/v1/advertisements", params={"limit": 2}, headers=key).json()["items"]
    assert [one["yours"] for one in listed] == [False, True]


def test_the_store_is_not_asked_at_the_pace_of_whoever_has_too_much() -> None:
    asked: list[int] = []

    def still(made: Any) -> Any:
        asked.append(len(made))
        return made

    kept: Standing[int] = Standing(40, still)
    for n in range(60):
        with kept.one_more(_From("10.0.0.1")) as note:
            assert (note is None) is (n >= 20)
            if note is not None:
                note(n)
    assert asked == [20]


def test_readers_of_one_key_leave_room_for_others(start: Callable[..., Server]) -> None:
    server = start(Settings(limits=LimitSettings(listeners=2)))
    one, other = server.key("subscribe"), server.key("subscribe")
    ids = [server.subscribe(headers=key)["id"] for key in (one, other)]
    found = server.service.store.subscriptions.get(ids[0])
    assert found is not None
    with server.service.readers.place(Claimant(f"key {found.owner}", keyed=True)):
        answers = [
            server.client.get(f"/v1/subscriptions/{id}/{how}", params={"wait": 0.01}, headers=key).status_code
            for id, key in zip(ids, (one, other), strict=True)
            for how in ("notifications", "stream")[: 1 + (key is one)]
        ]
    assert answers == [503, 503, 200]
