"""Requests whose head does not end, spoken byte by byte to the protocol that the server uses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from tamis.service.http.request_guards import HeadLimit

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


async def answer_at_once(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def spoken(talk: Talk, app: ASGIApp = echo) -> bytes:
    """What a server said to somebody who talked to it so."""

    async def conversation() -> bytes:
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none")
        config.load()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: HeadLimit(config, ServerState(), {}), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        try:
            return await asyncio.wait_for(talk(reader, writer), 30)
        finally:
            writer.close()
            server.close()

    return asyncio.run(conversation())


async def everything(reader: asyncio.StreamReader) -> bytes:
    said = b""
    try:
        while piece := await reader.read(1 << 16):
            said += piece
    except ConnectionResetError:
        # It closed while we were still talking, as it should.
        return said
    return said


@pytest.mark.parametrize(
    "endless",
    [
        b"GET /" + b"a" * 400_000,
        b"GET / HTTP/1.1\r\nX: " + b"a" * 400_000,
        b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 80_000,
    ],
)
def test_a_head_without_end_is_refused(endless: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(endless)
        return await everything(reader)

    assert b"200 OK" not in spoken(talk)


def test_headers_after_a_chunked_body_are_limited_too() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n")
        writer.write(b"X: a\r\n" * 80_000)
        return await everything(reader)

    assert b"200 OK" not in spoken(talk)


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "])
def test_a_head_that_does_not_come_is_not_waited_for(begun: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HeadLimit, "seconds", 0.05)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(begun)
        return await everything(reader)

    assert spoken(talk) == b""


def test_the_rest_of_a_body_that_is_answered_already_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HeadLimit, "seconds", 0.05)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
        said = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"x")  # and no more: uvicorn alone would wait for the rest for ever
        return said + await everything(reader)

    assert spoken(talk, answer_at_once) == b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"


def test_a_body_that_comes_after_its_answer_leaves_the_connection_in_use() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        for _ in range(3):
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 404")
            writer.write(b"abc")
        return b"done"

    assert spoken(talk, answer_at_once) == b"done"


def test_large_bodies_and_many_requests_on_a_connection_are_none_of_its_business() -> None:
    body = b"x" * 300_000
    request = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        for _ in range(3):
            writer.write(request)
            said = await reader.readuntil(b"\r\n\r\n")
            assert said.startswith(b"HTTP/1.1 200 OK")
            assert await reader.readexactly(len(body)) == body
        return b"done"

    assert spoken(talk) == b"done"
