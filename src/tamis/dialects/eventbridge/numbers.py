"""Tests on numbers. Tamis compares by exact value; event-ruler's bounds (±5e9, six decimals) do not apply."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tamis.dialects.conversion import ConversionError, between, compared
from tamis.dialects.eventbridge.reading import Number
from tamis.language import Tree
from tamis.language.tree import all_of, any_of
from tamis.schema import Attribute


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def numeric(attribute: Attribute, operand: Any, place: str) -> Tree:
    """`numeric`: one comparison, or a lower and an upper end that one value lies within."""
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
    """Some value is none of these, on an attribute that may have several: one lies in a gap between them."""
    ends = sorted(set(excluded))
    gaps = [
        between(attribute.name, *closed(attribute, low, False, high, False))
        for low, high in zip([-math.inf, *ends], [*ends, math.inf], strict=True)
    ]
    return any_of(gaps)


def closed(
    attribute: Attribute, low: Number, low_closed: bool, high: Number, high_closed: bool
) -> tuple[Number, Number]:
    """The ends as the first and last number of the attribute's type between them; an infinite end stays."""
    if attribute.domain.kind == "integer":
        first = low if math.isinf(low) else math.ceil(low) if low_closed else math.floor(low) + 1
        last = high if math.isinf(high) else math.floor(high) if high_closed else math.ceil(high) - 1
        return first, last
    return _above(low, low_closed), -_above(-high, high_closed)


def _above(value: Number, is_closed: bool) -> float:
    """The first double at or above a number; an infinite one stays."""
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
