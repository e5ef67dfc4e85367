"""Printer of filters: a normal form to its canonical text, and a syntax tree to text as it stands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from tamis.language.call_rewrites import Case
from tamis.language.calls import Argument, Arithmetic, Call, Called, Constraint, Expression, Field, Moment, Variable
from tamis.language.forms import CalledFilter, Filter
from tamis.language.predicates import (
    EARLIEST,
    LATEST,
    Between,
    Leaf,
    Like,
    Literal,
    Never,
    Not,
    OneOf,
    Operand,
    Order,
    Present,
    RLike,
    Slot,
    Versus,
    write_timestamp,
)
from tamis.language.syntax import WORDS
from tamis.language.tree import And, Constant, Negation, Or, Tree
from tamis.schema import Attribute

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)
_EXACT = 1 << 53
_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2}


class Typed(Protocol):
    """Protocol of a schema for printing: the attributes by the names that they are printed under."""

    @property
    def attributes(self) -> Mapping[str, Attribute]: ...


def print_filter(filter: Filter | CalledFilter, schema: Typed) -> str:
    """Canonical text of a filter: equal filters have equal texts, and its normal form is the filter again."""
    if isinstance(filter, CalledFilter):
        return _either([_case(case, schema) for case in filter.cases]) or "FALSE"
    if not filter.conjuncts:
        return "FALSE"
    return _either([_all_of([print_literal(one, schema) for one in conjunct]) for conjunct in filter.conjuncts])


def print_tree(tree: Tree, schema: Typed) -> str:
    """Text of a tree, with parentheses only where OR stands under AND, or either under NOT.

    Leaves may be as somebody wrote them: `x > 3` stays so on an integer, whose normal form is `x >= 4`.
    """
    match tree:
        case Constant(value):
            return "TRUE" if value else "FALSE"
        case And(items):
            texts = [(print_tree(item, schema), isinstance(item, Or)) for item in items]
            return _all_of([f"({text})" if wide else text for text, wide in texts])
        case Or(items):
            return " OR ".join(print_tree(item, schema) for item in items) or "FALSE"
        case Negation(Call() | Constraint() as leaf):
            return print_called(replace(leaf, negated=not leaf.negated))
        case Negation(Present() | Never() as leaf):
            return print_literal(Not(leaf), schema)
        case Negation(item):
            text = print_tree(item, schema)
            return f"NOT ({text})" if isinstance(item, And | Or) or _is_two_comparisons(item) else f"NOT {text}"
        case Call() | Constraint():
            return print_called(tree)
    return print_literal(tree, schema)


def _is_two_comparisons(tree: Tree) -> bool:
    """True if the leaf is a range that BETWEEN cannot say, for an end of it is open."""
    if not isinstance(tree, Between) or tree.low is None or tree.high is None:
        return False
    return not (tree.low_closed and tree.high_closed)


def _all_of(texts: list[str]) -> str:
    return " AND ".join(texts) or "TRUE"


def _either(texts: list[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    return " OR ".join(f"({text})" if " AND " in text else text for text in texts)


def _case(case: Case, schema: Typed) -> str:
    guard = _either([_all_of([print_literal(one, schema) for one in conjunct]) for conjunct in case.guard])
    guards = [] if guard == "TRUE" and case.called else [f"({guard})" if len(case.guard) > 1 else guard]
    return _all_of([*guards, *map(print_called, case.called)])


def print_called(leaf: Called) -> str:
    """Text of a call or constraint that can stand between ANDs."""
    no = "NOT " if leaf.negated else ""
    if isinstance(leaf, Call):
        return f"{no}{leaf.operator}({', '.join(map(_part, leaf.arguments))})"
    right = f"({', '.join(map(_part, leaf.right))})" if isinstance(leaf.right, tuple) else _part(leaf.right)
    return f"{no}{_part(leaf.left)} {leaf.operator} {right}"


def _part(part: Argument | Expression) -> str:
    match part:
        case None:
            return "NULL"
        case Variable(name):
            return f"?{name}"
        case Field(attribute):
            return print_name(attribute)
        case Moment(microseconds):
            return f"?{microseconds.number}" if isinstance(microseconds, Slot) else _moment(microseconds)
        case Arithmetic(operator, left, right):
            # Read from left to right: only what binds less, or as much and stands on the right, needs parentheses.
            before = _in_parentheses(left, _BINDS[operator])
            return f"{before} {operator} {_in_parentheses(right, _BINDS[operator] + 1)}"
    return _constant(part)


def _in_parentheses(side: Expression, least: int) -> str:
    lesser = isinstance(side, Arithmetic) and _BINDS[side.operator] < least
    return f"({_part(side)})" if lesser else _part(side)


def print_literal(literal: Literal, schema: Typed) -> str:
    """Text of one literal that can stand between ANDs."""
    negated = isinstance(literal, Not)
    leaf = literal.leaf if isinstance(literal, Not) else literal
    no = "NOT " if negated else ""
    match leaf:
        case Versus(left, operator, right):
            if operator == "=" and negated:
                return f"{print_name(left)} != {print_name(right)}"
            return f"{no}{print_name(left)} {operator} {print_name(right)}"
        case Between():
            return _between(leaf, negated, schema)
        case OneOf(attribute, values):
            listed = ", ".join(_value(value, attribute, schema) for value in values)
            return f"{print_name(attribute)} {no}IN ({listed})"
        case Order(attribute, operator, value):
            return f"{no}{print_name(attribute)} {operator} {_value(value, attribute, schema)}"
        case Like(attribute, pattern, ignore_case):
            return f"{print_name(attribute)} {no}{'ILIKE' if ignore_case else 'LIKE'} {_quoted(pattern)}"
        case RLike(attribute, pattern):
            return f"{print_name(attribute)} {no}RLIKE {_quoted(pattern)}"
        case Present(attribute):
            return f"{print_name(attribute)} IS {'NULL' if negated else 'NOT NULL'}"
        case Never():
            return _never(leaf, negated)


def _between(leaf: Between, negated: bool, schema: Typed) -> str:
    name, no = print_name(leaf.attribute), "NOT " if negated else ""
    low = None if leaf.low is None else _value(leaf.low, leaf.attribute, schema)
    high = None if leaf.high is None else _value(leaf.high, leaf.attribute, schema)
    if leaf.is_equality:
        return f"{name} {'!=' if negated else '='} {low}"
    if low is not None and high is not None and leaf.low_closed and leaf.high_closed:
        return f"{name} {no}BETWEEN {low} AND {high}"
    above, below = ">=" if leaf.low_closed else ">", "<=" if leaf.high_closed else "<"
    if leaf.attribute in schema.attributes and schema.attributes[leaf.attribute].domain.kind == "timestamp":
        # One microsecond outside the years that can be written is told by its neighbour.
        if isinstance(leaf.low, int) and leaf.low == LATEST + 1:
            above, low = ">", _value(LATEST, leaf.attribute, schema)
        if isinstance(leaf.high, int) and leaf.high == EARLIEST - 1:
            below, high = "<", _value(EARLIEST, leaf.attribute, schema)
    ends = [f"{name} {above} {low}"] * (low is not None) + [f"{name} {below} {high}"] * (high is not None)
    if len(ends) == 2:
        return f"NOT ({ends[0]} AND {ends[1]})" if negated else f"{ends[0]} AND {ends[1]}"
    return f"{no}{ends[0]}" if ends else _never(Never(leaf.attribute), not negated)


def _never(leaf: Leaf, negated: bool) -> str:
    assert isinstance(leaf, Never)
    name = print_name(leaf.attribute)
    return f"{name} IS NOT NULL" if negated else f"{name} IS NULL AND {name} IS NOT NULL"


def _value(value: Operand, attribute: str, schema: Typed) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and schema.attributes[attribute].domain.kind == "timestamp":
        return _moment(int(value))  # type: ignore[arg-type]
    return _constant(value)


def _moment(microseconds: int) -> str:
    return f"TIMESTAMP '{write_timestamp(min(max(microseconds, EARLIEST), LATEST))}'"


def _constant(value: Operand) -> str:
    if isinstance(value, Slot):
        return f"?{value.number}"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        return str(int(value))
    return repr(value)


def _quoted(text: str | Slot) -> str:
    return f"?{text.number}" if isinstance(text, Slot) else "'" + text.replace("'", "''") + "'"


def print_name(attribute: str) -> str:
    """An attribute's name, quoted where it would not be read as one.

    >>> print_name("detail.state"), print_name("detail-type")
    ('detail.state', '"detail-type"')
    """
    if _PLAIN.fullmatch(attribute) and not any(part.upper() in WORDS for part in attribute.split(".")):
        return attribute
    return '"' + attribute.replace('"', '""') + '"'
