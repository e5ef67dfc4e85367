"""HTTP connections that go to checked addresses only."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import httpcore
import httpx

from tamis.service.delivery.addresses import AddressRefused, check_address

Resolve = Callable[[str, int], Awaitable[list[str]]]
_RESOLVING: Final = 16
_IDLE_SECONDS: Final = 60.0


class Resolver:
    """Asks the system what names stand for, in threads of its own: a name server that hangs holds up nothing else."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_RESOLVING, thread_name_prefix="tamis-names")

    async def __call__(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, _look_up, host, port)
        return list(dict.fromkeys(str(address[0]) for *_, address in found))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str, port: int) -> list[Any]:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


class CheckedBackend(httpcore.AsyncNetworkBackend):
    """Resolves a name, checks every address, and connects to one of those; TLS still verifies the name."""

    def __init__(self, resolve: Resolve, allow_private: bool) -> None:
        self._resolve = resolve
        self._allow_private = allow_private
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                found = await self._resolve(host, port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(f"the name {host} was not resolved in time") from error
        except (OSError, UnicodeError) as error:
            raise self._unusable(host) from error
        try:
            # All of them: a name that also stands for something private is up to no good.
            addresses = [check_address(address, allow_private=self._allow_private) for address in found]
        except AddressRefused as error:
            raise self._unusable(host) from error
        failure: Exception = httpcore.ConnectError(f"the name {host} has no address")
        for address in addresses:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    def _unusable(self, host: str) -> Exception:
        """The subscriber is told the same of a name that is unknown and of one that is known inside this network."""
        if self._allow_private:
            return httpcore.ConnectError(f"the name {host} cannot be resolved")
        return AddressRefused(f"the name {host} cannot be resolved, or not to public addresses only")

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        raise AddressRefused("webhooks do not go to sockets of this machine")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


class CheckedTransport(httpx.AsyncBaseTransport):
    """A transport for httpx over a pool whose connections are checked. No proxies, HTTP/1.1."""

    def __init__(self, resolve: Resolve, allow_private: bool, connections: int, tls: ssl.SSLContext | None) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls or httpx.create_ssl_context(trust_env=False),
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=_IDLE_SECONDS,
            network_backend=CheckedBackend(resolve, allow_private),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        raw = httpcore.Request(
            request.method, target, headers=request.headers.raw, content=request.stream, extensions=request.extensions
        )
        answer = await self._pool.handle_async_request(raw)
        return httpx.Response(
            answer.status, headers=answer.headers, stream=_Answer(answer), extensions=answer.extensions
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Answer(httpx.AsyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._answer.aiter_stream():
            yield part

    async def aclose(self) -> None:
        await self._answer.aclose()
