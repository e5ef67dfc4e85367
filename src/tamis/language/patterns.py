"""LIKE and RLIKE patterns: parsing, limits, matching in plain Python, and the canonical form of LIKE patterns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np
import re2

from tamis.language.tree import Limits

_AMPLE = 1 << 28
"""Memory for patterns that were accepted already, under whatever limits."""
_NEAR = 1 << 14
"""Characters compared one by one, which suits short values and near finds, before places are taken in blocks."""
_BLOCK = 1 << 15
_PLACES_A_STEP = 30
_REGEX_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$\-]")


class Wildcard(Enum):
    """Wildcard of a LIKE pattern."""

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


class LikePattern:
    """A LIKE pattern as stretches between its `%`, matched in time linear in the value for a pattern of bounded length.

    The first stretch stands where the value begins and the last where it ends. Each of the others is looked for once,
    leftmost, which leaves the most for those after it: trying other places too would take time beyond all measure.
    """

    def __init__(self, parts: Sequence[str | Wildcard]) -> None:
        stretches: list[list[str | None]] = [[]]
        for part in parts:
            if part is Wildcard.ANY:
                stretches.append([])
            else:
                stretches[-1].append(None if isinstance(part, Wildcard) else part)
        self._first, *others = [_Stretch(tuple(characters)) for characters in stretches]
        self._last = others.pop() if others else None
        self._inner = [stretch for stretch in others if stretch.width]

    def matches(self, value: str) -> bool:
        return self.match(value)[0]

    def match(self, value: str) -> tuple[bool, int]:
        """Tells if the whole value matches, and counts the steps taken: characters or machine words compared."""
        first, last, steps = self._first, self._last, self._first.width
        if last is None:
            return len(value) == first.width and first.is_at(value, 0), steps
        end = len(value) - last.width
        if end < first.width or not first.is_at(value, 0) or not last.is_at(value, end):
            return False, steps + last.width
        at = first.width
        for stretch in self._inner:
            found, taken = stretch.find(value, at, end)
            steps += taken
            if found < 0:
                return False, steps
            at = found + stretch.width
        return True, steps


class _Stretch:
    """A stretch of a LIKE pattern, without `%`; None stands for `_`."""

    def __init__(self, characters: tuple[str | None, ...]) -> None:
        self.width = len(characters)
        self._expression = re.compile("".join("." if c is None else re.escape(c) for c in characters), re.DOTALL)
        places = [place for place, character in enumerate(characters) if character is not None]
        self._before = places[0] if places else self.width
        core = characters[self._before : places[-1] + 1] if places else ()
        self._literal = None if None in core else "".join(map(str, core))
        self._places: dict[str, list[int]] = {}
        for place in places:
            self._places.setdefault(str(characters[place]), []).append(place)

    def is_at(self, value: str, at: int) -> bool:
        return self._expression.match(value, at) is not None

    def find(self, value: str, start: int, end: int) -> tuple[int, int]:
        """Leftmost place within `value[start:end]`, or -1; and the steps taken."""
        if self._literal is not None:
            after = self.width - self._before - len(self._literal)
            found = value.find(self._literal, start + self._before, end - after)
            return max(found - self._before, -1), end - start
        near = start + _NEAR // self.width + self.width
        if match := self._expression.search(value, start, min(near, end)):
            return match.start(), (match.start() - start + 1) * self.width
        steps = (near - start) * self.width
        for base in range(near - self.width + 1, end - self.width + 1, _BLOCK):
            place, taken = self._find_in_block(value[base : min(base + _BLOCK + self.width - 1, end)])
            steps += taken
            if place >= 0:
                return base + place, steps
        return -1, steps

    def _find_in_block(self, block: str) -> tuple[int, int]:
        """Leftmost place, in numbers whose bit i stands for place i: dozens of places in an operation."""
        codes = np.frombuffer(block.encode("utf-32-le", "surrogatepass"), np.uint32)
        left = (1 << (len(block) - self.width + 1)) - 1
        steps = 0
        for character, places in self._places.items():
            found = np.packbits(codes == ord(character), bitorder="little")
            having = int.from_bytes(found.tobytes(), "little")
            for place in places:
                left &= having >> place
            steps += len(block) // _PLACES_A_STEP * (1 + len(places))
            if not left:
                return -1, steps
        return (left & -left).bit_length() - 1, steps


@lru_cache(maxsize=1_000)
def like_pattern(pattern: str, ignore_case: bool) -> LikePattern:
    """Pattern that a value (in lower case, where case is ignored) must match as a whole."""
    return LikePattern(read_like(pattern.lower() if ignore_case else pattern) or [])


def like_matches(pattern: str, ignore_case: bool, value: str) -> bool:
    """True if a value matches a LIKE or ILIKE pattern."""
    return like_pattern(pattern, ignore_case).matches(value.lower() if ignore_case else value)


def rlike_matches(pattern: str, value: str) -> bool:
    """True if a regular expression is found somewhere in a value."""
    return rlike_pattern(pattern).search(value) is not None


def rlike_pattern(pattern: str) -> Any:
    """A regular expression that was accepted before, as RE2 runs it."""
    return compiled_rlike(pattern, _AMPLE)


def regex_literal(text: str) -> str:
    """The text as part of a regular expression."""
    return _REGEX_SPECIAL.sub(lambda found: "\\" + found[0], text)


def inner_wildcards(pattern: str) -> int:
    r"""Number of wildcards inside a LIKE pattern; `%` at either end are not counted.

    >>> inner_wildcards("%oak%"), inner_wildcards("%o_k%de%k"), inner_wildcards(r"100\%%")
    (0, 3, 0)
    """
    count = pattern.count("_") + pattern.count("%")
    if not count:
        return 0
    parts = read_like(pattern) or []
    first, last = 0, len(parts)
    while first < last and parts[first] is Wildcard.ANY:
        first += 1
    while last > first and parts[last - 1] is Wildcard.ANY:
        last -= 1
    return sum(isinstance(part, Wildcard) for part in parts[first:last])


def like_fault(pattern: str, limits: Limits) -> str | None:
    """Fault of a LIKE pattern that has backslash escapes, and the remedy; None if there is none."""
    if len(pattern) > limits.pattern:
        return f"the pattern has {len(pattern):,} characters and at most {limits.pattern:,} are taken; shorten it"
    if len(pattern) > limits.wildcards and (inner := inner_wildcards(pattern)) > limits.wildcards:
        return (
            f"the pattern has {inner:,} wildcards inside it and at most {limits.wildcards:,} are taken; leave "
            "some out, or write it as several conditions"
        )
    if pattern.endswith("\\") and read_like(pattern) is None:
        return "the pattern ends within an escape; write \\\\ for a backslash"
    return None


def rlike_fault(pattern: str, limits: Limits) -> str | None:
    """Fault of a regular expression, and the remedy; None if there is none."""
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
