"""The values that a filter's text spells out: literals, and arithmetic on them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sqlglot import exp

from tamis.errors import FilterError, FilterSyntaxError, FilterTypeError
from tamis.language.syntax import span
from tamis.language.timestamps import read_timestamp

Kind: TypeAlias = Literal["number", "string", "boolean", "timestamp", "null"]

_LARGEST = 10**400


@dataclass(frozen=True, slots=True)
class Known:
    """A value and where it stands in the text.

    `literal` is where its one literal begins, the sign aside (`negative`), or None where several make it up: a literal
    by itself can be replaced by another one, which is what shapes do.
    """

    kind: Kind
    value: int | float | str | bool | None
    start: int
    end: int
    literal: int | None = None
    negative: bool = False


def is_constant(node: exp.Expr) -> bool:
    """Whether a node names no attribute and so has a value of its own."""
    return node.find(exp.Column, exp.Dot, exp.Placeholder) is None


def evaluate(node: exp.Expr, text: str) -> Known:
    """The value of a constant node."""
    start, end = span(node)
    match node:
        case exp.Paren():
            return evaluate(node.this, text)
        case exp.Literal(is_string=True):
            return Known("string", node.name, start, end, start)
        case exp.Literal():
            return Known("number", _number(node.name, text, start, end), start, end, start)
        case exp.Boolean():
            return Known("boolean", bool(node.this), start, end)
        case exp.Null():
            return Known("null", None, start, end)
        case exp.Cast():
            return replace(evaluate(node.this, text), kind="timestamp")
        case exp.Neg():
            known = _numeric(node.this, text)
            value = _in_range(-known.value, text, start, end)  # type: ignore[operator]
            return replace(known, value=value, negative=not known.negative, start=min(known.start, start))
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            return Known("number", _arithmetic(node, text, start, end), start, end)
    raise FilterSyntaxError("expected a value", text, start, end)


def moment(known: Known, text: str) -> int:
    """A timestamp constant in microseconds since the epoch."""
    microseconds = read_timestamp(str(known.value))
    if microseconds is None:
        message = f"{known.value!r} is no timestamp; write it like '2024-05-01 10:00:00' or '2024-05-01T10:00:00+02:00'"
        raise FilterTypeError(message, text, known.start, known.end)
    return microseconds


def _numeric(node: exp.Expr, text: str) -> Known:
    known = evaluate(node, text)
    if known.kind != "number":
        message = f"arithmetic needs numbers, and this is a {known.kind}"
        raise FilterTypeError(message, text, known.start, known.end)
    return known


def _arithmetic(node: exp.Expr, text: str, start: int, end: int) -> int | float:
    """+, - and * on integers are exact; / is exact where it comes out even; all else is in doubles."""
    left, right = _numeric(node.this, text).value, _numeric(node.expression, text).value
    assert isinstance(left, int | float)
    assert isinstance(right, int | float)
    try:
        match node:
            case exp.Add():
                result = left + right
            case exp.Sub():
                result = left - right
            case exp.Mul():
                result = left * right
            case _ if isinstance(left, int) and isinstance(right, int) and left % right == 0:
                result = left // right
            case _:
                result = left / right
    except ZeroDivisionError:
        raise FilterTypeError("division by zero", text, start, end) from None
    except OverflowError:
        raise _too_large(text, start, end) from None
    return _in_range(result, text, start, end)


def _number(digits: str, text: str, start: int, end: int) -> int | float:
    try:
        value = int(digits) if digits.isdecimal() else float(digits)
    except ValueError:
        # Either malformed (1e) or an integer of thousands of digits, which Python refuses to read.
        raise (_too_large(text, start, end) if digits.isdecimal() else _malformed(text, start, end)) from None
    return _in_range(value, text, start, end)


def _in_range(value: int | float, text: str, start: int, end: int) -> int | float:
    if math.isinf(value) if isinstance(value, float) else abs(value) > _LARGEST:
        raise _too_large(text, start, end)
    return value


def _too_large(text: str, start: int, end: int) -> FilterError:
    message = "the number is too large; doubles end at about 1.8e308, integers here at 1e400"
    return FilterTypeError(message, text, start, end)


def _malformed(text: str, start: int, end: int) -> FilterError:
    return FilterSyntaxError("this is no number; write it like 12, 1.5 or 2.5e-3", text, start, end)
