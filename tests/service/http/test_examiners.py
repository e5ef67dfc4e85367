"""Examiners: what a stranger's filter may take of the time and memory of others."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from tamis.service.base.configuration import LimitSettings, Settings
from tamis.service.examining.pool import unless_gone
from tests.service.http.server import CHEAP, Server

FORM = {"filter": "price < 10", "event": CHEAP}


def test_a_question_that_takes_too_long_is_refused_and_its_process_killed(start: Callable[..., Server]) -> None:
    server = start(Settings(limits=LimitSettings(examine_seconds=1e-4)))
    made = server.subscribe()
    ticket = {"Tamis-Ticket": made["ticket"]}
    asked: list[tuple[str, Any]] = [
        ("filters/explain", FORM),
        ("filters/try", {"filter": "price < 10"}),
        (f"subscriptions/{made['id']}/test", {"event": CHEAP}),
    ]
    for path, form in asked:
        answer = server.client.post(f"/v1/{path}", json=form, headers=ticket)
        assert (answer.status_code, answer.json()["type"]) == (422, "urn:tamis:problem:deadline")
        assert "0.0001 seconds" in answer.json()["detail"]
        assert not _examiners(server)


def test_a_process_that_dies_is_replaced(server: Server) -> None:
    assert server.client.post("/v1/filters/explain", json=FORM).json()["matched"]
    (first,) = _examiners(server)
    os.kill(first, signal.SIGKILL)
    answers = [server.client.post("/v1/filters/explain", json=FORM) for _ in range(2)]
    assert answers[-1].json()["matched"]
    assert answers[0].status_code in (200, 503)
    assert _examiners(server) != {first}


def test_an_examiner_is_used_again_and_follows_the_schema(server: Server) -> None:
    key = server.key("administer")
    assert server.client.post("/v1/filters/explain", json=FORM).status_code == 200
    before = _examiners(server)
    unknown = {"filter": "height > 3", "event": {**CHEAP, "height": 4.0}}
    assert server.client.post("/v1/filters/explain", json=unknown).json()["type"] == "urn:tamis:problem:filter"
    extension = {"attributes": {"height": "float"}, "optional": {"antiques": {"height": "optional"}}}
    grown = server.client.post("/v1/schema/extensions", json=extension, headers=key)
    assert grown.status_code < 300, grown.text
    assert server.client.post("/v1/filters/explain", json=unknown).json()["matched"]
    assert _examiners(server) == before != set()


def test_an_event_to_look_at_may_weigh_less_than_one_to_publish(server_once: Server) -> None:
    large = {"filter": "price < 10", "event": {**CHEAP, "title": "x" * (256 << 10)}}
    answer = server_once.client.post("/v1/filters/explain", json=large)
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:tamis:problem:too-large")
    assert server_once.client.post("/v1/events", json=large["event"]).status_code == 202


def test_of_large_events_that_were_tried_an_answer_has_few(server: Server) -> None:
    for _ in range(4):
        server.publish([{**CHEAP, "title": "x" * 600_000}] * 10)
    tried = server.client.post("/v1/filters/try", json={"filter": "price < 60"}).json()
    assert (tried["examined"], tried["matched"], len(tried["events"])) == (27, 27, 1)


def test_whoever_hangs_up_is_answered_no_more() -> None:
    class Hanging:
        async def receive(self) -> dict[str, str]:
            return {"type": "http.disconnect"}

    async def run() -> None:
        asking = asyncio.create_task(_for_ever())
        with pytest.raises(ClientDisconnect):
            await unless_gone(Hanging(), asking)  # type: ignore[arg-type]  # that is all that is asked of a request
        assert asking.cancelled()

    asyncio.run(run())


async def _for_ever() -> bytes:
    await asyncio.Event().wait()
    return b""


def _examiners(server: Server) -> set[int]:
    return server.service.examiners.pids
