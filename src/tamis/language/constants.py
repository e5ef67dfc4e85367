"""The values that a filter's text spells out: literals, and arithmetic on them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sqlglot import exp

from tamis.errors import FilterSyntaxError, FilterTypeError
from tamis.language.syntax import span
from tamis.language.timestamps import read_timestamp

Kind: TypeAlias = Literal["number", "string", "boolean", "timestamp", "null"]

_MOST_DIGITS = 1_000
_LARGEST = 10**400
_Arithmetic = exp.Add | exp.Sub | exp.Mul | exp.Div


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
    """Whether a node names no attribute, variable or operator and so has a value of its own."""
    return node.find(exp.Column, exp.Dot, exp.Placeholder, exp.Anonymous) is None


def evaluate(node: exp.Expr, text: str) -> Known:
    """The value of a constant node."""
    if isinstance(node, _Arithmetic):
        return _computed(node, text)
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
            return replace(known, value=-known.value, negative=not known.negative)  # type: ignore[operator]
    raise FilterSyntaxError("expected a value", text, start, end)


def number(known: Known, text: str) -> int | float:
    """A numeric constant, which may be larger than its attribute's type goes, but not by any amount."""
    value = known.value
    assert isinstance(value, int | float)
    if math.isinf(value) if isinstance(value, float) else abs(value) > _LARGEST:
        message = "the number is too large; doubles end at about 1.8e308, integers here at 1e400"
        raise FilterTypeError(message, text, known.start, known.end)
    return value


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


def _computed(node: exp.Expr, text: str) -> Known:
    """The value of arithmetic, from left to right: a run of it is nested to the left, however long it is."""
    steps = []
    while isinstance(node, _Arithmetic):
        steps.append(node)
        node = node.this
    left = _numeric(node, text)
    for step in reversed(steps):
        right = _numeric(step.expression, text)
        value = _arithmetic(step, number(left, text), number(right, text), text, left.start, right.end)
        left = Known("number", value, left.start, right.end)
    return left


def _arithmetic(node: exp.Expr, left: int | float, right: int | float, text: str, start: int, end: int) -> int | float:
    """+, - and * on integers are exact; / is exact where it comes out even; all else is in doubles."""
    try:
        match node:
            case exp.Add():
                return left + right
            case exp.Sub():
                return left - right
            case exp.Mul():
                return left * right
            case _ if isinstance(left, int) and isinstance(right, int) and left % right == 0:
                return left // right
        return left / right
    except ZeroDivisionError:
        raise FilterTypeError("division by zero", text, start, end) from None
    except OverflowError:
        return math.inf


def _number(digits: str, text: str, start: int, end: int) -> int | float:
    """The number; an infinity if it is too large, which is for whoever uses it to refuse."""
    if digits.isdecimal():
        return int(digits) if len(digits) <= _MOST_DIGITS else math.inf
    try:
        return float(digits)
    except ValueError:
        message = "this is no number; write it like 12, 1.5 or 2.5e-3"
        raise FilterSyntaxError(message, text, start, end) from None
