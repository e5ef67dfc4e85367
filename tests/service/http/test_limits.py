"""How much and how often a stranger may ask, and what is noted of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from starlette.testclient import WebSocketDenialResponse
from starlette.types import Message, Receive, Scope, Send

from tamis.service.base.configuration import LimitSettings, Settings
from tamis.service.http.bodies import BodyLimit
from tamis.service.intake.allowances import RateLimit
from tamis.service.intake.problems import Problem
from tests.service.http.server import Server


def test_a_body_is_refused_by_the_length_it_declares(start: Callable[..., Server]) -> None:
    server = start(Settings(limits=LimitSettings(body_bytes=1_000)))
    headers = {"Content-Type": "application/json", "Content-Length": str(10**15)}
    answer = server.client.post("/v1/events", content=b"{}", headers=headers)
    assert (answer.status_code, answer.headers["Connection"]) == (413, "close")
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["/v1/events", "/v1/subscriptions", "/v1/filters/check"])
def test_a_chunked_body_is_refused_where_it_becomes_too_long(start: Callable[..., Server], path: str) -> None:
    server = start(Settings(limits=LimitSettings(body_bytes=1_000)))
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while sent < 1_000_000:
            sent += 100
            yield b" " * 100

    answer = server.client.post(path, content=endless(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:tamis:problem:too-large")


def test_a_body_that_stands_still_is_given_up() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()

    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def nowhere(message: Message) -> None: ...

    limit = BodyLimit(app, 100, 100, seconds=0.01)
    with pytest.raises(Problem) as refused:
        asyncio.run(limit({"type": "http", "headers": []}, never, nowhere))
    assert refused.value.status == 408
    assert limit.shares.held == 0


class Pieces:
    """A body of so many pieces, one every so many seconds of a clock that goes on only by them."""

    def __init__(self, count: int, size: int, seconds: float) -> None:
        self.now = 0.0
        self._left = count
        self._size, self._seconds = size, seconds

    async def receive(self) -> Message:
        self.now += self._seconds
        self._left -= 1
        return {"type": "http.request", "body": b"x" * self._size, "more_body": self._left > 0}


def seconds_until_refused(pieces: Pieces, *, rate: float = 500) -> float | None:
    """When a body that comes so is given up; None: it is not."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass

    async def nowhere(message: Message) -> None: ...

    limit = BodyLimit(app, 10**9, 10**9, seconds=30, rate=rate, clock=lambda: pieces.now)
    refused: Problem | None = None
    try:
        asyncio.run(limit({"type": "http", "headers": []}, pieces.receive, nowhere))
    except Problem as problem:
        refused = problem
    assert limit.shares.held == 0
    if refused is None:
        return None
    assert (refused.status, refused.headers) == (408, {"Connection": "close"})
    return pieces.now


def test_a_body_of_a_byte_a_second_is_given_up_like_one_that_does_not_come() -> None:
    assert seconds_until_refused(Pieces(10_000, size=1, seconds=1)) == 31


@pytest.mark.parametrize(
    "pieces",
    [
        Pieces(29, size=1, seconds=1),  # slow, and soon over
        Pieces(590, size=600, seconds=1),  # nearly ten minutes
        Pieces(20, size=20_000, seconds=29),  # with a pause after each
    ],
)
def test_a_body_that_goes_on_steadily_is_waited_for(pieces: Pieces) -> None:
    assert seconds_until_refused(pieces) is None


def test_what_came_fast_at_first_does_not_excuse_slowness_for_ever() -> None:
    pieces = Pieces(10_000, size=1, seconds=1)
    first = pieces.receive

    async def receive() -> Message:
        message = await first()
        return {**message, "body": b"x" * 10_000} if pieces.now == 1 else message

    pieces.receive = receive  # type: ignore[method-assign]
    assert seconds_until_refused(pieces) == 51  # 30 s, and 20 for ten thousand bytes


def test_no_body_is_waited_for_longer_than_ten_minutes() -> None:
    assert seconds_until_refused(Pieces(10_000, size=600, seconds=1)) == 600


def test_the_patience_with_bodies_is_a_setting(start: Callable[..., Server]) -> None:
    server = start(Settings(limits=LimitSettings(body_seconds=7, body_rate=11, body_longest=13, caller_bytes=17)))
    app: Any = server.client.app
    (limit,) = (each for each in app.user_middleware if each.cls is BodyLimit)
    set_to = [limit.kwargs[name] for name in ("seconds", "rate", "longest", "caller_bytes")]
    assert set_to == [7, 11, 13, 17]


def test_bodies_share_one_allowance_and_give_it_back() -> None:
    limit: BodyLimit
    statuses: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await receive()
        except Problem as problem:
            statuses.append(problem.status)
            return
        statuses.append(200)
        await asyncio.sleep(0)

    async def message() -> Message:
        return {"type": "http.request", "body": b"x" * 600_000, "more_body": False}

    async def nowhere(message: Message) -> None: ...

    limit = BodyLimit(app, 1_000_000, 1_000_000)

    async def both() -> None:
        scope: Any = {"type": "http", "headers": []}
        await asyncio.gather(limit(scope, message, nowhere), limit(scope, message, nowhere))
        await limit(scope, message, nowhere)

    asyncio.run(both())
    assert statuses == [200, 503, 200]
    assert limit.shares.held == 0


