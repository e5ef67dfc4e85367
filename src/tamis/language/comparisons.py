"""Comparisons of an attribute with constants, made into leaves of the attribute's type; and evaluation of constants.

Constants are literals, and arithmetic on them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal, TypeAlias

from sqlglot import exp

from tamis.errors import FilterSyntaxError, FilterTooComplex, FilterTypeError, PatternError
from tamis.language.patterns import inner_wildcards, like_fault, rlike_fault
from tamis.language.predicates import (
    INT_MAX,
    INT_MIN,
    Between,
    Bounds,
    Like,
    Never,
    Operand,
    Order,
    RLike,
    Value,
    among,
    equals,
    float_bounds,
    integer_bounds,
    read_timestamp,
)
from tamis.language.syntax import span
from tamis.language.tree import Limits, Negation, Tree
from tamis.schema import Attribute, EnumeratedDomain, HierarchicalDomain

Kind: TypeAlias = Literal["number", "string", "boolean", "timestamp", "null"]

_MOST_DIGITS = 1_000
_LARGEST = 10**400
_Arithmetic = exp.Add | exp.Sub | exp.Mul | exp.Div


@dataclass(frozen=True, slots=True)
class Known:
    """A constant of a filter: its value, and its place in the text.

    `literal` is where its one literal begins, the sign aside (`negative`), or None where several make it up: a literal
    by itself can be replaced by another one, as shapes do.
    """

    kind: Kind
    value: int | float | str | bool | None
    start: int
    end: int
    literal: int | None = None
    negative: bool = False


def is_constant(node: exp.Expr) -> bool:
    """True if a node names no attribute, variable or operator and so has a value of its own."""
    return node.find(exp.Column, exp.Dot, exp.Placeholder, exp.Anonymous) is None


def evaluate(node: exp.Expr, text: str) -> Known:
    """Value of a constant node."""
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
    """Value of a numeric constant, which may lie somewhat beyond its attribute's type."""
    value = known.value
    assert isinstance(value, int | float)
    if math.isinf(value) if isinstance(value, float) else abs(value) > _LARGEST:
        message = "the number is too large; doubles end at about 1.8e308, integers here at 1e400"
        raise FilterTypeError(message, text, known.start, known.end)
    return value


def moment(known: Known, text: str) -> int:
    """Value of a timestamp constant, in microseconds since the epoch."""
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
    """Value of arithmetic, from left to right: a run of it is nested to the left, however long it is."""
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
    """Result of an operation: +, - and * on integers are exact; / is exact where it comes out even; else doubles."""
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
    """Value of a number; an infinity if it is too large, for the caller to refuse."""
    if digits.isdecimal():
        return int(digits) if len(digits) <= _MOST_DIGITS else math.inf
    try:
        return float(digits)
    except ValueError:
        message = "this is no number; write it like 12, 1.5 or 2.5e-3"
        raise FilterSyntaxError(message, text, start, end) from None


_KINDS: dict[str, tuple[str, ...]] = {
    "integer": ("number",),
    "float": ("number",),
    "string": ("string",),
    "boolean": ("boolean",),
    "timestamp": ("timestamp", "string"),
    "enumerated": ("string",),
    "hierarchical": ("string",),
}
_EXAMPLES = {
    "integer": "12",
    "float": "1.5",
    "string": "'red'",
    "boolean": "TRUE",
    "timestamp": "TIMESTAMP '2024-05-01 10:00:00'",
}


