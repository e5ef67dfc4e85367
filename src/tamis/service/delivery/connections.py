"""Connections to webhooks' endpoints: kept alive, each used again by the next call to the same server."""

from __future__ import annotations

import ssl
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import httpcore
import httpx

_IDLE_SECONDS: Final = 60.0
_READ_BYTES: Final = 16 << 10

Server: TypeAlias = tuple[bytes, bytes, int]
Header: TypeAlias = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Target:
    """A URL taken apart once: the server to connect to, and what a request's first lines say."""

    server: Server
    url: httpcore.URL
    host: bytes

    @classmethod
    def of(cls, url: str) -> Target:
        read = httpx.URL(url)
        server = (read.raw_scheme, read.raw_host, read.port or (443 if read.scheme == "https" else 80))
        scheme, host, port = server
        return cls(server, httpcore.URL(scheme=scheme, host=host, port=port, target=read.raw_path), read.netloc)


class Connections:
    """HTTP/1.1 connections, of which at most `most` stay open idle; the one least lately used is closed first.

    Callers bound how many are in use. httpcore's own pool looks at all its connections on every request, which with 64
    calls under way takes thirty times as long as the call; here a request looks at its own server's idle ones only.
    """

    def __init__(
        self, backend: httpcore.AsyncNetworkBackend, most: int, connect_timeout: float, tls: ssl.SSLContext | None
    ) -> None:
        self._backend = backend
        self._most = most
        self._tls = tls or httpx.create_ssl_context(trust_env=False)
        self._extensions = {"timeout": {"connect": connect_timeout}}
        self._idle: dict[Server, list[httpcore.AsyncHTTPConnection]] = {}
        self._by_age: OrderedDict[httpcore.AsyncHTTPConnection, Server] = OrderedDict()

    async def post(self, target: Target, headers: Sequence[Header], content: bytes) -> tuple[int, Sequence[Header]]:
        """Status and headers of the answer to one POST. A call that is cancelled closes its connection."""
        connection = await self._taken(target)
        own = [(b"host", target.host), (b"accept", b"*/*"), (b"content-length", b"%d" % len(content))]
        request = httpcore.Request(
            b"POST", target.url, headers=[*own, *headers], content=content, extensions=self._extensions
        )
        try:
            answer = await connection.handle_async_request(request)
            try:
                read = 0
                # A short answer is read so that the connection can be used again; a long one costs its connection.
                async for part in answer.aiter_stream():
                    read += len(part)
                    if read > _READ_BYTES:
                        break
            finally:
                await answer.aclose()
        except BaseException:
            await connection.aclose()
            raise
        await self._put_back(target.server, connection)
        return answer.status, answer.headers

    async def _taken(self, target: Target) -> httpcore.AsyncHTTPConnection:
        """The connection used last, whose server is the least likely to have closed it; a new one if there is none."""
        while idle := self._idle.get(target.server):
            connection = idle.pop()
            del self._by_age[connection]
            if not idle:
                del self._idle[target.server]
            if not connection.has_expired():
                return connection
            await connection.aclose()
        return httpcore.AsyncHTTPConnection(
            target.url.origin, ssl_context=self._tls, keepalive_expiry=_IDLE_SECONDS, network_backend=self._backend
        )

    async def _put_back(self, server: Server, connection: httpcore.AsyncHTTPConnection) -> None:
        if not connection.is_idle():
            await connection.aclose()
            return
        self._idle.setdefault(server, []).append(connection)
        self._by_age[connection] = server
        oldest = next(iter(self._by_age))
        if len(self._by_age) > self._most or (oldest is not connection and oldest.has_expired()):
            await self._close(oldest)

    async def _close(self, connection: httpcore.AsyncHTTPConnection) -> None:
        server = self._by_age.pop(connection)
        self._idle[server].remove(connection)
        if not self._idle[server]:
            del self._idle[server]
        await connection.aclose()

    async def close(self) -> None:
        """Closes those that are idle."""
        while self._by_age:
            await self._close(next(iter(self._by_age)))
