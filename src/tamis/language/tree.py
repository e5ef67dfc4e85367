"""The checked syntax tree of a filter: AND, OR and NOT over leaves, as written, before any normalisation.

Every leaf is positive (`x != 5` is `Negation` of the leaf `x = 5`; `x IS NULL` is `Negation` of `Present`), its
attributes are in the schema and its values are in their attributes' domains. Calls and constraints (calls.py) are
leaves as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tamis.language.calls import Called
from tamis.language.predicates import Leaf


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