class Comparisons:
    """Makes the leaves of one text, and raises where the types or the values do not fit.

    `compare`, `between`, `one_of`, `like` and `rlike` first check what follows from the text's shape alone, then call
    the method of the same name with an underscore, which looks at the values.
    """

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.limits = limits
        self.wildcards = 0

    def compare(self, attribute: Attribute, operator: str, known: Known) -> Tree:
        """Leaf for `attribute operator known` with =, <, <=, > or >=."""
        self._require_kind(attribute, known)
        if operator != "=":
            self.require_order(attribute, known.start, known.end)
        return self._compare(attribute, operator, known)

    def between(self, attribute: Attribute, low: Known, high: Known) -> Tree:
        """Leaf for `attribute BETWEEN low AND high`: one value lies within both."""
        for known in (low, high):
            self._require_kind(attribute, known)
        self.require_order(attribute, low.start, high.end)
        return self._between(attribute, low, high)

    def one_of(self, attribute: Attribute, listed: Sequence[Known]) -> Tree:
        """Leaf for `attribute IN (listed)`."""
        for known in listed:
            self._require_kind(attribute, known)
        return self._one_of(attribute, listed)

    def like(self, attribute: Attribute, pattern: Known, ignore_case: bool) -> Tree:
        """Leaf for `attribute LIKE pattern`, its escapes already backslashes."""
        self._require_pattern(attribute, pattern)
        return self._like(attribute, pattern, ignore_case)

    def rlike(self, attribute: Attribute, pattern: Known) -> Tree:
        """Leaf for `attribute RLIKE pattern`."""
        self._require_pattern(attribute, pattern)
        return self._rlike(attribute, pattern)

    def given(self, attribute: Attribute, known: Known) -> Operand:
        """Value by itself, of a call or constraint; `attribute` names it and says what it may be."""
        self._require_kind(attribute, known)
        return self._given(attribute, known)

    def require_order(self, attribute: Attribute, start: int, end: int) -> None:
        """Refuses < on domains that have no order."""
        domain = attribute.domain
        if domain.kind == "boolean" or (isinstance(domain, EnumeratedDomain) and not domain.ordered):
            what = "boolean" if domain.kind == "boolean" else "enumerated without an order"
            raise FilterTypeError(f"{attribute.name} is {what}; compare it by =, != or IN", self.text, start, end)

    def require_comparable(self, attribute: Attribute, start: int, end: int) -> None:
        """Refuses every comparison of bytes."""
        if attribute.domain.kind == "binary":
            message = f"{attribute.name} is binary; filters ask only whether it IS NULL or IS NOT NULL, operators more"
            raise FilterTypeError(message, self.text, start, end)

    def _require_kind(self, attribute: Attribute, known: Known) -> None:
        domain = attribute.domain
        if known.kind == "null":
            message = f"a comparison with NULL never holds; write {attribute.name} IS NULL or IS NOT NULL"
            raise FilterTypeError(message, self.text, known.start, known.end)
        self.require_comparable(attribute, known.start, known.end)
        if known.kind not in _KINDS[domain.kind]:
            example = _EXAMPLES.get(domain.kind) or repr(domain.values[0])  # type: ignore[union-attr]
            message = f"{attribute.name} is {domain.kind} and this is a {known.kind}; write a value like {example}"
            raise FilterTypeError(message, self.text, known.start, known.end)

    def _require_pattern(self, attribute: Attribute, pattern: Known) -> None:
        if attribute.domain.kind != "string":
            message = f"patterns match strings and {attribute.name} is {attribute.domain.kind}; compare it by = or IN"
            raise FilterTypeError(message, self.text, pattern.start, pattern.end)
        if pattern.kind != "string":
            raise FilterTypeError("a pattern is a string in quotes", self.text, pattern.start, pattern.end)

    def _compare(self, attribute: Attribute, operator: str, known: Known) -> Tree:
        domain = attribute.domain
        if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            value = self._listed_value(attribute, domain, known)
            return equals(attribute.name, value) if operator == "=" else Order(attribute.name, operator, value)
        return self._within(attribute, Bounds.of(operator, self._value(attribute, known)))

    def _between(self, attribute: Attribute, low: Known, high: Known) -> Tree:
        domain = attribute.domain
        if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            above = domain.satisfying(">=", self._listed_value(attribute, domain, low))
            below = domain.satisfying("<=", self._listed_value(attribute, domain, high))
            return among(attribute.name, {domain.values[position] for position in set(above) & set(below)})
        return self._within(attribute, Bounds(self._value(attribute, low), self._value(attribute, high)))

    def _one_of(self, attribute: Attribute, listed: Sequence[Known]) -> Tree:
        values: set[Value] = set()
        for known in listed:
            match self._compare(attribute, "=", known):
                case Between(_, value):
                    values.add(value)  # type: ignore[arg-type]
        return among(attribute.name, values)

    def _like(self, attribute: Attribute, pattern: Known, ignore_case: bool) -> Tree:
        if fault := like_fault(str(pattern.value), self.limits):
            raise PatternError(fault, self.text, pattern.start, pattern.end)
        self.wildcards += inner_wildcards(str(pattern.value))
        if self.wildcards > self.limits.wildcards_in_all:
            message = (
                f"up to here the filter has {self.wildcards:,} wildcards inside its LIKE patterns, and at most "
                f"{self.limits.wildcards_in_all:,} are taken; leave some out, or split it into several subscriptions"
            )
            raise FilterTooComplex(message, self.text, pattern.start, pattern.end)
        return Like(attribute.name, str(pattern.value), ignore_case)

    def _rlike(self, attribute: Attribute, pattern: Known) -> Tree:
        if fault := rlike_fault(str(pattern.value), self.limits):
            raise PatternError(fault, self.text, pattern.start, pattern.end)
        return RLike(attribute.name, str(pattern.value))

    def _given(self, attribute: Attribute, known: Known) -> Operand:
        domain = attribute.domain
        if isinstance(domain, EnumeratedDomain):
            return self._listed_value(attribute, domain, known)
        value = self._value(attribute, known)
        if domain.kind == "float":
            return float(value) + 0.0  # of two zeros there is one
        if domain.kind == "integer":
            if not (isinstance(value, int) or (isinstance(value, float) and value.is_integer())):
                raise FilterTypeError(f"{attribute.name} is a whole number", self.text, known.start, known.end)
            if not INT_MIN <= value <= INT_MAX:
                message = f"{attribute.name} is beyond 64 bits; write a decimal number if it need not be exact"
                raise FilterTypeError(message, self.text, known.start, known.end)
            return int(value)
        return value

    def _value(self, attribute: Attribute, known: Known) -> Value:
        if attribute.domain.kind == "timestamp":
            return moment(known, self.text)
        if known.kind == "number":
            return number(known, self.text)
        assert known.value is not None
        return known.value

    def _listed_value(self, attribute: Attribute, domain: EnumeratedDomain | HierarchicalDomain, known: Known) -> str:
        value = str(known.value)
        if domain.position(value) is None:
            close = get_close_matches(value, domain.values, 1)
            remedy = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(map(repr, domain.values[:8]))}"
            remedy += ", ..." if not close and len(domain.values) > 8 else ""
            message = f"{attribute.name} has no value {value!r}; {remedy}"
            raise FilterTypeError(message, self.text, known.start, known.end)
        return value

    def _within(self, attribute: Attribute, bounds: Bounds[Value]) -> Tree:
        """Leaf for the values within bounds that may not be of the attribute's type."""
        within: Bounds[int] | Bounds[float] | Bounds[Value] | None = bounds
        if attribute.domain.kind in ("integer", "timestamp"):
            within = integer_bounds(bounds)  # type: ignore[arg-type]
        elif attribute.domain.kind == "float":
            within = float_bounds(bounds)  # type: ignore[arg-type]
        elif bounds.low is not None and bounds.high is not None and bounds.low > bounds.high:  # type: ignore[operator]
            within = None
        if within is None:
            return Never(attribute.name)
        if within.low is None and within.high is None:
            return Negation(Never(attribute.name))
        return Between(attribute.name, within.low, within.high, within.low_closed, within.high_closed)
