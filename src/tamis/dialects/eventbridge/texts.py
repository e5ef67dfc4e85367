"""Tests of event patterns on strings, as patterns that can be written as conditions, excluded and tried; and on
numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from tamis.dialects.conversion import ConversionError, between, compared
from tamis.dialects.eventbridge.reading import Number, Test
from tamis.dialects.text_patterns import ANY, Pattern, TooLargeError, others
from tamis.errors import shown
from tamis.language import Tree
from tamis.language.patterns import Wildcard, regex_literal, rlike_matches, write_like
from tamis.language.predicates import Leaf, Like, RLike, equals
from tamis.language.tree import DEFAULT_LIMITS, FALSE, all_of, any_of
from tamis.schema import Attribute

_LONGEST = DEFAULT_LIMITS.pattern


def pattern_of(kind: str, operand: object, place: str) -> Pattern:
    """Pattern of a string operator."""
    match kind, operand:
        case "equal" | "exactly", str(text):
            return _steps(text)
        case "equals-ignore-case", str(text):
            return _caseless(text)
        case "prefix", str(text):
            return (*_steps(text), ANY)
        case "suffix", str(text):
            return (ANY, *_steps(text))
        case "prefix", {"equals-ignore-case": str(text), **more} if not more:
            return (*_caseless(text), ANY)
        case "suffix", {"equals-ignore-case": str(text), **more} if not more:
            return (ANY, *_caseless(text))
        case "wildcard", str(text):
            return _wildcard(text, place)
    remedy = "prefix and suffix take a string or equals-ignore-case, the others a string"
    raise ConversionError(f"{kind} does not take {shown(operand)}", place, remedy)


def condition(attribute: str, pattern: Pattern) -> Leaf:
    """Condition that some value matches the pattern."""
    if ANY not in pattern and all(step is not None and len(step) == 1 for step in pattern):
        return equals(attribute, _characters(pattern))
    if all(step is None or len(step) == 1 for step in pattern):
        return Like(attribute, write_like(_parts(pattern)))
    if _same_in_lower_case(pattern):
        return Like(attribute, write_like(_parts(pattern)), ignore_case=True)
    return RLike(attribute, _regex(pattern))


def some_other(attribute: str, patterns: Sequence[Pattern], place: str) -> Tree:
    """Condition that some value matches none of the patterns, on an attribute that may have several."""
    if any(all(step is None for step in pattern) and pattern for pattern in patterns):
        return FALSE
    if (
        len(patterns) == 1
        and ANY not in patterns[0]
        and all(step is not None and len(step) == 1 for step in patterns[0])
    ):
        text = _characters(patterns[0])
        below, above = compared(attribute, "<", text), compared(attribute, ">", text)
        return any_of([below, above])
    try:
        return RLike(attribute, others(patterns, _LONGEST))
    except TooLargeError:
        reason = (
            f"{attribute} may have several values, and that one of them is other than these takes too long a pattern"
        )
        remedy = "make the attribute unique in the schema, or exclude fewer values"
        raise ConversionError(reason, place, remedy) from None


def matches(pattern: Pattern, value: str) -> bool:
    """True if one value matches the pattern, for domains whose values are listed."""
    return rlike_matches(_regex(pattern), value)


def alternatives(test: Test) -> list[Pattern]:
    """Patterns of one test; `anything-but` has as many as it excludes."""
    if test.kind != "anything-but":
        return [pattern_of(test.kind, test.value, test.place)]
    kind, operand, place = "equal", test.value, test.place
    if isinstance(operand, dict):
        if len(operand) != 1:
            raise ConversionError("anything-but takes one operator", place)
        kind, operand = next(iter(operand.items()))
        place = f"{place}.{kind}"
        if kind not in ("prefix", "suffix", "wildcard", "equals-ignore-case"):
            raise ConversionError(f"anything-but does not take {kind}", place)
    excluded = operand if isinstance(operand, list) else [operand]
    if not excluded:
        raise ConversionError("an empty list excludes nothing", place, "give a value, or leave the test out")
    for value in excluded:
        if kind != "equal" and not isinstance(value, str):
            reason = f"anything-but with {kind} takes a string or a list of strings, and {_written(value)} is none"
            raise ConversionError(reason, place, "" if value is None else f"quote it: {_written(str(value))}")
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise ConversionError(f"anything-but takes strings, or numbers, and not {_written(value)}", place)
    if not all(isinstance(value, str) for value in excluded):
        raise ConversionError("anything-but takes strings, or numbers, and not both", place, "give each a rule")
    if kind in ("prefix", "suffix") and "" in excluded:
        raise ConversionError(f"an empty {kind} is not allowed here", place)
    return [pattern_of(kind, text, place) for text in excluded]


def _written(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _steps(text: str) -> Pattern:
    return tuple(frozenset(character) for character in text)


def _caseless(text: str) -> Pattern:
    """Case-insensitive pattern, by Java's Character.toLowerCase and toUpperCase of each character by itself."""
    return tuple(
        frozenset(form for form in (character, character.lower(), character.upper()) if len(form) == 1)
        for character in text
    )


