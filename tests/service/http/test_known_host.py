"""Names that lead to this machine and are not this machine's."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from tamis.service.base.configuration import AccessSettings, Settings
from tamis.service.http.request_guards import KnownHost
from tamis.service.serve import is_for_this_machine


async def hello(_: object) -> PlainTextResponse:
    return PlainTextResponse("hello")


async def talk(socket: WebSocket) -> None:
    await socket.accept()
    await socket.close()


client = TestClient(KnownHost(Starlette(routes=[Route("/", hello), WebSocketRoute("/socket", talk)])))


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8080",
        "tamis.localhost:1",
        "ip6-localhost:80",
        "127.0.0.1:8080",
        "192.168.1.5",
        "[::1]:8080",
    ],
)
def test_this_machine_may_be_called_so(host: str) -> None:
    assert client.get("/", headers={"Host": host}).text == "hello"
    with client.websocket_connect("/socket", headers={"Host": host}):
        pass


@pytest.mark.parametrize(
    "host", ["evil.example:8080", "localhost.evil.example", "127.0.0.1.nip.io", "127.0.0.1:8080@evil.example", "x"]
)
def test_another_name_is_refused(host: str) -> None:
    answer = client.get("/", headers={"Host": host})
    assert (answer.status_code, answer.json()["type"]) == (421, "urn:tamis:problem:host")
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/socket", headers={"Host": host}):
        pass


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(), True),
        (Settings(host="::1"), True),
        (Settings(host="localhost"), True),
        (Settings(host="0.0.0.0"), False),
        (Settings(host="tamis.example.org"), False),
        (Settings(trusted_proxies=("127.0.0.1",)), False),
        (Settings(access=AccessSettings(publish="keys")), True),
        (Settings(access=AccessSettings(publish="keys", subscribe="keys")), False),
    ],
)
def test_only_a_server_for_this_machine_that_anyone_may_use_asks_for_names(settings: Settings, expected: bool) -> None:
    assert is_for_this_machine(settings) is expected
