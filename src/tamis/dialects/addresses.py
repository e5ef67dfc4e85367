"""Ranges of IP addresses as regular expressions over the text of an address.

IPv4 is read as four decimal numbers without leading zeros; IPv6 in every spelling of RFC 4291 §2.2 that has no dots:
upper or lower case, leading zeros, and `::` for a run of zero groups.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network

_GROUPS = 8
_ANY_GROUP = "[0-9a-fA-F]{1,4}"


def v4_range(first: int, last: int) -> str:
    """Matches the addresses from `first` to `last`, as 32-bit numbers.

    >>> v4_range(int(IPv4Address("10.0.16.0")), int(IPv4Address("10.0.23.255")))
    '^10\\\\.0\\\\.(?:1[6-9]|2[0-3])\\\\.(?:\\\\d|[1-9]\\\\d|1\\\\d\\\\d|2[0-4]\\\\d|25[0-5])$'
    """
    return f"^{_v4(IPv4Address(first).packed, IPv4Address(last).packed)}$"


def v6_network(network: IPv6Network) -> list[str]:
    """Regular expressions of which one matches each spelling of an address in the network."""
    low, high = _groups(int(network.network_address)), _groups(int(network.broadcast_address))
    patterns = [_group(first, last) for first, last in zip(low, high, strict=True)]
    fixed = -(-network.prefixlen // 16)
    spellings = [":".join(patterns)]
    for before in range(_GROUPS):
        head = ":".join(patterns[:before])
        # A run of zeros from here to where the groups that follow it begin: all of it must be in the network.
        zeros = next((at for at in range(before, _GROUPS) if low[at]), _GROUPS)
        if zeros >= fixed:
            spellings.append(f"{head}::{_free(min(_GROUPS - 1 - before, _GROUPS - fixed))}")
        spellings += [f"{head}::{':'.join(patterns[start:])}" for start in range(before + 1, min(zeros + 1, fixed))]
    return _joined(spellings)


def _v4(low: bytes, high: bytes) -> str:
    """Octets from `low` to `high`, both of the same length, compared as numbers."""
    if len(low) == 1:
        return _octets(low[0], high[0])
    if low[0] == high[0]:
        return f"{low[0]}\\.{_v4(low[1:], high[1:])}"
    rest = len(low) - 1
    zeros, ones = bytes(rest), b"\xff" * rest
    parts, first, last = [], low[0], high[0]
    if low[1:] != zeros:
        parts.append(f"{first}\\.{_v4(low[1:], ones)}")
        first += 1
    tail = ""
    if high[1:] != ones:
        tail = f"{last}\\.{_v4(zeros, high[1:])}"
        last -= 1
    if first <= last:
        parts.append(f"{_octets(first, last)}\\.{_v4(zeros, ones)}")
    if tail:
        parts.append(tail)
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"


def _octets(low: int, high: int) -> str:
    """The decimal numbers from `low` to `high`."""
    if low == high:
        return str(low)
    # Without leading zeros, numbers of each length are a case of their own.
    lengths = ((0, 9), (10, 99), (100, 255))
    parts = [
        part
        for first, last in lengths
        if max(low, first) <= min(high, last)
        for part in _digits(str(max(low, first)), str(min(high, last)))
    ]
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"


def _digits(low: str, high: str) -> list[str]:
    """The strings of digits from `low` to `high`, which have the same length."""
    if low == high:
        return [low]
    rest = len(low) - 1
    first, last = int(low[0]), int(high[0])
    if first == last:
        return [low[0] + tail for tail in _digits(low[1:], high[1:])]
    head: list[str] = []
    foot: list[str] = []
    if low[1:] != "0" * rest:
        head = [low[0] + tail for tail in _digits(low[1:], "9" * rest)]
        first += 1
    if high[1:] != "9" * rest:
        foot = [high[0] + tail for tail in _digits("0" * rest, high[1:])]
        last -= 1
    if first > last:
        return head + foot
    one = str(first) if first == last else "\\d" if (first, last) == (0, 9) else f"[{first}-{last}]"
    return [*head, one + "\\d" * rest, *foot]


def _groups(address: int) -> list[int]:
    return [int(part, 16) for part in IPv6Address(address).exploded.split(":")]


def _group(low: int, high: int) -> str:
    """The spellings of the numbers of a group from `low` to `high`, which differ in their last bits only."""
    if (low, high) == (0, 0xFFFF):
        return _ANY_GROUP
    spellings = []
    for length in range(1, 5):
        first, last = max(low, 16 ** (length - 1) if length > 1 else 0), min(high, 16**length - 1)
        if first <= last:
            ends = zip(f"{first:0{length}x}", f"{last:0{length}x}", strict=True)
            zeros = ("", "0?", "0{0,2}", "0{0,3}")[4 - length]
            spellings.append(zeros + "".join(_hex(a, b) for a, b in ends))
    return spellings[0] if len(spellings) == 1 else f"(?:{'|'.join(spellings)})"


def _hex(low: str, high: str) -> str:
    members = "0123456789abcdef"[int(low, 16) : int(high, 16) + 1]
    if len(members) == 16:
        return "[0-9a-fA-F]"
    if len(members) == 1:
        return members if members.isdigit() else f"[{members}{members.upper()}]"
    letters = "".join(member for member in members if member.isalpha())
    figures = "".join(member for member in members if member.isdigit())
    return f"[{figures}{letters}{letters.upper()}]"


def _free(most: int) -> str:
    """Up to so many groups of any value."""
    if most <= 0:
        return ""
    return f"(?:{_ANY_GROUP}(?::{_ANY_GROUP}){{0,{most - 1}}})?" if most > 1 else f"(?:{_ANY_GROUP})?"


def _joined(alternatives: list[str], longest: int = 900) -> list[str]:
    """As few regular expressions as their length allows."""
    joined: list[list[str]] = [[]]
    size = 0
    for alternative in alternatives:
        if joined[-1] and size + len(alternative) > longest:
            joined.append([])
            size = 0
        joined[-1].append(alternative)
        size += len(alternative) + 1
    return [f"^(?:{'|'.join(part)})$" for part in joined]
