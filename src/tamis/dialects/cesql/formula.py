"""Conditions in two-valued logic, some of them unknown, and the tightest Tamis filter that each of them implies.

Tamis has no word for "it is not so that x = 'a'" where x may be absent: `x != 'a'` asks for presence. Here every
condition either holds or does not, and an absent attribute makes a literal not hold, negated or not; the opposite of a
literal then holds where the attribute is absent too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from tamis.language.predicates import Leaf, Present, attributes_of
from tamis.language.tree import FALSE, TRUE, And, Constant, Negation, Or, Tree


@dataclass(frozen=True, slots=True)
class Fixed:
    """Holds always, or never."""

    value: bool


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


@dataclass(frozen=True, slots=True)
class Both:
    """All items hold. `size` counts the conditions within."""

    items: tuple[Formula, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Either:
    """Some item holds. `size` counts the conditions within."""

    items: tuple[Formula, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Opposite:
    """The item does not hold."""

    item: Formula


Formula: TypeAlias = Fixed | Unknown | Literal | Both | Either | Opposite

ALWAYS: Final = Fixed(True)
NEVER: Final = Fixed(False)
UNKNOWN: Final = Unknown()


def both(*items: Formula) -> Formula:
    """All of them hold."""
    return _junction(Both, items, ALWAYS, NEVER)


def either(*items: Formula) -> Formula:
    """Some of them holds."""
    return _junction(Either, items, NEVER, ALWAYS)


def _junction(kind: type[Both | Either], items: tuple[Formula, ...], idle: Fixed, decisive: Fixed) -> Formula:
    """Flat, each item once, without those that say nothing; one that decides it alone is all that is left."""
    flat = [part for item in items for part in (item.items if isinstance(item, kind) else (item,))]
    kept = tuple(dict.fromkeys(part for part in flat if part != idle))
    if decisive in kept:
        return decisive
    return kind(kept, sum(map(size, kept))) if len(kept) > 1 else kept[0] if kept else idle


def size(formula: Formula) -> int:
    """How many conditions a formula has."""
    match formula:
        case Both(_, count) | Either(_, count):
            return count
        case Opposite(item):
            return size(item)
        case _:
            return 1


def implied(formula: Formula, opposite: bool = False) -> tuple[Tree, bool]:
    """A filter that holds wherever the formula (or its opposite) does, and whether it holds nowhere else."""
    match formula:
        case Fixed(value):
            return (TRUE if value != opposite else FALSE), True
        case Unknown():
            return TRUE, False
        case Literal():
            return (_opposite_literal(formula) if opposite else _literal(formula)), True
        case Opposite(item):
            return implied(item, not opposite)
        case Both(items) | Either(items):
            found = [implied(item, opposite) for item in items]
            trees, exact = [tree for tree, _ in found], all(exact for _, exact in found)
            joined = _and(trees) if isinstance(formula, Both) != opposite else _or(trees)
            return joined, exact


def _literal(literal: Literal) -> Tree:
    return Negation(literal.leaf) if literal.negated else literal.leaf


def _opposite_literal(literal: Literal) -> Tree:
    turned = literal.leaf if literal.negated else Negation(literal.leaf)
    if literal.required or isinstance(literal.leaf, Present):
        return turned
    return _or([turned, *(Negation(Present(name)) for name in attributes_of(literal.leaf))])


def _and(trees: list[Tree]) -> Tree:
    kept = tuple(tree for tree in trees if tree != TRUE)
    if any(isinstance(tree, Constant) for tree in kept):
        return FALSE
    return And(kept) if len(kept) > 1 else kept[0] if kept else TRUE


def _or(trees: list[Tree]) -> Tree:
    kept = tuple(tree for tree in trees if tree != FALSE)
    if any(isinstance(tree, Constant) for tree in kept):
        return TRUE
    return Or(kept) if len(kept) > 1 else kept[0] if kept else FALSE
