"""The normal form of a filter: a disjunction of conjunctions of leaves and negated leaves."""

from __future__ import annotations

from dataclasses import dataclass

from tamis.language.limits import DEFAULT_LIMITS, Limits
from tamis.language.predicates import Literal
from tamis.language.rewrites.push_negation import push_negation
from tamis.language.rewrites.simplify_leaves import simplify_leaves
from tamis.language.rewrites.to_disjunctive_form import to_disjunctive_form
from tamis.language.tree import Tree
from tamis.schema import Schema


@dataclass(frozen=True, slots=True)
class Filter:
    """Holds iff every literal of some conjunct holds.

    Literals in a conjunct and the conjuncts themselves are unique and sorted (`predicates.sort_key`), so that filters
    compare by value. TRUE is one empty conjunct, FALSE is no conjunct.
    """

    conjuncts: tuple[tuple[Literal, ...], ...]


def normalise(tree: Tree, schema: Schema, limits: Limits = DEFAULT_LIMITS, text: str = "") -> Filter:
    """A plain tree's normal form; `FilterTooComplex`, shown in `text`, if that is larger than the limits.

    For trees that may have calls there is `called_form.normal_form`.
    """
    pushed = simplify_leaves(push_negation(tree), schema)
    return Filter(tuple(to_disjunctive_form(pushed, schema, limits, text)))
