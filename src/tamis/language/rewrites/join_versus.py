"""Conjuncts that differ only in how they compare two attributes become one: `a < b OR a = b` is `a <= b`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tamis.language.predicates import Literal, sort_key
from tamis.language.pushed import Conjunct
from tamis.language.relations import Pair, Relation, literals_of_relation, relation_of
from tamis.schema import Schema


def join_versus(conjuncts: Sequence[Conjunct], schema: Schema) -> list[Conjunct]:
    """The same disjunction with fewer conjuncts; in each, every pair of attributes is compared at most once."""
    current = list(conjuncts)
    found = _relations((literal for conjunct in conjuncts for literal in conjunct), schema)
    for pair in sorted({pair for pair, _ in found.values()}):
        joined: list[Conjunct] = []
        alike: dict[Conjunct, Relation] = defaultdict(frozenset)
        for conjunct in current:
            ours = [literal for literal in conjunct if _pair(found.get(literal)) == pair]
            if ours:
                rest = tuple(literal for literal in conjunct if literal not in ours)
                alike[rest] |= found[ours[0]][1]
            else:
                joined.append(conjunct)
        for rest, relation in alike.items():
            literals: set[Literal] = {*rest, *literals_of_relation(pair, relation)}
            joined.append(tuple(sorted(literals, key=sort_key)))
            found.update(_relations(literals, schema))
        current = joined
    return current


def _relations(literals: Iterable[Literal], schema: Schema) -> dict[Literal, tuple[Pair, Relation]]:
    relations = ((literal, relation_of(literal, schema)) for literal in literals)
    return {literal: relation for literal, relation in relations if relation is not None}


def _pair(found: tuple[Pair, Relation] | None) -> Pair | None:
    return None if found is None else found[0]