def _wildcard(text: str, place: str) -> Pattern:
    steps: list[frozenset[str] | None] = []
    characters = iter(text)
    for character in characters:
        if character == "\\":
            escaped = next(characters, None)
            if escaped not in ("*", "\\"):
                raise ConversionError("a backslash stands before * or another backslash only", place, "write \\\\")
            steps.append(frozenset(escaped))
        elif character == "*":
            if steps and steps[-1] is None:
                raise ConversionError("two wildcards beside each other are not allowed", place, "write one *")
            steps.append(ANY)
        else:
            steps.append(frozenset(character))
    return tuple(steps)


def _characters(pattern: Pattern) -> str:
    return "".join(next(iter(step)) for step in pattern if step is not None)


def _parts(pattern: Pattern) -> list[str | Wildcard]:
    return [
        Wildcard.ANY if step is None else min(step, key=str.lower) if len(step) == 1 else min(step).lower()
        for step in pattern
    ]


def _same_in_lower_case(pattern: Pattern) -> bool:
    """True if ILIKE, which compares lower-cased texts, means the same.

    It takes the Kelvin sign for a k, and İ for an i with something after it.
    """
    for step, following in zip(pattern, [*pattern[1:], frozenset()], strict=True):
        if step is None:
            continue
        if not all(character.isascii() for character in step) or "k" in step:
            return False
        if "i" in step and following is None:
            return False
    return True


def _regex(pattern: Pattern) -> str:
    return f"^(?s:{_body(pattern)})$"


def _body(pattern: Pattern) -> str:
    written = []
    for step in pattern:
        if step is None:
            written.append(".*")
        else:
            members = "".join(regex_literal(character) for character in sorted(step))
            written.append(members if len(step) == 1 else f"[{members}]")
    return "".join(written)


# Tests on numbers. Tamis compares by exact value; event-ruler's bounds (±5e9, six decimals) do not apply.


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def numeric(attribute: Attribute, operand: Any, place: str) -> Tree:
    """Condition of `numeric`: one comparison, or a lower and an upper end that one value lies within."""
    match operand:
        case ["=" | "<" | "<=" | ">" | ">=" as operator, value] if is_number(value):
            return compared(attribute.name, operator, finite(value, place))
        case [">" | ">=" as above, low, "<" | "<=" as below, high] if is_number(low) and is_number(high):
            finite(low, place), finite(high, place)
            if low >= high:
                raise ConversionError("the lower end is not below the upper one", place, "turn them round")
            if (above, below) == (">=", "<="):
                return between(attribute.name, low, high)
            if attribute.multiple:
                # Two comparisons could be met by two values.
                return between(attribute.name, *closed(attribute, low, above == ">=", high, below == "<="))
            return all_of([compared(attribute.name, above, low), compared(attribute.name, below, high)])
    remedy = 'write ["<", 5] or [">", 0, "<=", 5]'
    raise ConversionError("numeric takes an operator and a number, or a lower and an upper end", place, remedy)


def some_other_number(attribute: Attribute, excluded: Sequence[Number]) -> Tree:
    """Condition that some value is none of these, on an attribute that may have several: one lies in a gap between
    them."""
    ends = sorted(set(excluded))
    gaps = [
        between(attribute.name, *closed(attribute, low, False, high, False))
        for low, high in zip([-math.inf, *ends], [*ends, math.inf], strict=True)
    ]
    return any_of(gaps)


def closed(
    attribute: Attribute, low: Number, low_closed: bool, high: Number, high_closed: bool
) -> tuple[Number, Number]:
    """Interval closed at both ends: the first and last number of the attribute's type in it; an infinite end stays."""
    if attribute.domain.kind == "integer":
        first = low if math.isinf(low) else math.ceil(low) if low_closed else math.floor(low) + 1
        last = high if math.isinf(high) else math.floor(high) if high_closed else math.ceil(high) - 1
        return first, last
    return _above(low, low_closed), -_above(-high, high_closed)


def _above(value: Number, is_closed: bool) -> float:
    """First double at or above a number; an infinite one stays."""
    nearest = float(value)
    if math.isinf(nearest):
        return nearest
    if nearest < value or (nearest == value and not is_closed):
        return math.nextafter(nearest, math.inf)
    return nearest


def finite(value: Number, place: str) -> Number:
    if isinstance(value, float) and not math.isfinite(value):
        raise ConversionError("the number is too large", place, "doubles end at about 1.8e308")
    return value
