"""Bodies of requests: how large and how slow one may be, how much memory each caller may have, and who gives way."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tamis.service.http.content_encoding import Inflation, inflation_of
from tamis.service.intake.problems import Problem

_SMALL: Final = 64 << 10  # bytes of a body that others make room for, and for which there is always some more
_MORE: Final = 1.25  # of what there is, for small ones


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

        async def limited() -> Message:
            nonlocal body, inflation
            if body is None:
                inflation = inflation_of(scope)
                body = Body(self._caller_of(scope))
            if body.complete:
                # What comes now is the end of the connection, for which one may wait as long as it takes.
                return await receive()
            coming = partial(self._next, body, receive)
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


@dataclass(slots=True, eq=False)
class Body:
    """One body on its way, or in the hands of its route (`complete`).

    `came` are the bytes that were received, `taken` what they are when inflated. `held` are those of the latter that
    count: none once it is given up. `waited` are the seconds that its caller was waited for, without the wait under
    way, which began at `asked`.
    """

    caller: str = ""
    came: int = 0
    taken: int = 0
    held: int = 0
    waited: float = 0.0
    asked: float | None = None
    complete: bool = False
    given_up: bool = False
    waiting: asyncio.Timeout | None = None

    def patience(self, now: float) -> float:
        """Seconds that the caller has been waited for."""
        return self.waited + (now - self.asked if self.asked is not None else 0.0)

    def give_up(self) -> None:
        self.given_up = True
        if self.waiting is not None and not self.waiting.expired():
            self.waiting.reschedule(asyncio.get_running_loop().time())


class BodyShares:
    """Bytes of all bodies in memory: at most `total`, and at most `share` of one caller.

    Nobody is refused because others are slow: where there is no room for what has just come, the body that has been
    waited for longest is given up. Where a caller has too much it is one of theirs; where all together have, it is one
    of whoever has most. Only bodies that are complete are never given up, as somebody is at work on them.

    Used by the event loop's thread only.
    """

    def __init__(self, total: int, share: int) -> None:
        self._total = total
        self._share = share
        self._bodies: defaultdict[str, set[Body]] = defaultdict(set)
        self._held: defaultdict[str, int] = defaultdict(int)  # by caller
        self.held = 0

    def add(self, body: Body, size: int, now: float) -> bool:
        """Counts bytes that have come; False: the body is one too many, and is given up."""
        self._bodies[body.caller].add(body)
        body.taken += size
        self._count(body, size)
        while not self._fits(body):
            victim = self._victim(body, now)
            if victim is not None and victim is not body:
                self._give_up(victim)
                continue
            if body.taken > _SMALL or not self._fits(body, _MORE):
                self._give_up(body)
            break
        return not body.given_up

    def release(self, body: Body) -> None:
        """Forgets a body that has been dealt with."""
        self._count(body, -body.held)
        bodies = self._bodies[body.caller]
        bodies.discard(body)
        if not bodies:
            del self._bodies[body.caller], self._held[body.caller]

    def _fits(self, body: Body, times: float = 1.0) -> bool:
        return self._held[body.caller] <= self._share * times and self.held <= self._total * times

    def _count(self, body: Body, size: int) -> None:
        body.held += size
        self._held[body.caller] += size
        self.held += size

    def _give_up(self, body: Body) -> None:
        self._count(body, -body.held)
        body.give_up()

    def _victim(self, newest: Body, now: float) -> Body | None:
        """The body that makes room, of a caller that has at least as much as the newest one's; None: there is none."""
        if self._held[newest.caller] > self._share:
            return _slowest(self._bodies[newest.caller], now)
        least = self._held[newest.caller]
        rich = sorted((held, caller) for caller, held in self._held.items() if held >= least)
        for _, caller in reversed(rich):
            if (found := _slowest(self._bodies[caller], now)) is not None:
                return found
        return None


def _slowest(bodies: Iterable[Body], now: float) -> Body | None:
    coming = [body for body in bodies if body.held and not body.complete]
    # To give up small ones makes little room, and would hit those who do no harm.
    return max(coming, key=lambda body: (body.taken > _SMALL, body.patience(now)), default=None)
