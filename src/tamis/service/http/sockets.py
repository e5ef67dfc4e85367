"""Notifications over a WebSocket: one message each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

import orjson
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from tamis.service.base.notification import CursorError, Notification
from tamis.service.delivery.feeds import Feed, FeedEnded
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
    """The other side said something that nobody asked for."""


async def serve_socket(socket: WebSocket, cursor: str | None, listen: Listen, delivered: Delivered) -> None:
    """Sends what a feed has to say until either side ends.

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
    """There is no room for one more."""
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
