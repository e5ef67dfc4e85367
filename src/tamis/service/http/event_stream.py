"""Notifications as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Final

import orjson
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from tamis.service.base.notification import Notification
from tamis.service.delivery.feeds import Feed, FeedEnded
from tamis.service.store import StoreAwayError

MEDIA_TYPE: Final = "text/event-stream"
RETRY_MILLISECONDS: Final = 2_000
_STORE_SECONDS: Final = 1.0  # between two questions to a store that is away
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_HEARTBEAT: Final = b":\n\n"


class EventStream(StreamingResponse):
    """What a feed has to say, for as long as anybody listens. The feed is open only while this is being sent."""

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
    """The stream in pieces: what has come together is sent together; a comment where nothing comes for a while."""
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
    """Notifications as events whose ids are their cursors, so that Last-Event-ID is where to go on."""
    if any(one.notice is not None for one in notifications):
        return b"".join([_named(one) + written([replace(one, notice=None)], wide) for one in notifications])
    if wide:
        return b"".join([b"id: %b\ndata: %b\n\n" % (one.wide_cursor.encode(), one.wide) for one in notifications])
    return b"".join([b"id: %d\ndata: %b\n\n" % (one.position, one.body) for one in notifications])


def _named(notification: Notification) -> bytes:
    """The name of an event that is no match, so that those who listen for matches are not given it."""
    return b"" if notification.notice is None else b"event: %b\n" % orjson.loads(notification.notice)["type"].encode()
