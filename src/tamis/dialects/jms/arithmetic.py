"""Arithmetic of JMS selectors (Java's), and its comparisons with a constant as ranges of the attribute's values.

`+`, `-`, `*` and `/` by a constant are monotone in the other operand, in integers as in rounded doubles. So the values
for which such an expression compares with a constant are one range, whose ends are found by bisection, exactly.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass

from tamis.dialects.conversion import ConversionError
from tamis.dialects.jms.grammar import Name, Negative, Operand, SelectorArithmetic, SelectorLiteral

Number = int | float
INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Line:
    """Monotone function of one attribute, rising or falling."""

    name: str
    at: Callable[[Number], Number]
    rising: bool

    def then(self, step: Callable[[Number], Number], rising: bool) -> Line:
        before = self.at
        return Line(self.name, lambda value: step(before(value)), self.rising == rising)


def reduced(operand: Operand) -> Number | str | bool | Line:
    """Operand as a constant, or as a function of its one attribute; `ConversionError` for anything else."""
    match operand:
        case SelectorLiteral(value):
            return value
        case Name(name):
            return Line(name, lambda value: value, True)
        case Negative(inner):
            found = _numeric(reduced(inner))
            return found.then(lambda x: -x, False) if isinstance(found, Line) else -found
        case SelectorArithmetic(left, operator, right):
            return _arithmetic(_numeric(reduced(left)), operator, _numeric(reduced(right)))


def is_plain(line: Line) -> bool:
    """True if the function is the attribute itself."""
    return all(line.at(value) is value for value in (-7.25, 3.5))


def _arithmetic(left: Number | Line, operator: str, right: Number | Line) -> Number | Line:
    if isinstance(left, Line) and isinstance(right, Line):
        reason = "arithmetic on two properties, or twice on one, is no comparison of a property with a value"
        raise ConversionError(reason, operator, "publish the result as a property of its own")
    if isinstance(left, Line):
        known = _number(right)
        if operator in "*/" and known == 0:
            raise ConversionError(f"{operator} 0 of a property", operator, "leave it out")
        rising = operator in "+-" or known > 0
        return left.then(lambda x: compute(x, operator, known), rising)
    if isinstance(right, Line):
        known = _number(left)
        if operator == "/":
            remedy = "publish the quotient as a property of its own"
            raise ConversionError("a value divided by a property jumps at 0 and is no range", operator, remedy)
        if operator == "*" and known == 0:
            raise ConversionError("0 times a property", operator, "leave it out")
        return right.then(lambda x: compute(known, operator, x), operator == "+" or (operator == "*" and known > 0))
    return compute(left, operator, right)


def compute(left: Number, operator: str, right: Number) -> Number:
    """Result of an operator by Java's numeric promotion: integers among themselves (without their overflow), else
    doubles."""
    if isinstance(left, int) and isinstance(right, int):
        if operator == "/":
            if right == 0:
                raise ConversionError("division by zero", f"{left} / {right}")
            quotient = abs(left) // abs(right)
            return quotient if (left < 0) == (right < 0) else -quotient
        return left + right if operator == "+" else left - right if operator == "-" else left * right
    a, b = float(left), float(right)
    try:
        return a + b if operator == "+" else a - b if operator == "-" else a * b if operator == "*" else a / b
    except ZeroDivisionError:
        raise ConversionError("division by zero", f"{left} / {right}") from None


def compares(left: Number, operator: str, right: Number) -> bool:
    """True if a comparison holds by Java's rules: an integer and a double as doubles."""
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    return {"=": left == right, "<>": left != right, "<": left < right, "<=": left <= right,
            ">": left > right, ">=": left >= right}[operator]  # fmt: skip


def range_of(line: Line, operator: str, known: Number, kind: str) -> tuple[Number, Number] | None:
    """Range of the attribute's values for which `line operator known` holds, from first to last; None if there are
    none.

    `kind` is the attribute's domain, integer or float; `operator` is =, <, <=, > or >=.
    """
    first, last = (INT_MIN, INT_MAX) if kind == "integer" else (_key(-math.inf), _key(math.inf))
    value: Callable[[int], Number] = (lambda key: key) if kind == "integer" else _double

    def holds(operator: str, key: int) -> bool:
        return compares(line.at(value(key)), operator, known)

    low, high = first, last
    if operator in (">", ">=", "="):
        wanted = ">=" if operator == "=" else operator
        end = _boundary(lambda key: holds(wanted, key), first, last, upper=line.rising)
        if end is None:
            return None
        low, high = (end, high) if line.rising else (low, end)
    if operator in ("<", "<=", "="):
        wanted = "<=" if operator == "=" else operator
        end = _boundary(lambda key: holds(wanted, key), first, last, upper=not line.rising)
        if end is None:
            return None
        low, high = (low, min(high, end)) if line.rising else (max(low, end), high)
    return (value(low), value(high)) if low <= high else None


def _boundary(holds: Callable[[int], bool], first: int, last: int, upper: bool) -> int | None:
    """End of a condition that holds from some key up (`upper`), or down from it; None if it holds nowhere."""
    if not holds(last if upper else first):
        return None
    inside, outside = (last, first - 1) if upper else (first, last + 1)
    while abs(inside - outside) > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside


def _key(value: float) -> int:
    """Order-preserving integer of a double; both zeros are one."""
    bits: int = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
    return bits if bits >= 0 else -(bits & INT_MAX)


def _double(key: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", abs(key)))[0]
    return value if key >= 0 else -value


def _numeric(value: Number | str | bool | Line) -> Number | Line:
    if isinstance(value, bool | str):
        raise ConversionError("arithmetic needs numbers", repr(value))
    return value


def _number(value: Number | Line) -> Number:
    assert not isinstance(value, Line)
    return value
