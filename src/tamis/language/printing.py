"""Normal form to text: the canonical text, which parses back to the same normal form."""

from __future__ import annotations

import re

from tamis.language.dialect import WORDS
from tamis.language.normal_form import Filter
from tamis.language.predicates import (
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
)
from tamis.language.timestamps import EARLIEST, LATEST, write_timestamp
from tamis.schema import Schema

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)
_EXACT = 1 << 53


def print_filter(filter: Filter, schema: Schema) -> str:
    """The filter's canonical text: equal filters have equal texts, and `normalise(parse(text))` is the filter again."""
    if not filter.conjuncts:
        return "FALSE"
    texts = [" AND ".join(print_literal(literal, schema) for literal in conjunct) for conjunct in filter.conjuncts]
    if len(texts) == 1:
        return texts[0] or "TRUE"
    return " OR ".join(f"({text})" if " AND " in text else text for text in texts)


def print_literal(literal: Literal, schema: Schema) -> str:
    """One literal, so that it can stand between ANDs."""
    negated = isinstance(literal, Not)
    leaf = literal.leaf if isinstance(literal, Not) else literal
    no = "NOT " if negated else ""
    match leaf:
        case Versus(left, operator, right):
            if operator == "=" and negated:
                return f"{_name(left)} != {_name(right)}"
            return f"{no}{_name(left)} {operator} {_name(right)}"
        case Between():
            return _between(leaf, negated, schema)
        case OneOf(attribute, values):
            listed = ", ".join(_value(value, attribute, schema) for value in values)
            return f"{_name(attribute)} {no}IN ({listed})"
        case Order(attribute, operator, value):
            return f"{no}{_name(attribute)} {operator} {_value(value, attribute, schema)}"
        case Like(attribute, pattern, ignore_case):
            return f"{_name(attribute)} {no}{'ILIKE' if ignore_case else 'LIKE'} {_quoted(pattern)}"
        case RLike(attribute, pattern):
            return f"{_name(attribute)} {no}RLIKE {_quoted(pattern)}"
        case Present(attribute):
            return f"{_name(attribute)} IS {'NULL' if negated else 'NOT NULL'}"
        case Never():
            return _never(leaf, negated)


def _between(leaf: Between, negated: bool, schema: Schema) -> str:
    name, no = _name(leaf.attribute), "NOT " if negated else ""
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
    name = _name(leaf.attribute)
    return f"{name} IS NOT NULL" if negated else f"{name} IS NULL AND {name} IS NOT NULL"


def _value(value: Operand, attribute: str, schema: Schema) -> str:
    if isinstance(value, Slot):
        return f"?{value.number}"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return _quoted(value)
    if schema.attributes[attribute].domain.kind == "timestamp":
        return f"TIMESTAMP '{write_timestamp(int(min(max(value, EARLIEST), LATEST)))}'"
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        return str(int(value))
    return repr(value)


def _quoted(text: str | Slot) -> str:
    return f"?{text.number}" if isinstance(text, Slot) else "'" + text.replace("'", "''") + "'"


def _name(attribute: str) -> str:
    if _PLAIN.fullmatch(attribute) and not any(part.upper() in WORDS for part in attribute.split(".")):
        return attribute
    return '"' + attribute.replace('"', '""') + '"'
