"""Conjuncts that no event satisfies."""

from __future__ import annotations

from tamis.language.predicates import Never, Not, Present, attributes_of
from tamis.language.pushed import Conjunct


def find_contradictions(conjunct: Conjunct) -> bool:
    """Whether the conjunct, its intervals merged, cannot hold.

    That is so where a set is empty, where a leaf stands beside its negation, and where what must be absent is used.
    """
    literals = set(conjunct)
    negated = [literal.leaf for literal in conjunct if isinstance(literal, Not)]
    absent = {leaf.attribute for leaf in negated if isinstance(leaf, Present)}
    for literal in conjunct:
        if isinstance(literal, Never):
            return True
        if isinstance(literal, Not):
            if literal.leaf in literals:
                return True
            if isinstance(literal.leaf, Present):
                continue
        if absent and not absent.isdisjoint(attributes_of(literal)):
            return True
    return False
