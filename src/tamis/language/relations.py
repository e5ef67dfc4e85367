"""How two single-valued attributes in a total order may stand to each other: below, equal, above, or some of these."""

from __future__ import annotations

from typing import TypeAlias

from tamis.language.predicates import Literal, Never, Not, Present, Versus
from tamis.schema import Schema

Pair: TypeAlias = tuple[str, str]
Relation: TypeAlias = frozenset[int]
"""The signs that `left - right` may have."""

_OPERATORS = {"<": frozenset({-1}), "<=": frozenset({-1, 0}), "=": frozenset({0})}
_TOTAL = ("integer", "float", "string", "timestamp")

ANY: Relation = frozenset({-1, 0, 1})


def relation_of(literal: Literal, schema: Schema) -> tuple[Pair, Relation] | None:
    """The pair, in order of name, and its relation; None for all other literals."""
    leaf = literal.leaf if isinstance(literal, Not) else literal
    if not isinstance(leaf, Versus) or leaf.left == leaf.right:
        return None
    left, right = schema.attributes[leaf.left], schema.attributes[leaf.right]
    if left.multiple or right.multiple or left.domain.kind not in _TOTAL:
        return None
    signs: Relation = _OPERATORS[leaf.operator]
    if isinstance(literal, Not):
        signs = ANY - signs
    if leaf.left < leaf.right:
        return (leaf.left, leaf.right), signs
    return (leaf.right, leaf.left), frozenset(-sign for sign in signs)


def literals_of_relation(pair: Pair, relation: Relation) -> list[Literal]:
    """The one way to say that the pair stands in this relation."""
    left, right = pair
    if not relation:
        return [Never(left)]
    if relation == ANY:
        return [Present(left), Present(right)]
    if relation == {-1, 1}:
        return [Not(Versus(left, "=", right))]
    if relation == {0}:
        return [Versus(left, "=", right)]
    operator = "<=" if 0 in relation else "<"
    return [Versus(left, operator, right) if -1 in relation else Versus(right, operator, left)]
