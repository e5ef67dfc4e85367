"""Literals that the rest of their conjunct implies."""

from __future__ import annotations

from collections import Counter

from tamis.language.predicates import Literal, Not, Present, attributes_of
from tamis.language.pushed import Conjunct


def drop_implied(conjunct: Conjunct) -> Conjunct:
    """The same conjunct, its intervals merged, without `x IS NOT NULL` where x is used besides."""
    uses = Counter(name for literal in conjunct if not _is_absence(literal) for name in set(attributes_of(literal)))
    return tuple(literal for literal in conjunct if not (isinstance(literal, Present) and uses[literal.attribute] > 1))


def _is_absence(literal: Literal) -> bool:
    return isinstance(literal, Not) and isinstance(literal.leaf, Present)
