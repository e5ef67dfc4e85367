"""Relation of two filters: whether one matches everything that the other does."""

from __future__ import annotations

from enum import IntFlag

from tamis.language.forms import Filter
from tamis.routing.covering.refutation import counter_example
from tamis.routing.covering.summary import Summary
from tamis.routing.covering.unknowns import UndecidedError
from tamis.schema import Schema


class Relation(IntFlag):
    """Both directions in two bits (Li, Hou and Jacobsen 2005, §4.2): what all conditions have in common, the whole has.

    The first filter is covered by the second, covers it, or both, which makes them equal.
    """

    NEITHER = 0
    COVERED = 1
    COVERS = 2
    EQUAL = 3


def relate(a: Filter, b: Filter, schema: Schema) -> Relation:
    """Whether `a` covers `b`, and whether `b` covers `a`; of two conjunctions, in one pass over both.

    A bit that is set is true. One that is not set is false if each filter is one conjunction of comparisons; else it
    may be that a cover was not seen, where patterns or many alternatives stand in the way.
    """
    if a == b:
        return Relation.EQUAL
    ours, theirs = _summaries(a, schema), _summaries(b, schema)
    if len(ours) == len(theirs) == 1:
        found = _relate_conjuncts(ours[0], theirs[0])
    else:
        found = Relation.COVERS if _all_covered(theirs, ours) else Relation.NEITHER
        found |= Relation.COVERED if _all_covered(ours, theirs) else Relation.NEITHER
    if found == Relation.EQUAL or _is_exact(ours, theirs):
        return found
    if not found & Relation.COVERS and _refuted(a, b, schema):
        found |= Relation.COVERS
    if not found & Relation.COVERED and _refuted(b, a, schema):
        found |= Relation.COVERED
    return found


def covers(a: Filter, b: Filter, schema: Schema) -> bool:
    """True if every event that matches `b` matches `a`; False also where that is so and was not seen (see `relate`)."""
    ours, theirs = _summaries(a, schema), _summaries(b, schema)
    if _all_covered(theirs, ours):
        return True
    return not _is_exact(ours, theirs) and _refuted(a, b, schema)


def _all_covered(conjuncts: list[Summary], others: list[Summary]) -> bool:
    """True if each of the conjuncts implies one of the others."""
    # What both have needs no look at all pairs, which may be millions.
    common = {other.literals for other in others}
    return all(
        conjunct.literals in common or any(all(map(conjunct.implies, other.literals)) for other in others)
        for conjunct in conjuncts
    )


def _is_exact(a: list[Summary], b: list[Summary]) -> bool:
    """True if what was not seen to be implied is not."""
    return len(a) <= 1 and len(b) <= 1 and all(summary.plain for summary in (*a, *b))


def _summaries(filter: Filter, schema: Schema) -> list[Summary]:
    """Of the conjuncts that are not seen to be impossible."""
    return [s for conjunct in filter.conjuncts if not (s := Summary(conjunct, schema)).impossible]


def _relate_conjuncts(a: Summary, b: Summary) -> Relation:
    """Attribute by attribute; it ends as soon as neither direction is left."""
    bits = Relation.EQUAL
    for name in dict.fromkeys((*a.names, *b.names)):
        if bits & Relation.COVERS and not all(map(b.implies, a.on(name))):
            bits &= ~Relation.COVERS
        if bits & Relation.COVERED and not all(map(a.implies, b.on(name))):
            bits &= ~Relation.COVERED
        if not bits:
            break
    return bits


def _refuted(weaker: Filter, stronger: Filter, schema: Schema) -> bool:
    """True if there is seen to be no event that matches the stronger filter alone."""
    try:
        return counter_example(weaker, stronger, schema) is None
    except UndecidedError:
        return False
