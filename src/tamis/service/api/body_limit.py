"""How large and how slow a body may be, whichever route it is for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tamis.service.api.problems import Problem


class BodyLimit:
    """Refuses bodies by their declared length at once, and others when they turn out too long or come too slowly.

    `held` counts the bytes of all bodies that are being worked on, so that many large ones at once are refused too.

    A body may stand still for `seconds`, and be waited for so long on the whole, longer by one second for every `rate`
    bytes that came. A total alone would cut off large bodies over slow lines, a limit to each pause alone would let a
    byte a second hold a connection for ever. Only waiting counts, not what the server does with what it has.
    """

    def __init__(
        self,
        app: ASGIApp,
        body_bytes: int,
        concurrent_bytes: int,
        seconds: float = 30.0,
        rate: float = 500.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._body_bytes = body_bytes
        self._concurrent_bytes = concurrent_bytes
        self._seconds = seconds
        self._rate = rate
        self._clock = clock
        self.held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        taken = 0
        waited = 0.0
        complete = False

        async def limited() -> Message:
            nonlocal taken, waited, complete
            if complete:
                # What comes now is the end of the connection, for which one may wait as long as it takes.
                return await receive()
            left = self._seconds + taken / self._rate - waited
            if left <= 0:
                raise self._too_slow()
            asked = self._clock()
            try:
                async with asyncio.timeout(min(left, self._seconds)):
                    message = await receive()
            except TimeoutError:
                raise self._too_slow() from None
            waited += self._clock() - asked
            size = len(message.get("body", b""))
            complete = not message.get("more_body", False)
            taken += size
            self.held += size
            self._require(taken)
            return message

        try:
            declared = _declared_length(scope)
            if declared is not None and declared > self._body_bytes:
                await self._too_large().response()(scope, receive, send)
            else:
                await self._app(scope, limited, send)
        finally:
            self.held -= taken

    def _require(self, taken: int) -> None:
        if taken > self._body_bytes:
            raise self._too_large()
        if self.held > self._concurrent_bytes:
            detail = "too many large bodies at once; try again in a moment"
            raise Problem(503, "busy", detail, headers={"Retry-After": "1", **_CLOSE})

    def _too_slow(self) -> Problem:
        detail = (
            f"the body comes too slowly: it may take {self._seconds:g} seconds, or come at {self._rate:g} bytes a "
            f"second and more, and never stand still for {self._seconds:g} seconds"
        )
        return Problem(408, "slow", detail, headers=_CLOSE)

    def _too_large(self) -> Problem:
        detail = f"the body has more than {self._body_bytes:,} bytes; send less at a time"
        return Problem(413, "too-large", detail, headers=_CLOSE)


# What is left of the body is not worth reading.
_CLOSE: Final = {"Connection": "close"}


def _declared_length(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
    return None
