"""Constraints on bound variables, made into functions of what the variables are bound to."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, TypeAlias

from tamis.language.calls import Arithmetic, Constraint, Expression, Field, Moment, Variable, fields_of
from tamis.operators.values import Bindable, key_of

Bound: TypeAlias = Mapping[str, Bindable]
"""What each variable is bound to, by name."""
Fields: TypeAlias = Callable[[str], Sequence[Bindable]]
"""The values of an attribute in the event."""
Test: TypeAlias = Callable[[Bound, Fields], bool]

_Side: TypeAlias = Callable[[Bound, Mapping[str, Bindable]], Bindable | None]
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@lru_cache(maxsize=100_000)
def test_of(constraint: Constraint) -> Test:
    """Whether the constraint holds for what its variables are bound to, in an event with these fields."""
    holds = _comparison(constraint)
    names = fields_of(constraint)
    if not names:
        return lambda bound, _: holds(bound, {}) != constraint.negated

    def test(bound: Bound, fields: Fields) -> bool:
        values = [fields(name) for name in names]
        if not all(values):
            return False
        found = any(holds(bound, dict(zip(names, some, strict=True))) for some in product(*values))
        return found != constraint.negated

    return test


def _comparison(constraint: Constraint) -> Callable[[Bound, Mapping[str, Bindable]], bool]:
    left = _side(constraint.left)
    if isinstance(constraint.right, tuple):
        listed = {key_of(value) for value in constraint.right}  # type: ignore[arg-type]  # slots are filled
        kinds = {kind for kind, _ in listed}
        wanted = constraint.operator == "IN"

        def among(bound: Bound, fields: Mapping[str, Bindable]) -> bool:
            value = left(bound, fields)
            if value is None:
                return False
            key = key_of(value)
            return key in listed if wanted else key not in listed and key[0] in kinds

        return among
    right = _side(constraint.right)
    compare = _COMPARE[constraint.operator]

    def compares(bound: Bound, fields: Mapping[str, Bindable]) -> bool:
        ours, theirs = left(bound, fields), right(bound, fields)
        if ours is None or theirs is None:
            return False
        (kind, a), (other, b) = key_of(ours), key_of(theirs)
        return kind == other and bool(compare(a, b))

    return compares


def _side(expression: Expression) -> _Side:
    """The expression's value; None where it has none."""
    match expression:
        case Variable(name):
            return lambda bound, _: bound[name]
        case Field(attribute):
            return lambda _, fields: fields[attribute]
        case Arithmetic(sign, left, right):
            ours, theirs = _side(left), _side(right)
            return lambda bound, fields: _computed(sign, ours(bound, fields), theirs(bound, fields))
    return lambda *_: expression  # type: ignore[return-value]  # slots are filled


def _computed(sign: str, a: Bindable | None, b: Bindable | None) -> int | float | None:
    """As constants are computed: exact on integers, / too where it comes out even; else in doubles."""
    if a is None or b is None or isinstance(a, bool | str | Moment) or isinstance(b, bool | str | Moment):
        return None
    try:
        match sign:
            case "+":
                found = a + b
            case "-":
                found = a - b
            case "*":
                found = a * b
            case _ if isinstance(a, int) and isinstance(b, int) and a % b == 0:
                found = a // b
            case _:
                found = a / b
    except (ZeroDivisionError, OverflowError):
        return None
    return None if isinstance(found, float) and math.isnan(found) else found
