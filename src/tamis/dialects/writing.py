"""The pieces of a filter's text: names, values, patterns, and conditions joined without needless parentheses."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from tamis.language.patterns import Wildcard, write_like
from tamis.language.syntax import WORDS

TRUE, FALSE = "TRUE", "FALSE"

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)
_REGEX_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$\-]")


def name(attribute: str) -> str:
    """An attribute's name, quoted where it would not be read as one.

    >>> name("detail.state"), name("detail-type")
    ('detail.state', '"detail-type"')
    """
    if _PLAIN.fullmatch(attribute) and not any(part.upper() in WORDS for part in attribute.split(".")):
        return attribute
    return '"' + attribute.replace('"', '""') + '"'


def string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def number(value: int | float) -> str:
    """A number that is read back as the same one; a whole float as an integer, which compares alike."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= 1 << 53:
        return str(int(value))
    return repr(value)


def like(parts: Iterable[str | Wildcard]) -> str:
    """A LIKE pattern, quoted, of literal strings and wildcards.

    >>> print(like(["100%", Wildcard.ANY]))
    '100\\%%'
    """
    characters: list[str | Wildcard] = []
    for part in parts:
        characters += [part] if isinstance(part, Wildcard) else list(part)
    return string(write_like(characters))


def regex_literal(text: str) -> str:
    """The text as part of a regular expression."""
    return _REGEX_SPECIAL.sub(lambda found: "\\" + found[0], text)


def one_of(attribute: str, values: Sequence[str]) -> str:
    """`attribute IN (…)` of values as they are written; an equality where there is one, FALSE where there is none."""
    distinct = list(dict.fromkeys(values))
    if not distinct:
        return FALSE
    return (
        f"{name(attribute)} = {distinct[0]}" if len(distinct) == 1 else f"{name(attribute)} IN ({', '.join(distinct)})"
    )


def negated(condition: str) -> str:
    """`NOT condition`, for a condition that is one comparison."""
    return f"NOT {condition}"


def all_of(conditions: Iterable[str]) -> str:
    """Joined by AND. Parts that are joined by OR have to come from `any_of`, which marks them by their parentheses."""
    parts = list(dict.fromkeys(condition for condition in conditions if condition != TRUE))
    if FALSE in parts:
        return FALSE
    return " AND ".join(parts) or TRUE


def any_of(conditions: Iterable[str]) -> str:
    """Joined by OR, in parentheses where there are several: AND binds closer, so the parts need none."""
    parts = list(dict.fromkeys(condition for condition in conditions if condition != FALSE))
    if TRUE in parts:
        return TRUE
    return f"({' OR '.join(parts)})" if len(parts) > 1 else (parts[0] if parts else FALSE)


def unwrapped(condition: str) -> str:
    """A whole filter without the parentheses that `any_of` put around all of it."""
    if not condition.startswith("("):
        return condition
    depth, quote = 0, ""
    for at, character in enumerate(condition):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if depth == 0:
                return condition[1:at] if at == len(condition) - 1 else condition
    return condition


def between(attribute: str, low: int | float, high: int | float) -> str:
    """One value lies within both ends; an end that is infinite is none."""
    left, open_low, open_high = name(attribute), low == -math.inf, high == math.inf
    if low > high:
        return FALSE
    if open_low and open_high:
        return f"{left} IS NOT NULL"
    if open_low:
        return f"{left} <= {number(high)}"
    if open_high:
        return f"{left} >= {number(low)}"
    if low == high:
        return f"{left} = {number(low)}"
    return f"{left} BETWEEN {number(low)} AND {number(high)}"
