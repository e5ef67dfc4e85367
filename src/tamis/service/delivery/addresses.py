"""SSRF protection of webhooks: checks of URLs, hosts and resolved addresses, and a network backend that connects only
to addresses allowed.

A URL is checked when it is given, as far as it can be without asking anyone. What its name stands for is checked on
every connection, and the connection goes to the address that was checked: a name that is answered
differently the second time gains nothing.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any, Final

import httpcore
import httpx

from tamis.errors import TamisError

_LONGEST_URL: Final = 2_000
# Hosts written as numbers (octal, hex, one piece) are read as IPv4 addresses by some clients and as names by others.
_NUMERIC: Final = re.compile(r"(?:.*\.)?(?:0[xX][0-9A-Fa-f]*|[0-9]+)\.?")
_DOTTED: Final = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}")
_LOCAL_NAMES: Final = ("localhost", "local", "internal", "home.arpa")

# Ranges that are missing from Python's tables, or from some versions: relays, benchmarks, reserved blocks, examples,
# and public addresses by which clouds serve their own machines.
_REFUSED_4: Final = [
    IPv4Network(block)
    for block in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
        "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    )
]  # fmt: skip
_REFUSED_6: Final = [
    IPv6Network(block) for block in ("2001::/23", "2001:db8::/32", "2002::/16", "3ffe::/16", "3fff::/20")
]
_GLOBAL_6: Final = IPv6Network("2000::/3")


class AddressRefused(TamisError):  # noqa: N818 - reads as what happened
    """Address that webhooks may not call."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Server that webhooks call: circuit breakers and connection limits are per endpoint."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


async def check_url(url: str, *, allow_private: bool = False) -> Endpoint:
    """Checks a webhook's URL at the door and returns its server; `AddressRefused` gives the reason.

    Names are not looked up here: the answer would tell strangers what they stand for inside this network.
    """
    return endpoint_of(url, allow_private=allow_private)


def endpoint_of(url: str, *, allow_private: bool = False) -> Endpoint:
    """Endpoint of a URL, for a caller about to connect."""
    if len(url) > _LONGEST_URL:
        raise AddressRefused(f"the URL has more than {_LONGEST_URL} characters")
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise AddressRefused("the URL has characters that must be escaped, such as blanks or backslashes")
    try:
        parsed = httpx.URL(url)
        host, port = parsed.host, parsed.port
    except (httpx.InvalidURL, ValueError) as error:
        raise AddressRefused(f"this is no URL: {error}") from error
    if parsed.scheme not in ("http", "https"):
        raise AddressRefused("a webhook's URL begins with https:// or http://")
    if parsed.userinfo:
        raise AddressRefused("the URL may not hold a name or password; use the headers of the delivery")
    if parsed.fragment:
        raise AddressRefused("the URL may not have a fragment (#…)")
    _check_host(host, allow_private)
    if port is not None and not 0 < port < 1 << 16:
        raise AddressRefused(f"there is no port {port}")
    return Endpoint(parsed.scheme, host, port or (443 if parsed.scheme == "https" else 80))


def _check_host(host: str, allow_private: bool) -> None:
    if not host or "%" in host:
        raise AddressRefused("the URL names no host")
    if ":" in host:
        check_address(host, allow_private=allow_private)
        return
    if _NUMERIC.fullmatch(host):
        if not _DOTTED.fullmatch(host):
            raise AddressRefused(f"{host} is not how an address is written; use four decimal numbers")
        check_address(host, allow_private=allow_private)
        return
    name = host.rstrip(".").lower()
    if not allow_private and any(name == local or name.endswith(f".{local}") for local in _LOCAL_NAMES):
        raise AddressRefused(f"{host} is a private name, and webhooks may not go there")


def check_address(text: str, *, allow_private: bool = False) -> str:
    """Returns the address if connections may go there. Multicast and unspecified ones are never allowed."""
    try:
        address = ip_address(text)
    except ValueError as error:
        raise AddressRefused(f"{text} is no address") from error
    inner = _inside(address)
    if inner.is_multicast or inner.is_unspecified or getattr(address, "scope_id", None):
        raise AddressRefused(f"{address} is not the address of a server")
    if not allow_private and not _is_public(address):
        raise AddressRefused(f"{address} is in a private or reserved network, and webhooks may not go there")
    return str(address)


def _inside(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """IPv4 address that an IPv6 address embeds, or the address itself."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    address = _inside(address)
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in block for block in _REFUSED_4)
    # Addresses that tunnel to an IPv4 address, and the translators' blocks, are no better than what is in them.
    return address in _GLOBAL_6 and address.is_global and not any(address in block for block in _REFUSED_6)


# HTTP connections that go only to checked addresses.

Resolve = Callable[[str, int], Awaitable[list[str]]]
_RESOLVING: Final = 16


class Resolver:
    """Resolves host names in threads of its own: a name server that hangs delays nothing else."""

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
    """Network backend that resolves a name, checks every address, and connects to an allowed one; TLS still verifies
    the name.
    """

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
        """Error for the subscriber, equal for an unknown name and for one known inside this network."""
        if self._allow_private:
            return httpcore.ConnectError(f"the name {host} cannot be resolved")
        return AddressRefused(f"the name {host} cannot be resolved, or not to public addresses only")

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        raise AddressRefused("webhooks do not go to sockets of this machine")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)