def test_a_bucket_refills_with_time() -> None:
    now = 0.0
    limit = RateLimit(2.0, 3, clock=lambda: now)
    assert [limit.take("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert limit.take("b") == 0
    now = 0.5
    assert [limit.take("a"), limit.take("a")] == [0, 0.5]
    now = 100.0
    assert [limit.take("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_too_many_requests_are_told_when_to_come_back(start: Callable[..., Server]) -> None:
    server = start(Settings(limits=LimitSettings(requests_per_second=0.01, request_burst=2)))
    key = server.key("subscribe")
    assert [server.client.get("/v1/schema").status_code for _ in range(2)] == [200, 200]
    refused = server.client.get("/v1/schema")
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 100
    assert server.client.get("/v1/schema", headers=key).status_code == 200, "a key has a bucket of its own"
    assert server.client.get("/health").status_code == 200


def test_guessing_keys_is_slowed_down_by_address(start: Callable[..., Server]) -> None:
    server = start(Settings(limits=LimitSettings(requests_per_second=0.01, request_burst=3)))
    guesses = [{"Authorization": f"Bearer tk_{n:016x}_{'A' * 43}"} for n in range(4)]
    assert [server.client.get("/v1/status", headers=guess).status_code for guess in guesses] == [401, 401, 401, 429]


def test_the_access_log_has_no_secrets(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    made = server.subscribe()
    boss = server.key("administer")
    with caplog.at_level(logging.INFO, logger="tamis"):
        server.client.get(f"/v1/subscriptions/{made['id']}/stream?ticket={made['ticket']}x&key=tk_secret")
        server.client.get("/v1/keys", headers={**boss, "Tamis-Ticket": made["ticket"]})
    assert "/stream" in caplog.text
    for secret in (made["ticket"], "tk_", "key="):
        assert secret not in caplog.text


def test_answers_keep_browsers_careful_and_let_no_other_site_read(server: Server) -> None:
    for path in ("/v1/schema", "/v1/keys", "/nowhere", "/health", "/console/"):
        headers = server.client.get(path, headers={"Origin": "https://elsewhere.example"}).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert not any(name.lower().startswith("access-control-") for name in headers)


def test_a_fault_in_the_server_tells_nothing_of_itself(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr(server.service.supervisor, "status", broken)
    answer = server.client.get("/v1/status")
    assert answer.status_code == 500
    assert "swordfish" not in answer.text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"filter": NaN}',
        b'{"filter": "\\ud800"}',
        b"[" * 5_000,
        b'"x"',
        b"{}x",
        b'{"filter": "price < 1", "filter": "price < 2"}',
    ],
)
@pytest.mark.parametrize("path", ["/v1/subscriptions", "/v1/filters/explain", "/v1/backtests", "/v1/advertisements"])
def test_a_body_that_is_no_form_is_refused(server_once: Server, path: str, body: bytes) -> None:
    answer = server_once.client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert orjson.loads(answer.content)["status"] == answer.status_code


def test_an_event_nested_without_end_is_refused_in_an_explanation(start: Callable[..., Server]) -> None:
    server = start(Settings(unknown_attributes="ignore"))
    headers = {"Content-Type": "application/json"}
    for depth, status in ((90, 200), (110, 422), (300, 400), (1_000, 400), (200_000, 400)):
        event = b'{"event_type": "antiques", "price": 3, "a": ' + b'{"a":' * depth + b"1" + b"}" * (depth + 1)
        deep = b'{"filter": "price < 1", "event": ' + event + b"}"
        assert server.client.post("/v1/filters/explain", content=deep, headers=headers).status_code == status


def test_too_many_new_readers_are_told_when_to_come_back_before_anything_is_looked_up(
    start: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start(Settings(limits=LimitSettings(listeners_per_second=0.01, listener_burst=2)))
    made = server.subscribe()
    path, ticket = f"/v1/subscriptions/{made['id']}/stream", {"Tamis-Ticket": made["ticket"]}
    nobody = "/v1/subscriptions/sub_AAAAAAAAAAAAAAAAAAAAAA/stream"
    assert [server.client.get(nobody, headers=ticket).status_code for _ in range(2)] == [404, 404]

    def look_up(*_: object) -> None:
        raise AssertionError("a refused reader costs a look at the store")

    monkeypatch.setattr(server.service.store.subscriptions, "get", look_up)
    refused = server.client.get(path, headers=ticket)
    assert refused.status_code == 429
    assert "readers" in refused.json()["detail"]
    assert 1 <= int(refused.headers["Retry-After"]) <= 100
    monkeypatch.undo()
    polled = server.client.get(f"/v1/subscriptions/{made['id']}/notifications", headers=ticket)
    assert polled.status_code == 200, "whoever polls opens nothing"
    with pytest.raises(WebSocketDenialResponse), server.client.websocket_connect(f"{path[:-6]}socket", headers=ticket):
        raise AssertionError("sockets have the same rate")
