"""WebSockets of a server as users have it: who is refused, who talks too much, and what is noted of it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tamis.service.base.configuration import AccessSettings, Settings
from tamis.service.http.service import Service
from tests.service.http.server import CHEAP, PlayedPipeline, make_service, over_http

NOBODYS = "/v1/subscriptions/sub_AAAAAAAAAAAAAAAAAAAAAA/socket"


@dataclass
class Place:
    """A running server: its service, and a client."""

    service: Service
    port: int
    http: httpx.Client

    def subscribe(self) -> str:
        """The path of the socket of a new subscription, its ticket included."""
        made = self.http.post("/v1/subscriptions", json={"filter": "price < 10"}).json()
        return f"/v1/subscriptions/{made['id']}/socket?ticket={made['ticket']}"

    def require_undisturbed(self) -> None:
        """A bystander publishes, subscribes and reads."""
        assert self.http.post("/v1/events", json=[CHEAP]).status_code == 202
        made = self.http.post("/v1/subscriptions", json={"filter": "price < 1"}).json()
        path, ticket = f"/v1/subscriptions/{made['id']}/notifications", {"Tamis-Ticket": made["ticket"]}
        assert self.http.get(path, headers=ticket).status_code == 200


@pytest.fixture(scope="module", params=["anyone", "keys"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    settings = Settings(access=AccessSettings(subscribe=request.param))
    service = make_service(tmp_path_factory.mktemp("sockets") / "state", PlayedPipeline(), settings)
    _, secret = service.store.keys.create("test", ["administer"])
    with over_http(service) as port:
        headers = {"Authorization": f"Bearer {secret}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=30) as http:
            yield Place(service, port, http)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (NOBODYS, 404),
        (NOBODYS.replace("sub_", "sub!"), None),
        (f"{NOBODYS}?key=tk_unknown", 401),
        (f"{NOBODYS}?cursor={'1' * 100}", None),
        ("/v1/socket", 401),
        ("/v1/socket?mine=perhaps", None),
        ("/v1/nowhere", None),
        ("/health", None),
    ],
)
def test_a_refused_socket_leaves_nothing_in_the_log(
    place: Place, caplog: pytest.LogCaptureFixture, path: str, status: int | None
) -> None:
    async def ask() -> int:
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"ws://127.0.0.1:{place.port}{path}")
        return refused.value.response.status_code

    with caplog.at_level(logging.WARNING):
        answered = asyncio.run(ask())
        place.require_undisturbed()
    assert answered == (status or answered)
    assert 400 <= answered < 500
    assert caplog.text == ""


async def closed_with(socket: ClientConnection) -> int | None:
    with pytest.raises(ConnectionClosed) as closed:
        async with asyncio.timeout(20):
            await socket.recv()
    return closed.value.rcvd.code if closed.value.rcvd is not None else None


@pytest.mark.parametrize("said", ["{}", "ping", b"\0" * 100, ["", ""]])
def test_who_talks_where_nobody_listens_is_hung_up_on(place: Place, said: str | bytes | list[str]) -> None:
    async def talk() -> int | None:
        async with connect(f"ws://127.0.0.1:{place.port}{place.subscribe()}&cursor=0") as socket:
            await socket.send(said)
            return await closed_with(socket)

    assert asyncio.run(talk()) == 1008


def test_a_second_message_after_the_first_is_one_too_many(place: Place) -> None:
    async def talk() -> int | None:
        async with connect(f"ws://127.0.0.1:{place.port}{place.subscribe()}") as socket:
            await socket.send("{}")
            await socket.send("{}")
            return await closed_with(socket)

    assert asyncio.run(talk()) == 1008


@pytest.mark.parametrize(
    "said", [b"\0" * 5_000, ["x" * 1_000] * 5, os.urandom(1 << 20)], ids=["compressible", "in parts", "random"]
)
def test_a_message_longer_than_any_that_is_meant_closes_the_socket_unread(
    place: Place, said: bytes | list[str], caplog: pytest.LogCaptureFixture
) -> None:
    async def talk() -> int | None:
        async with connect(f"ws://127.0.0.1:{place.port}{place.subscribe()}") as socket:
            with suppress(ConnectionClosed):  # while we were still talking
                await socket.send(said)
            place.require_undisturbed()
            return await closed_with(socket)

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(talk()) in (1009, None)
    assert caplog.text == ""


def test_deflating_what_is_said_is_not_agreed_on(place: Place) -> None:
    async def offer() -> list[str]:
        async with connect(f"ws://127.0.0.1:{place.port}{place.subscribe()}", compression="deflate") as socket:
            assert socket.response is not None
            return socket.response.headers.get_all("Sec-WebSocket-Extensions")

    assert asyncio.run(offer()) == []


def test_text_that_is_none_closes_the_socket_without_a_line(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    async def talk() -> int | None:
        async with connect(f"ws://127.0.0.1:{place.port}{place.subscribe()}") as socket:
            await socket.send(b"\xff\xfe", text=True)
            return await closed_with(socket)

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(talk()) == 1007
    assert caplog.text == ""


def test_the_log_at_its_most_talkative_has_no_ticket_of_a_socket(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    path = place.subscribe()

    async def listen() -> None:
        async with connect(f"ws://127.0.0.1:{place.port}{path}"):
            pass
        with pytest.raises(InvalidStatus):
            await connect(f"ws://127.0.0.1:{place.port}{path}x&key=tk_secret")

    with caplog.at_level(logging.INFO):
        asyncio.run(listen())
    assert "ticket=" not in caplog.text
    assert "tk_secret" not in caplog.text
