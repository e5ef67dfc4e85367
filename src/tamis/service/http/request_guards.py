"""Guards before any route: allowed host names (against DNS rebinding), the caller's address, and limits of request
heads.

A page of any site can have its own name resolve to 127.0.0.1, and is then of one origin with a server there: the
browser lets it publish, subscribe and read whatever needs no key. The host name that it asks for gives it away.
"""

from __future__ import annotations

import asyncio
import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, ClassVar, Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tamis.service.intake.problems import Problem

_LOCAL: Final = re.compile(
    r"(?:(?:[^:]+\.)?localhost|ip6-localhost)\.?(?::\d+)?|\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|\[[0-9a-f:.]+\](?::\d+)?"
)


class KnownHost:
    """Middleware that refuses requests whose Host is a name other than localhost. Addresses are no names, and cannot be
    rebound.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and not self._is_known(Headers(scope=scope).get("host", "")):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            detail = "this server is for this machine, as localhost; behind a proxy, name that in trusted_proxies"
            await Problem(421, "host", detail).response()(scope, receive, send)
            return
        await self._app(scope, receive, send)

    @staticmethod
    def _is_known(host: str) -> bool:
        # HTTP/1.0 has none, and no browser speaks that.
        return not host or _LOCAL.fullmatch(host.lower()) is not None


# Addresses under which callers are counted.

_PORT: Final = re.compile(r"\[(.+)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+")  # as some proxies hand addresses on
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
_TEREDO: Final = IPv6Network("2001::/32")
_SUBSCRIBER: Final = 64  # bits of an IPv6 address that a provider gives one subscriber; the rest is theirs to choose


@lru_cache(4_096)
def origin(address: str) -> str:
    """Address under which a caller is counted: an IPv4 address, or the /64 of an IPv6 address, which is one host's.

    An IPv6 address that embeds an IPv4 address counts as that one.
    """
    found = _PORT.fullmatch(address)
    try:
        ip = ip_address((found[1] or found[2] if found else address).partition("%")[0])
    except ValueError:
        return address  # of a socket of this machine, or a name that a proxy has for somebody
    if isinstance(ip, IPv6Address):
        if (stands_for := _as_ipv4(ip)) is not None:
            return str(stands_for)
        return str(IPv6Network((int(ip) >> (128 - _SUBSCRIBER) << (128 - _SUBSCRIBER), _SUBSCRIBER)))
    return str(ip)


def _as_ipv4(ip: IPv6Address) -> IPv4Address | None:
    if ip.ipv4_mapped is not None:
        return ip.ipv4_mapped
    if ip.sixtofour is not None:
        return ip.sixtofour
    if ip in _TEREDO:
        return IPv4Address(~int(ip) & 0xFFFFFFFF)
    return IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _TRANSLATED else None


# Limits of a request's head (its first line and headers), of size and time, and of bodies that nobody reads.

_REFUSAL: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: application/problem+json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
)
_DETAIL: Final = (
    b'{"type":"urn:tamis:problem:too-large","title":"Request Header Fields Too Large","status":431,'
    b'"detail":"the first line and the headers are longer than a server has to read","errors":[]}'
)


class HeadLimit(HttpToolsProtocol):
    """Uvicorn's protocol with limits for heads: by itself it waits for ever, and buffers whatever is sent.

    `_kept` counts what came since the last byte of a body was handed on, or a head was complete: the parser holds all
    of it. What follows a chunked body (trailers) counts like a head.

    An answer may be given before the body is there: to a path that does not exist, without a key. What is left of the
    body is then read by nobody, and has to come, with the head of the next request, in the time that a head has.
    """

    most_bytes: ClassVar[int] = 64 << 10
    seconds: ClassVar[float] = 20.0

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._kept = 0
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        self._kept += len(data)
        super().data_received(data)
        if self._kept > self.most_bytes and not self.transport.is_closing():
            self.transport.write(_REFUSAL % (len(_DETAIL), _DETAIL))
            self.transport.close()

    def on_message_begin(self) -> None:
        self._await_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._kept = 0
        self._end_wait()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._kept = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._kept = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body:
            # The time that uvicorn gives an idle connection ends with its next byte, and would not begin again.
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(self.seconds, self.transport.close)

    def _end_wait(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
