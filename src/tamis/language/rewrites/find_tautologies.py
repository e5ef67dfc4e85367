"""A leaf or its negation, everything else alike, is presence."""

from __future__ import annotations

from collections.abc import Sequence

from tamis.language.predicates import Literal, Not, Present, attributes_of, sort_key
from tamis.language.pushed import Conjunct


def find_tautologies(conjuncts: Sequence[Conjunct]) -> list[Conjunct]:
    """The same disjunction: of two conjuncts that differ in one literal's sign, the rest and presence are left."""
    current = {frozenset(conjunct): None for conjunct in conjuncts}
    for conjunct in list(current):
        for literal in sorted(conjunct, key=sort_key):
            if not isinstance(literal, Not) or conjunct not in current:
                continue
            opposite = conjunct - {literal} | {literal.leaf}
            if opposite in current and opposite != conjunct:
                del current[conjunct], current[opposite]
                current[conjunct - {literal} | _presence(literal)] = None
    return [tuple(sorted(conjunct, key=sort_key)) for conjunct in current]


def _presence(literal: Not) -> frozenset[Literal]:
    if isinstance(literal.leaf, Present):
        return frozenset()
    return frozenset(Present(name) for name in attributes_of(literal))
