"""Regular expressions without lookaround for texts that match none of some patterns, and for ranges of IP addresses.

Needed where *some value* of several must be other than the patterns: `NOT x LIKE p` says that *every* value is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, IPv6Network

from tamis.language.patterns import regex_literal

ANY = None
Step = frozenset[str] | None
"""One step of a pattern: one of some characters, or (None) any run of characters."""
Pattern = tuple[Step, ...]

_MOST_STATES = 200


class TooLargeError(ValueError):
    """Regular expression longer than a filter takes."""


def others(patterns: Sequence[Pattern], longest: int) -> str:
    """Regular expression of exactly the texts that match no pattern in full.

    >>> others([(frozenset("a"), ANY)], 100)
    '^(?s:(?:[^a].*)?)$'
    """
    written = []
    for backwards in (False, True):
        read = [pattern[::-1] for pattern in patterns] if backwards else list(patterns)
        try:
            written.append(_eliminate(_automaton(read), backwards, longest))
        except TooLargeError:
            continue
    if not written:
        raise TooLargeError
    return min(written, key=len)


@dataclass(slots=True)
class _Automaton:
    """Deterministic automaton: state 0 is the first; `accepting` are the states of texts that match no pattern.

    `moves` go by a letter's number, or by -1 for every character that no pattern names.
    """

    letters: list[frozenset[str]]
    moves: list[dict[int, int]] = field(default_factory=list)
    accepting: set[int] = field(default_factory=set)


def _automaton(patterns: Sequence[Pattern]) -> _Automaton:
    """Subset construction: a state is a set of (pattern, position)."""
    letters = _letters(patterns)
    automaton = _Automaton(letters)
    start = _settled(patterns, ((number, 0) for number in range(len(patterns))))
    numbers = {start: 0}
    queue = [start]
    for state in queue:
        moves: dict[int, int] = {}
        for letter in range(-1, len(letters)):
            following = _settled(patterns, _advanced(patterns, letters, state, letter))
            if following not in numbers:
                if len(numbers) == _MOST_STATES:
                    raise TooLargeError
                numbers[following] = len(numbers)
                queue.append(following)
            moves[letter] = numbers[following]
        automaton.moves.append(moves)
        if not any(position == len(patterns[number]) for number, position in state):
            automaton.accepting.add(numbers[state])
    return automaton


def _letters(patterns: Sequence[Pattern]) -> list[frozenset[str]]:
    """Sets of characters that the patterns tell apart; they must not overlap in part."""
    letters: list[frozenset[str]] = []
    for pattern in patterns:
        for step in pattern:
            if step is None or step in letters:
                continue
            if any(step & known for known in letters):
                raise TooLargeError
            letters.append(step)
    return letters


def _settled(patterns: Sequence[Pattern], places: Iterable[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    """Closure of positions: with a run of characters, both staying in it and going past it are open."""
    settled = set()
    for number, position in places:
        settled.add((number, position))
        while position < len(patterns[number]) and patterns[number][position] is None:
            position += 1
            settled.add((number, position))
    return frozenset(settled)


def _advanced(
    patterns: Sequence[Pattern], letters: list[frozenset[str]], state: frozenset[tuple[int, int]], letter: int
) -> Iterable[tuple[int, int]]:
    for number, position in state:
        if position == len(patterns[number]):
            continue
        step = patterns[number][position]
        if step is None:
            yield number, position
        elif letter >= 0 and step == letters[letter]:
            yield number, position + 1


def _eliminate(automaton: _Automaton, backwards: bool, longest: int) -> str:
    """State elimination (Brzozowski and McCluskey 1963), last states first, so that tries stay as small as they are."""
    end = len(automaton.moves)
    edges: list[dict[int, str]] = [_edges(automaton, moves) for moves in automaton.moves]
    for state in automaton.accepting:
        edges[state][end] = ""
    for state in range(end - 1, 0, -1):
        loop = edges[state].pop(state, None)
        around = "" if loop is None else (".*" if loop == "." else f"(?:{loop})*")
        for source in range(state):
            into = edges[source].pop(state, None)
            if into is None:
                continue
            for target, onwards in edges[state].items():
                parts = (into, around, onwards)
                path = "".join(reversed(parts) if backwards else parts)
                present = edges[source].get(target)
                edges[source][target] = path if present is None else _either(present, path)
                if len(edges[source][target]) > longest:
                    raise TooLargeError
    loop, rest = edges[0].get(0), edges[0].get(end)
    if rest is None:
        return "$.^"
    around = "" if loop is None else f"(?:{loop})*"
    whole = f"^(?s:{rest + around if backwards else around + rest})$"
    if len(whole) > longest:
        raise TooLargeError
    return whole


def _edges(automaton: _Automaton, moves: dict[int, int]) -> dict[int, str]:
    """Regular expressions by target state: one for all the letters that lead to it."""
    targets: dict[int, set[int]] = {}
    for letter, target in moves.items():
        targets.setdefault(target, set()).add(letter)
    edges = {}
    for target, letters in targets.items():
        if -1 in letters:
            left = {letter for letter in moves if letter not in letters}
            edges[target] = f"[^{_members(automaton, left)}]" if left else "."
        else:
            members = _members(automaton, letters)
            one = len(letters) == 1 and len(automaton.letters[next(iter(letters))]) == 1
            edges[target] = members if one else f"[{members}]"
    return edges


def _members(automaton: _Automaton, letters: Iterable[int]) -> str:
    return "".join(regex_literal(member) for letter in sorted(letters) for member in sorted(automaton.letters[letter]))


def _either(left: str, right: str) -> str:
    if not left or not right:
        return f"(?:{left or right})?"
    return f"(?:{left}|{right})"


# Ranges of IP addresses as regular expressions over the text of an address.
#
# IPv4 is read as four decimal numbers without leading zeros; IPv6 in every spelling of RFC 4291 §2.2 that has no
# dots: upper or lower case, leading zeros, and `::` for a run of zero groups.

_GROUPS = 8
_ANY_GROUP = "[0-9a-fA-F]{1,4}"


def v4_range(first: int, last: int) -> str:
    r"""Regular expression of the addresses from `first` to `last`, as 32-bit numbers.

    >>> v4_range(int(IPv4Address("10.0.16.0")), int(IPv4Address("10.0.23.255")))
    '^10\\.0\\.(?:1[6-9]|2[0-3])\\.(?:\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])$'
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
    """Regular expression of the octets from `low` to `high`, both of the same length, compared as numbers."""
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
    """Regular expression of the decimal numbers from `low` to `high`."""
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
    """Regular expressions of the strings of digits from `low` to `high`, which have the same length."""
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
    """Regular expression of a group's numbers from `low` to `high`, which differ in their last bits only."""
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
    """Regular expression of up to so many groups of any value."""
    if most <= 0:
        return ""
    return f"(?:{_ANY_GROUP}(?::{_ANY_GROUP}){{0,{most - 1}}})?" if most > 1 else f"(?:{_ANY_GROUP})?"


def _joined(alternatives: list[str], longest: int = 900) -> list[str]:
    """Fewest regular expressions that their length limit allows."""
    joined: list[list[str]] = [[]]
    size = 0
    for alternative in alternatives:
        if joined[-1] and size + len(alternative) > longest:
            joined.append([])
            size = 0
        joined[-1].append(alternative)
        size += len(alternative) + 1
    return [f"^(?:{'|'.join(part)})$" for part in joined]
