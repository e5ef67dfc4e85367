"""LIKE patterns of CESQL: `%` any run of characters, `_` exactly one, `\\%` and `\\_` themselves.

Unlike in Tamis's own filters, a backslash before any other character is a backslash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tamis.language.patterns import Wildcard


def read_pattern(pattern: str) -> list[str | Wildcard]:
    r"""The pattern's characters and wildcards.

    >>> read_pattern(r"a%\%\b")
    ['a', <Wildcard.ANY: '%'>, '%', '\\', 'b']
    """
    parts: list[str | Wildcard] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "\\" and pattern[at + 1 : at + 2] in ("%", "_"):
            at += 1
            parts.append(pattern[at])
        else:
            parts.append(Wildcard(character) if character in "%_" else character)
        at += 1
    return parts


def matches(pattern: str, value: str) -> bool:
    """Whether the whole value matches. At worst this takes time in proportion to the product of both lengths."""
    first, *others = _segments(pattern)
    if first.expression.match(value) is None:
        return False
    if not others:
        return first.width == len(value)
    at, last = first.width, others.pop()
    for segment in others:
        # The leftmost place leaves the most for the segments after it, so no other has to be tried.
        found = segment.expression.search(value, at)
        if found is None:
            return False
        at = found.end()
    start = len(value) - last.width
    return start >= at and last.expression.match(value, start) is not None


@dataclass(frozen=True, slots=True)
class _Segment:
    """What stands between two `%`: as many characters as `width` says."""

    expression: re.Pattern[str]
    width: int


@lru_cache(maxsize=1_000)
def _segments(pattern: str) -> tuple[_Segment, ...]:
    """One segment more than the pattern has `%`."""
    segments: list[list[str]] = [[]]
    for part in read_pattern(pattern):
        if part is Wildcard.ANY:
            segments.append([])
        else:
            segments[-1].append("." if isinstance(part, Wildcard) else re.escape(part))
    return tuple(_Segment(re.compile("".join(parts), re.DOTALL), len(parts)) for parts in segments)
