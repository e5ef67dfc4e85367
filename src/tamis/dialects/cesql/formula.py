"""Conditions in two-valued logic, some of them unknown, and the tightest Tamis filter that each of them implies.

Tamis has no word for "it is not so that x = 'a'" where x may be absent: `x != 'a'` asks for presence. Here every
condition either holds or does not, and an absent attribute makes a literal not hold, negated or not; the opposite of a
literal then holds where the attribute is absent too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from tamis.language.predicates import Leaf, Present, attributes_of
from tamis.language.tree import FALSE, TRUE, And, Constant, Negation, Or, Tree, all_of, any_of


@dataclass(frozen=True, slots=True)
class Unknown:
    """Holds or does not, and Tamis cannot say which. Two of them need not agree."""


@dataclass(frozen=True, slots=True)
class Literal:
    """The attribute has a value and the leaf holds of it, or does not if `negated`.

    `required`: every event in question has the attribute.
    """

    leaf: Leaf
    required: bool
    negated: bool = False


Formula: TypeAlias = "And[Formula] | Or[Formula] | Negation[Formula] | Constant | Literal | Unknown"
"""Here `Negation` holds wherever its item does not."""

UNKNOWN: Final = Unknown()


def size(formula: Formula) -> int:
    """How many conditions a formula has."""
    match formula:
        case And(items) | Or(items):
            return sum(map(size, items))
        case Negation(item):
            return size(item)
        case _:
            return 1


def implied(formula: Formula, opposite: bool = False) -> tuple[Tree, bool]:
    """A filter that holds wherever the formula (or its opposite) does, and whether it holds nowhere else."""
    match formula:
        case Constant(value):
            return (TRUE if value != opposite else FALSE), True
        case Unknown():
            return TRUE, False
        case Literal():
            return (_opposite_literal(formula) if opposite else _literal(formula)), True
        case Negation(item):
            return implied(item, not opposite)
        case And(items) | Or(items):
            found = [implied(item, opposite) for item in items]
            join = all_of if isinstance(formula, And) != opposite else any_of
            return join(tree for tree, _ in found), all(exact for _, exact in found)


def _literal(literal: Literal) -> Tree:
    return Negation(literal.leaf) if literal.negated else literal.leaf


def _opposite_literal(literal: Literal) -> Tree:
    turned = literal.leaf if literal.negated else Negation(literal.leaf)
    if literal.required or isinstance(literal.leaf, Present):
        return turned
    return any_of([turned, *(Negation(Present(name)) for name in attributes_of(literal.leaf))])
