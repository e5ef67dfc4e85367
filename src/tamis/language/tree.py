"""The checked syntax tree of a filter: AND, OR and NOT over leaves, as written, before any normalisation.

Every leaf is positive (`x != 5` is `Negation` of the leaf `x = 5`; `x IS NULL` is `Negation` of `Present`), its
attributes are in the schema and its values are in their attributes' domains. Calls and constraints (calls.py) are
leaves as well.

`Pushed` is the form after that: AND and OR over leaves and negated leaves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from tamis.language.calls import Called
from tamis.language.predicates import Leaf, Literal, sort_key


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE or FALSE, whatever the event."""

    value: bool


TRUE = Constant(True)
FALSE = Constant(False)


@dataclass(frozen=True, slots=True)
class And:
    """All of two or more items hold."""

    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Some of two or more items holds."""

    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """NOT item: pushed through AND and OR to the leaves, where it asks for presence (see predicates.py)."""

    item: Tree


Tree: TypeAlias = And | Or | Negation | Constant | Leaf | Called


@dataclass(frozen=True, slots=True)
class All:
    """Every item holds. Without items: TRUE."""

    items: tuple[Pushed, ...] = ()


@dataclass(frozen=True, slots=True)
class Some:
    """Some item holds. Without items: FALSE."""

    items: tuple[Pushed, ...] = ()


Pushed: TypeAlias = All | Some | Literal | Called

Conjunct: TypeAlias = tuple[Literal, ...]
"""Literals that all hold: unique, and sorted by `predicates.sort_key`."""


def in_order(conjuncts: Iterable[Conjunct]) -> list[Conjunct]:
    """The conjuncts, each once, sorted by their literals."""
    unique = set(conjuncts)
    if len(unique) < 2:
        return list(unique)
    literals = {literal for conjunct in unique for literal in conjunct}
    # Numbers in the literals' order sort as the literals do, and much faster.
    numbers = {literal: number for number, literal in enumerate(sorted(literals, key=sort_key))}
    return sorted(unique, key=lambda conjunct: [numbers[literal] for literal in conjunct])
