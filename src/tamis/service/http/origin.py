"""Origins of requests: the addresses that count as one caller."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

_PORT: Final = re.compile(r"\[(.+)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+")  # as some proxies hand addresses on
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
_TEREDO: Final = IPv6Network("2001::/32")
_SUBSCRIBER: Final = 64  # bits of an IPv6 address that a provider gives one subscriber; the rest is theirs to choose


@lru_cache(4_096)
def origin(address: str) -> str:
    """What an address is counted under: IPv4 by itself, IPv6 with all of its /64, of which one host may have any.

    An IPv6 address that stands for one of IPv4 is that one.
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
