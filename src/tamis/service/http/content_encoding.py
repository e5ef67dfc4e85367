"""Bodies that were compressed for their way: gzip is inflated piece by piece, as far as its reader goes on reading."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.types import Message, Scope

from tamis.quoting import shown
from tamis.service.intake.problems import Problem

_GZIP: Final = ("gzip", "x-gzip")
_WITH_HEADER: Final = 16 + zlib.MAX_WBITS  # to zlib: gzip's header and checksum, not its own
_PIECE: Final = 64 << 10  # inflated bytes handed on at a time
_SLICE: Final = 16 << 10  # compressed bytes given to zlib at a time, which copies what it leaves of them
_MOST_MEMBERS: Final = 1_000  # gzip streams one after the other: each costs much more than its twenty bytes


def encodings(scope: Scope) -> list[str]:
    """Encodings of a body, by its `Content-Encoding`; empty where it is as it was."""
    named = b",".join(value for name, value in scope["headers"] if name == b"content-encoding")
    found = [each.strip().lower() for each in named.decode("latin-1").split(",")]
    return [each for each in found if each not in ("", "identity")]


def inflation_of(scope: Scope) -> Inflation | None:
    """Inflation of a request's body; None: it needs nothing. A `Problem` if its encoding is not known."""
    named = encodings(scope)
    if not named:
        return None
    if len(named) == 1 and named[0] in _GZIP:
        return Inflation()
    raise _unsupported(f"bodies are read as they are, or in gzip, and this one is in {shown(', '.join(named))}")


def require_plain(scope: Scope) -> None:
    """A `Problem` if the body was compressed in any way."""
    if named := encodings(scope):
        raise _unsupported(f"only events are read compressed: send this without {shown(', '.join(named))}")


def _unsupported(detail: str) -> Problem:
    return Problem(415, "content-encoding", detail, headers={"Accept-Encoding": "gzip", "Connection": "close"})


class Inflation:
    """A gzip body on its way. One message of what came is there at a time, and one piece of what it is inflated to."""

    def __init__(self) -> None:
        self._came = memoryview(b"")  # compressed bytes that zlib has not been given
        self._given = b""  # those that it was given and left over
        self._owes = False  # zlib may have more without being given more
        self._has_all = False
        self._members = 0
        self._member: Any = None  # zlib's own type has no name

    async def next(self, receive: Callable[[], Awaitable[Message]]) -> Message:
        """The next message with a piece of the body, made of as many as it takes."""
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
        """The next piece of what came; empty if more must come."""
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
