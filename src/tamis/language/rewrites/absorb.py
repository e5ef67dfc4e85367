"""Conjuncts that another, weaker one makes superfluous."""

from __future__ import annotations

from collections.abc import Sequence

from tamis.language.implications import Implications, Summary
from tamis.language.predicates import Literal, Not, Present, attributes_of
from tamis.language.pushed import Conjunct
from tamis.schema import Schema


def absorb(conjuncts: Sequence[Conjunct], schema: Schema) -> list[Conjunct]:
    """The conjuncts that imply no other one; of two that imply each other, the first."""
    if len(conjuncts) < 2:
        return list(conjuncts)
    masks = _masks(conjuncts)
    implications = Implications(schema)
    summaries = [Summary(conjunct, implications) for conjunct in conjuncts]
    kept: list[Conjunct] = []
    gone = [False] * len(conjuncts)
    for i, summary in enumerate(summaries):
        for j, weaker in enumerate(conjuncts):
            # A weaker conjunct speaks of no attribute that the stronger leaves open.
            if i == j or gone[j] or masks[j] & ~masks[i]:
                continue
            if all(summary.implies(literal) for literal in weaker):
                gone[i] = True
                break
        if not gone[i]:
            kept.append(conjuncts[i])
    return kept


def _masks(conjuncts: Sequence[Conjunct]) -> list[int]:
    """For each conjunct a set of bits: the attributes it uses, and, apart, those it wants absent."""
    bits: dict[tuple[str, bool], int] = {}
    masks = []
    for conjunct in conjuncts:
        mask = 0
        for literal in conjunct:
            for name in attributes_of(literal):
                mask |= 1 << bits.setdefault((name, _is_absence(literal)), len(bits))
        masks.append(mask)
    return masks


def _is_absence(literal: Literal) -> bool:
    return isinstance(literal, Not) and isinstance(literal.leaf, Present)
