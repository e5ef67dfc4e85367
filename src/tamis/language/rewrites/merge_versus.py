"""Comparisons of the same two attributes in one conjunct become one: `a <= b AND b <= a` is `a = b`."""

from __future__ import annotations

from tamis.language.predicates import Literal, sort_key
from tamis.language.pushed import Conjunct
from tamis.language.relations import ANY, Pair, Relation, literals_of_relation, relation_of
from tamis.schema import Schema


def merge_versus(conjunct: Conjunct, schema: Schema) -> Conjunct:
    """The same conjunct; two attributes that cannot stand so show as a `Never`."""
    merged: list[Literal] = []
    relations: dict[Pair, Relation] = {}
    for literal in conjunct:
        found = relation_of(literal, schema)
        if found is None:
            merged.append(literal)
        else:
            pair, relation = found
            relations[pair] = relations.get(pair, ANY) & relation
    if not relations:
        return conjunct
    for pair, relation in relations.items():
        merged += literals_of_relation(pair, relation)
    return tuple(sorted(set(merged), key=sort_key))
