"""Live streams of notifications: WebSocket messages, server-sent events (SSE), and Uvicorn's WebSocket protocol with
its own errors handled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Final

import orjson
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from tamis.service.base.events import CursorError, Notification
from tamis.service.delivery.fanout import Feed, FeedEnded
from tamis.service.store import StoreAwayError

HELLO_SECONDS: Final = 2.0
_STORE_SECONDS: Final = 1.0  # between two questions to a store that is away
_LONGEST_HELLO: Final = 200
_NORMAL, _GOING, _REFUSED, _LATER = 1000, 1001, 1008, 1013

_ENDS: Final = {
    "stopping": (_GOING, "restarting"),
    "revoked": (_REFUSED, "the key is revoked"),
    "given to another key": (_REFUSED, "the subscription was given to another key"),
}

Listen = Callable[[str | None], AbstractAsyncContextManager[Feed]]
Delivered = Callable[[Sequence[Notification]], None]


class _SaidMore(Exception):  # noqa: N818 - reads as what happened
    """The client sent a message that is not expected."""


async def serve_socket(socket: WebSocket, cursor: str | None, listen: Listen, delivered: Delivered) -> None:
    """Sends a feed's notifications until either side closes.

    Without a cursor in the address, the first message may be `{"cursor": "…"}`; if none comes soon, the feed begins
    where it does by itself. Whoever says anything else is hung up on: there is no rate for what comes over a socket.
    """
    await socket.accept()
    try:
        if cursor is None:
            cursor = await _hello(socket)
        async with listen(cursor) as feed:
            await _until_either_ends(_send(socket, feed, delivered), _until_gone(socket))
    except (CursorError, _SaidMore) as error:
        await _close(socket, _REFUSED, str(error))
    except FeedEnded as ended:
        code, reason = _ENDS.get(ended.standing, (_NORMAL, f"the subscription is {ended.standing}"))
        await _close(socket, code, reason)
    except WebSocketDisconnect:
        return


async def refuse_socket(socket: WebSocket, reason: str) -> None:
    """Refuses a socket where the server has no room for another reader."""
    await socket.accept()
    await _close(socket, _LATER, reason)


async def _hello(socket: WebSocket) -> str | None:
    try:
        async with asyncio.timeout(HELLO_SECONDS):
            message = await socket.receive()
    except TimeoutError:
        return None
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", _NORMAL))
    text = message.get("text") or (message.get("bytes") or b"").decode(errors="replace")
    try:
        hello = orjson.loads(text) if len(text) <= _LONGEST_HELLO else None
    except orjson.JSONDecodeError:
        hello = None
    if not isinstance(hello, dict) or not isinstance(hello.get("cursor", ""), str):
        raise CursorError('the first message is {"cursor": "…"}, or {} to begin without one')
    given = hello.get("cursor")
    return given if given else None


async def _until_either_ends(*works: Coroutine[None, None, None]) -> None:
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _send(socket: WebSocket, feed: Feed, delivered: Delivered) -> None:
    while True:
        try:
            found = await feed.take()
        except StoreAwayError:
            await asyncio.sleep(_STORE_SECONDS)
            continue
        for notification in found:
            body = notification.wide if feed.wide else notification.body
            await socket.send({"type": "websocket.send", "text": body.decode()})
        delivered(found)


async def _until_gone(socket: WebSocket) -> None:
    if (await socket.receive())["type"] != "websocket.disconnect":
        raise _SaidMore("a socket is read; all that may be said is where to begin, first, or in ?cursor=")


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    if socket.application_state == WebSocketState.CONNECTED and socket.client_state == WebSocketState.CONNECTED:
        await socket.close(code, reason.encode()[:120].decode(errors="ignore"))


# Server-sent events.

MEDIA_TYPE: Final = "text/event-stream"
RETRY_MILLISECONDS: Final = 2_000
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_HEARTBEAT: Final = b":\n\n"


class EventStream(StreamingResponse):
    """Server-sent events of a feed, until the client disconnects. The feed is open only while this is being sent."""

    media_type = MEDIA_TYPE

    def __init__(
        self,
        listening: AbstractAsyncContextManager[Feed],
        heartbeat: float,
        delivered: Callable[[Sequence[Notification]], None],
    ) -> None:
        self._events = events(listening, heartbeat, delivered)
        super().__init__(self._events, headers=_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            # Whoever goes away while an event is being sent leaves the generator between two events.
            await self._events.aclose()


async def events(
    listening: AbstractAsyncContextManager[Feed], heartbeat: float, delivered: Callable[[Sequence[Notification]], None]
) -> AsyncGenerator[bytes, None]:
    """Stream in pieces: notifications that came together are sent together; comments keep an idle connection open."""
    yield b"retry: %d\n\n" % RETRY_MILLISECONDS
    async with listening as feed:
        while True:
            try:
                async with asyncio.timeout(heartbeat):
                    found = await feed.take()
            except TimeoutError:
                yield _HEARTBEAT
                continue
            except StoreAwayError:
                # Its readers would only come again, and to a service that is no better.
                await asyncio.sleep(_STORE_SECONDS)
                yield _HEARTBEAT
                continue
            except FeedEnded as ended:
                yield b": %b\n\n" % ended.standing.encode()
                return
            yield written(found, feed.wide)
            delivered(found)


def written(notifications: Sequence[Notification], wide: bool) -> bytes:
    """Notifications as server-sent events whose ids are their cursors, so that Last-Event-ID resumes the stream."""
    if any(one.notice is not None for one in notifications):
        return b"".join([_named(one) + written([replace(one, notice=None)], wide) for one in notifications])
    if wide:
        return b"".join([b"id: %b\ndata: %b\n\n" % (one.wide_cursor.encode(), one.wide) for one in notifications])
    return b"".join([b"id: %d\ndata: %b\n\n" % (one.position, one.body) for one in notifications])


def _named(notification: Notification) -> bytes:
    """Name of an event that is no match, so that listeners for matches do not receive it."""
    return b"" if notification.notice is None else b"event: %b\n" % orjson.loads(notification.notice)["type"].encode()


# WebSocket protocol of the server: client messages and refused handshakes leave nothing in the log.

_LOG: Final = logging.getLogger("tamis.service.sockets")
# Uvicorn logs each socket with its query, which may hold a key or a ticket.
_LOG.setLevel(logging.WARNING)

_NO_TEXT: Final = 1007  # the close code for bytes that are no UTF-8


class SocketProtocol(WebSocketsSansIOProtocol):
    """Uvicorn's protocol, changed: by itself it logs a refusal as an application error, and bad text as its own."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.logger = _LOG

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            # The handshake ended with the refusal. Uvicorn would still wait for its end, and complain.
            self.handshake_complete = True

    def send_receive_event_to_app(self) -> None:
        if self.curr_msg_data_type == "text" and not self.close_sent:
            try:
                b"".join(self.frames).decode()
            except UnicodeDecodeError:
                self.frames = []
                self.conn.send_close(_NO_TEXT)
                self.handle_parser_exception()
                return
        super().send_receive_event_to_app()
