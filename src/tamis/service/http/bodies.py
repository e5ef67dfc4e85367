"""Request bodies: gzip decompression, limits of size and pace, memory shares of callers, and which body is given up."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tamis.errors import shown
from tamis.service.intake.problems import Problem

# Compressed bodies: gzip is inflated piece by piece, as far as the reader goes on reading.

_GZIP: Final = ("gzip", "x-gzip")
_WITH_HEADER: Final = 16 + zlib.MAX_WBITS  # to zlib: gzip's header and checksum, not its own
_PIECE: Final = 64 << 10  # inflated bytes handed on at a time
_SLICE: Final = 16 << 10  # compressed bytes given to zlib at a time, which copies what it leaves of them
_MOST_MEMBERS: Final = 1_000  # gzip streams one after the other: each costs much more than its twenty bytes


def encodings(scope: Scope) -> list[str]:
    """Encodings of a body, by its `Content-Encoding`; empty for a plain body."""
    named = b",".join(value for name, value in scope["headers"] if name == b"content-encoding")
    found = [each.strip().lower() for each in named.decode("latin-1").split(",")]
    return [each for each in found if each not in ("", "identity")]


def inflation_of(scope: Scope) -> Inflation | None:
    """Decompression of a request's body; None: not compressed. A `Problem` if its encoding is not known."""
    named = encodings(scope)
    if not named:
        return None
    if len(named) == 1 and named[0] in _GZIP:
        return Inflation()
    raise _unsupported(f"bodies are read as they are, or in gzip, and this one is in {shown(', '.join(named))}")


def require_plain(scope: Scope) -> None:
    """Raises a `Problem` if the body is compressed in any way."""
    if named := encodings(scope):
        raise _unsupported(f"only events are read compressed: send this without {shown(', '.join(named))}")


def _unsupported(detail: str) -> Problem:
    return Problem(415, "content-encoding", detail, headers={"Accept-Encoding": "gzip", "Connection": "close"})


class Inflation:
    """Streaming decompression of a gzip body. One received message, and one piece of its content, is in memory at a
    time.
    """

    def __init__(self) -> None:
        self._came = memoryview(b"")  # compressed bytes that zlib has not been given
        self._given = b""  # those that it was given and left over
        self._owes = False  # zlib may have more without being given more
        self._has_all = False
        self._members = 0
        self._member: Any = None  # zlib's own type has no name

    async def next(self, receive: Callable[[], Awaitable[Message]]) -> Message:
        """Next message with a piece of the body, received in as many messages as it takes."""
        while not (piece := self._inflated()):
            if self._has_all:
                self._require_end()
                return {"type": "http.request", "body": b"", "more_body": False}
            message = await receive()
            if message["type"] != "http.request":
                return message
            self._came = memoryview(message.get("body", b""))
            self._has_all = not message.get("more_body", False)
        # A small message may be a long body: others have their turn between its pieces.
        await asyncio.sleep(0)
        return {"type": "http.request", "body": piece, "more_body": True}

    def _inflated(self) -> bytes:
        """Next decompressed piece of what was received; empty if more must come."""
        while True:
            if not self._given:
                self._given, self._came = bytes(self._came[:_SLICE]), self._came[_SLICE:]
            if not self._given and not self._owes:
                return b""
            if self._member is None or self._member.eof:
                self._begin_member()
            try:
                piece: bytes = self._member.decompress(self._given, _PIECE)
            except zlib.error:
                raise _damaged("the body is said to be gzip, and is not") from None
            self._owes = len(piece) == _PIECE and not self._member.eof
            self._given = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            if piece:
                return piece

    def _begin_member(self) -> None:
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise _damaged(f"the body is more than {_MOST_MEMBERS:,} gzip streams; compress it as one")
        self._member = zlib.decompressobj(_WITH_HEADER)

    def _require_end(self) -> None:
        if self._member is not None and not self._member.eof:
            raise _damaged("the body ends before its gzip stream does")


def _damaged(detail: str) -> Problem:
    return Problem(400, "content-encoding", detail, headers={"Connection": "close"})


_SMALL: Final = 64 << 10  # bytes of a body that others make room for, and for which there is always some more
_MORE: Final = 1.25  # of what there is, for small ones


class BodyLimit:
    """Middleware that refuses bodies by their declared length at once, and others when they turn out too long or come
    too slowly.

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
        """Waits for the next piece of a body, within its time limits."""
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


# The rest of the body is not worth reading.
_CLOSE: Final = {"Connection": "close"}


def declared_length(scope: Scope) -> int | None:
    """Declared length of a body in bytes; None without one."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
    return None


@dataclass(slots=True, eq=False)
class Body:
    """Request body, being received or held by its route (`complete`).

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
        """Seconds spent waiting for the caller."""
        return self.waited + (now - self.asked if self.asked is not None else 0.0)

    def give_up(self) -> None:
        self.given_up = True
        if self.waiting is not None and not self.waiting.expired():
            self.waiting.reschedule(asyncio.get_running_loop().time())


class BodyShares:
    """Memory of all request bodies: at most `total` bytes, and at most `share` of one caller.

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
        """Counts received bytes; returns False if the body is one too many, and is given up."""
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
        """Forgets a body that has been handled."""
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
        """Body to give up, of a caller that has at least as much as the newest one's; None: there is none."""
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
