"""LIKE patterns of CESQL: `%` any run of characters, `_` exactly one, `\\%` and `\\_` themselves.

Unlike in Tamis's own filters, a backslash before any other character is a backslash.
"""

from __future__ import annotations

from functools import lru_cache

from tamis.language.patterns import LikePattern, Wildcard


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
    """Whether the whole value matches."""
    return compiled(pattern).matches(value)


@lru_cache(maxsize=1_000)
def compiled(pattern: str) -> LikePattern:
    """The pattern, ready to match."""
    return LikePattern(read_pattern(pattern))
