"""LIKE and RLIKE patterns: what is accepted, and the one way to write each LIKE pattern."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

import re2

from tamis.language.limits import Limits

_AMPLE = 1 << 28
"""Memory for patterns that were accepted already, under whatever limits."""


class Wildcard(Enum):
    """What a LIKE pattern has besides characters."""

    ONE = "_"
    ANY = "%"


def read_like(pattern: str, escape: str = "\\") -> list[str | Wildcard] | None:
    """The pattern's characters and wildcards; None if it ends within an escape.

    >>> read_like("a%"), read_like("100!%", "!")
    (['a', <Wildcard.ANY: '%'>], ['1', '0', '0', '%'])
    """
    parts: list[str | Wildcard] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            if escaped is None:
                return None
            parts.append(escaped)
        else:
            parts.append(Wildcard(character) if character in "_%" else character)
    return parts


def write_like(parts: list[str | Wildcard]) -> str:
    """The pattern in its one form: a backslash before `%`, `_` and itself only, and in each run of wildcards `_` first.

    >>> write_like(read_like("%_%a\\\\b"))
    '_%ab'
    """
    written: list[str] = []
    ones, any_run = 0, False
    for part in [*parts, ""]:
        if part is Wildcard.ONE:
            ones += 1
        elif part is Wildcard.ANY:
            any_run = True
        else:
            written.append("_" * ones + "%" * any_run)
            written.append("\\" + str(part) if part and str(part) in "%_\\" else str(part))
            ones, any_run = 0, False
    return "".join(written)


@lru_cache(maxsize=1_000)
def like_expression(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    """A regular expression that a value (in lower case, where case is ignored) must match in full."""
    parts = read_like(pattern.lower() if ignore_case else pattern) or []
    found = {Wildcard.ONE: ".", Wildcard.ANY: None}
    written = [found[part] if isinstance(part, Wildcard) else re.escape(part) for part in parts]
    return re.compile(without_backtracking(written), re.DOTALL)


def without_backtracking(parts: Sequence[str | None]) -> str:
    """The expression of a LIKE pattern whose parts are expressions of one character each, or None for any run of them.

    Each piece between two runs is looked for once, leftmost, which leaves the most for those after it. Trying other
    places too would take time beyond all measure: `%a%a%a%b` on a long run of `a`.
    """
    pieces = [""]
    for part in parts:
        if part is None:
            pieces.append("")
        else:
            pieces[-1] += part
    if len(pieces) == 1:
        return pieces[0]
    first, *inner, last = pieces
    return first + "".join(f"(?>.*?{piece})" for piece in inner if piece) + ".*" + last


def like_matches(pattern: str, ignore_case: bool, value: str) -> bool:
    """Whether a value matches a LIKE or ILIKE pattern."""
    return like_expression(pattern, ignore_case).fullmatch(value.lower() if ignore_case else value) is not None


def rlike_matches(pattern: str, value: str) -> bool:
    """Whether a regular expression is found somewhere in a value."""
    return compiled_rlike(pattern, _AMPLE).search(value) is not None


def like_fault(pattern: str, limits: Limits) -> str | None:
    """What is wrong with a LIKE pattern that has backslash escapes, and the remedy; None if nothing is."""
    if len(pattern) > limits.pattern:
        return f"the pattern has {len(pattern):,} characters and at most {limits.pattern:,} are taken; shorten it"
    if pattern.endswith("\\") and read_like(pattern) is None:
        return "the pattern ends within an escape; write \\\\ for a backslash"
    return None


def rlike_fault(pattern: str, limits: Limits) -> str | None:
    """What is wrong with a regular expression, and the remedy; None if nothing is."""
    if len(pattern) > limits.pattern:
        return f"the pattern has {len(pattern):,} characters and at most {limits.pattern:,} are taken; shorten it"
    try:
        compiled_rlike(pattern, limits.pattern_memory)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
        if "perl operator" in reason or "escape sequence" in reason:
            return f"{reason}; patterns are RE2's, without lookaround and backreferences"
        return f"{reason}; patterns are RE2's, see its syntax page, and must stay small"
    return None


@lru_cache(maxsize=1_000)
def compiled_rlike(pattern: str, memory: int) -> Any:
    """A regular expression as RE2 runs it; `re2.error` if it is none, or needs more than that many bytes."""
    options = re2.Options()
    options.max_mem = memory
    options.log_errors = False
    return re2.compile(pattern, options)
