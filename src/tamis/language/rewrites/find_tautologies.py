"""A leaf or its negation, everything else alike, is presence."""

from __future__ import annotations

from collections.abc import Sequence

from tamis.language.predicates import Literal, Not, Present, attributes_of, sort_key
from tamis.language.pushed import Conjunct


def find_tautologies(conjuncts: Sequence[Conjunct]) -> list[Conjunct]:
    """The same disjunction: of two conjuncts that differ in one literal's sign, the rest and presence are left."""
    if len(conjuncts) < 2:
        return list(conjuncts)
    current = {frozenset(conjunct): conjunct for conjunct in conjuncts}
    sums = {sum(map(hash, conjunct)) for conjunct in conjuncts}
    for conjunct, literals in list(current.items()):
        total = sum(map(hash, literals))
        for literal in literals:
            # Hashes that add up as the opposite's would are seen faster than the opposite is made.
            if not isinstance(literal, Not) or total - hash(literal) + hash(literal.leaf) not in sums:
                continue
            opposite = conjunct - {literal} | {literal.leaf}
            if conjunct in current and opposite in current and opposite != conjunct:
                del current[conjunct], current[opposite]
                left = conjunct - {literal} | _presence(literal)
                current[left] = tuple(sorted(left, key=sort_key))
                sums.add(sum(map(hash, left)))
    return list(current.values())


def _presence(literal: Not) -> frozenset[Literal]:
    if isinstance(literal.leaf, Present):
        return frozenset()
    return frozenset(Present(name) for name in attributes_of(literal))
