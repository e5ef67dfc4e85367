"""A filter between syntax tree and normal form: AND and OR over leaves and negated leaves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from tamis.language.calls import Called
from tamis.language.predicates import Literal, sort_key
from tamis.language.tree import And, Or

Pushed: TypeAlias = "And[Pushed] | Or[Pushed] | Literal | Called"
"""Without items, AND is TRUE and OR is FALSE."""

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
