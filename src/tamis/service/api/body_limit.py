"""How large and how slow a body may be, whichever route it is for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tamis.service.api.body_shares import Body, BodyShares
from tamis.service.api.content_encoding import Inflation, inflation_of
from tamis.service.api.problems import Problem


class BodyLimit:
    """Refuses bodies by their declared length at once, and others when they turn out too long or come too slowly.

    A body may stand still for `seconds`, and be waited for so long on the whole, longer by one second for every `rate`
    bytes that came, and for `longest` seconds at most. A total alone would cut off large bodies over slow lines or let
    small ones dawdle, a limit to each pause alone would let a byte a second hold a connection for ever. Only waiting
    counts, not what the server does with what it has.

    `shares` has the bytes of all bodies that are being worked on, by whom `caller_of` says a request is from. That is
    asked when the body is first read: routes look at the key before that.

    Compressed bodies are inflated here, as far as they are read: all of this holds for what they are inflated to, and
    the limit, and what time they are given, for what comes as well.
    """

    def __init__(
        self,
        app: ASGIApp,
        body_bytes: int,
        concurrent_bytes: int,
        caller_bytes: int | None = None,
        seconds: float = 30.0,
        rate: float = 500.0,
        longest: float = 600.0,
        caller_of: Callable[[Scope], str] = lambda scope: "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._body_bytes = body_bytes
        self._seconds = seconds
        self._rate = rate
        self._longest = longest
        self._caller_of = caller_of
        self._clock = clock
        # A share in which no body has room would be a limit to bodies, and that is another setting.
        share = concurrent_bytes if caller_bytes is None else max(caller_bytes, body_bytes)
        self.shares = BodyShares(concurrent_bytes, share)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = declared_length(scope)
        if declared is not None and declared > self._body_bytes:
            await self._too_large().response()(scope, receive, send)
            return
        body: Body | None = None
        inflation: Inflation | None = None

        async def coming() -> Message:
            assert body is not None
            return await self._next(body, receive)

        async def limited() -> Message:
            nonlocal body, inflation
            if body is None:
                inflation = inflation_of(scope)
                body = Body(self._caller_of(scope))
            if body.complete:
                # What comes now is the end of the connection, for which one may wait as long as it takes.
                return await receive()
            message = await (coming() if inflation is None else inflation.next(coming))
            body.complete = not message.get("more_body", False)
            if body.taken + len(message.get("body", b"")) > self._body_bytes:
                raise self._too_large()
            if not self.shares.add(body, len(message.get("body", b"")), self._clock()):
                raise _given_up()
            return message

        try:
            await self._app(scope, limited, send)
        finally:
            if body is not None:
                self.shares.release(body)

    async def _next(self, body: Body, receive: Receive) -> Message:
        """Waits for the next piece of a body as long as it deserves."""
        left = min(self._seconds + body.came / self._rate, self._longest) - body.waited
        if left <= 0 or body.given_up:
            raise self._not_waited_for(body)
        body.asked = self._clock()
        try:
            async with asyncio.timeout(min(left, self._seconds)) as body.waiting:
                message = await receive()
        except TimeoutError:
            raise self._not_waited_for(body) from None
        finally:
            body.waited += self._clock() - body.asked
            body.asked = body.waiting = None
        body.came += len(message.get("body", b""))
        if body.came > self._body_bytes:
            raise self._too_large()
        return message

    def _not_waited_for(self, body: Body) -> Problem:
        if body.given_up:
            return _given_up()
        detail = (
            f"the body comes too slowly: it may take {self._seconds:g} seconds, or come at {self._rate:g} bytes a "
            f"second and more for {self._longest:g} seconds, and never stand still for {self._seconds:g} seconds"
        )
        return Problem(408, "slow", detail, headers=_CLOSE)

    def _too_large(self) -> Problem:
        detail = f"the body has more than {self._body_bytes:,} bytes; send less at a time"
        return Problem(413, "too-large", detail, headers=_CLOSE)


def _given_up() -> Problem:
    detail = "too many large bodies at once, and others are in before this one; send it again, and fewer at a time"
    return Problem(503, "busy", detail, headers={"Retry-After": "1", **_CLOSE})


# What is left of the body is not worth reading.
_CLOSE: Final = {"Connection": "close"}


def declared_length(scope: Scope) -> int | None:
    """Bytes that a body is said to have; None where nothing is said."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
    return None
