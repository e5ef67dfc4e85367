"""Syntax tree of a filter: AND, OR and NOT over leaves, as written, before any normalisation; and limits on its size.

Every leaf is positive (`x != 5` is `Negation` of the leaf `x = 5`; `x IS NULL` is `Negation` of `Present`), its
attributes are in the schema and its values are in their attributes' domains. Calls and constraints (calls.py) are
leaves as well.

`And`, `Or` and `Negation` are all that Tamis has of this kind: rules of other systems are read into them, over leaves
of their own (`tamis.dialects`), and so is `Pushed`, the form between tree and normal form: AND and OR over leaves and
negated leaves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from tamis.language.calls import Called
from tamis.language.predicates import Leaf, Literal, sort_key

N = TypeVar("N", covariant=True)
"""The nodes of one kind of tree."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Constant:
    """Constant TRUE or FALSE, whatever the event."""

    value: bool


TRUE = Constant(True)
FALSE = Constant(False)


@dataclass(frozen=True, slots=True)
class And(Generic[N]):
    """Conjunction: all items hold. In a filter's tree it has two or more; without items: TRUE."""

    items: tuple[N, ...] = ()


@dataclass(frozen=True, slots=True)
class Or(Generic[N]):
    """Disjunction: some item holds. In a filter's tree it has two or more; without items: FALSE."""

    items: tuple[N, ...] = ()


@dataclass(frozen=True, slots=True)
class Negation(Generic[N]):
    """Negation: NOT item. Pushed through AND and OR to the leaves, where it asks for presence (see predicates.py)."""

    item: N


Tree: TypeAlias = "And[Tree] | Or[Tree] | Negation[Tree] | Constant | Leaf | Called"


def all_of(items: Iterable[T]) -> And[T] | T | Constant:
    """Conjunction of the items, flat and each once; TRUE and FALSE do not stay beside others."""
    return _joined(And, items, TRUE, FALSE)


def any_of(items: Iterable[T]) -> Or[T] | T | Constant:
    """Disjunction of the items, flat and each once; TRUE and FALSE do not stay beside others."""
    return _joined(Or, items, FALSE, TRUE)


def _joined(kind: type[And[Any]] | type[Or[Any]], items: Iterable[Any], idle: Constant, decisive: Constant) -> Any:
    """Items without those that say nothing; an item that decides it alone is all that is left."""
    kept = dict.fromkeys(part for item in items for part in (item.items if isinstance(item, kind) else (item,)))
    kept.pop(idle, None)
    if decisive in kept:
        return decisive
    return kind(tuple(kept)) if len(kept) > 1 else next(iter(kept), idle)


Pushed: TypeAlias = "And[Pushed] | Or[Pushed] | Literal | Called"
"""Without items, AND is TRUE and OR is FALSE."""

Conjunct: TypeAlias = tuple[Literal, ...]
"""Literals that all hold: unique, and sorted by `predicates.sort_key`."""


def in_order(conjuncts: Iterable[Conjunct]) -> list[Conjunct]:
    """Conjuncts, each once, sorted by their literals."""
    unique = set(conjuncts)
    if len(unique) < 2:
        return list(unique)
    literals = {literal for conjunct in unique for literal in conjunct}
    # Numbers in the literals' order sort as the literals do, and much faster.
    numbers = {literal: number for number, literal in enumerate(sorted(literals, key=sort_key))}
    return sorted(unique, key=lambda conjunct: [numbers[literal] for literal in conjunct])


# Limits on the size of a filter. Each has its own error, which names the size found and the remedy.

_DEEPEST = 8  # more than is within each other in any canonical text without calls


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one filter's text, tree, normal form and patterns."""

    text: int = 500_000
    """Characters in the text."""
    depth: int = 40
    """Parentheses, NOTs and minus signs within each other; the parser recurses on them."""
    terms: int = 20_000
    """Comparisons in the text."""
    conjuncts: int = 2_000
    """Alternatives in the normal form."""
    literals: int = 50_000
    """Comparisons in the normal form, over all its alternatives."""
    steps: int = 250_000
    """Comparisons and listed values that are looked at, over all the steps to the normal form."""
    bound: int = 50
    """Calls with variables, and comparisons of these, in one alternative; all of them look at each other."""
    bound_in_all: int = 2_000
    """Calls with variables, and comparisons of these, over all alternatives."""
    arithmetic: int = 100
    """Numbers, variables and attributes in one side of a comparison of variables."""
    tables: int = 16
    """Tables in a join."""
    pattern: int = 1_000
    """Characters in a LIKE or RLIKE pattern."""
    wildcards: int = 1_000
    """`_` and `%` inside a LIKE pattern; `%` at either end are not counted."""
    wildcards_in_all: int = 500_000
    """Wildcards inside all the LIKE patterns of a filter. Those at either end cost nothing: values are scanned once for
    all the literals there are, and only patterns with wildcards inside are run by themselves."""
    pattern_memory: int = 1 << 20
    """Bytes that RE2 may use for one RLIKE pattern."""

    def admit(self, canonical: str) -> bool:
        """True if the canonical text of an admitted filter, which calls nothing, is so short that it is admitted too.

        False says nothing: a longer text has to be read.
        """
        shortest = min(self.text, self.terms, self.pattern, self.wildcards, self.wildcards_in_all)
        return len(canonical) <= shortest and self.depth >= _DEEPEST


DEFAULT_LIMITS = Limits()
