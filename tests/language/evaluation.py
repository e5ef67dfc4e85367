"""The meaning of filters, written from docs/language.md and nothing else: what all forms of a filter are held to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import re2

from tamis.language import Filter, Tree
from tamis.language.calls import Call, Constraint
from tamis.language.predicates import Between, Leaf, Like, Never, Not, OneOf, Order, Present, RLike, Versus
from tamis.language.tree import And, Constant, Negation, Or
from tamis.schema import Schema

Event = Mapping[str, Sequence[Any]]


def tree_holds(tree: Tree, event: Event, schema: Schema, negated: bool = False) -> bool:
    match tree:
        case Constant(value):
            return value != negated
        case Negation(item):
            return tree_holds(item, event, schema, not negated)
        case And(items) | Or(items):
            results = [tree_holds(item, event, schema, negated) for item in items]
            return all(results) if isinstance(tree, And) != negated else any(results)
        case Call() | Constraint():
            raise TypeError("these filters call nothing")
    return leaf_holds(tree, event, schema, negated)


def filter_holds(filter: Filter, event: Event, schema: Schema) -> bool:
    return any(
        all(
            leaf_holds(literal.leaf, event, schema, True)
            if isinstance(literal, Not)
            else leaf_holds(literal, event, schema)
            for literal in conjunct
        )
        for conjunct in filter.conjuncts
    )


def leaf_holds(leaf: Leaf, event: Event, schema: Schema, negated: bool = False) -> bool:
    if isinstance(leaf, Present):
        return bool(event.get(leaf.attribute)) != negated
    if isinstance(leaf, Versus):
        lefts, rights = event.get(leaf.left, ()), event.get(leaf.right, ())
        found = any(_compares(a, leaf.operator, b, leaf.left, schema) for a in lefts for b in rights)
        return bool(lefts) and bool(rights) and found != negated
    values = event.get(leaf.attribute, ())
    return bool(values) and any(_satisfies(value, leaf, schema) for value in values) != negated


def _satisfies(value: Any, leaf: Leaf, schema: Schema) -> bool:
    match leaf:
        case Between(_, low, high, low_closed, high_closed):
            above = low is None or value > low or (low_closed and value == low)
            return above and (high is None or value < high or (high_closed and value == high))
        case OneOf(_, values):
            return value in values
        case Order(attribute, operator, bound):
            return _compares(value, operator, bound, attribute, schema)
        case Like(_, pattern, ignore_case):
            if ignore_case:
                pattern, value = str(pattern).lower(), value.lower()
            expression = re.sub(r"\\(.)|(%)|(_)|(.)", _like_part, str(pattern), flags=re.DOTALL)
            return re.fullmatch(expression, value, re.DOTALL) is not None
        case RLike(_, pattern):
            return re2.search(pattern, value) is not None
        case Never():
            return False
    raise TypeError(leaf)


def _like_part(found: re.Match[str]) -> str:
    escaped, any_run, one, plain = found.groups()
    return ".*" if any_run else "." if one else re.escape(escaped or plain)


def _compares(a: Any, operator: str, b: Any, attribute: str, schema: Schema) -> bool:
    if operator == "=":
        return bool(a == b)
    domain: Any = schema.attributes[attribute].domain
    if domain.kind in ("enumerated", "hierarchical"):
        return domain.position(a) in domain.satisfying(operator, b)
    return bool({"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator])
