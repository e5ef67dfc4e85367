"""The normal form of a filter: a disjunction of conjunctions of leaves and negated leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from tamis.language.calls import Call, Constraint
from tamis.language.limits import DEFAULT_LIMITS, Limits
from tamis.language.predicates import Literal, Never, Not, OneOf, Versus, sort_key
from tamis.language.pushed import Conjunct, Pushed
from tamis.language.rewrites.boolean import to_disjunctive_form
from tamis.language.rewrites.push_negation import push_negation
from tamis.language.rewrites.simplify_leaves import simplify_leaves
from tamis.language.tree import And, Or, Tree
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
    return plain_form(push_negation(tree), schema, limits, text)


def plain_form(pushed: Pushed, schema: Schema, limits: Limits, text: str) -> Filter:
    """The normal form of what calls nothing and has negations at its leaves only."""
    simple = simplify_leaves(pushed, schema)
    conjunct = settled(simple, limits)
    return Filter(tuple(to_disjunctive_form(simple, schema, limits, text)) if conjunct is None else (conjunct,))


def settled(pushed: Pushed, limits: Limits) -> Conjunct | None:
    """The only conjunct of a filter that has one, if no rewrite would find anything to do in it; else None.

    That is so where its leaves, each in its simplest form, are on different attributes: most filters are of this kind.
    """
    items = pushed.items if isinstance(pushed, And) else (pushed,)
    names: set[str] = set()
    size = len(items)
    for item in items:
        leaf = item.leaf if isinstance(item, Not) else item
        if isinstance(leaf, And | Or | Call | Constraint | Versus | Never) or leaf.attribute in names:
            return None
        names.add(leaf.attribute)
        size += len(leaf.values) if isinstance(leaf, OneOf) else 1
    if size > limits.steps or len(items) > limits.literals or not limits.conjuncts:
        return None  # the long way says what is too large
    return tuple(sorted((cast(Literal, item) for item in items), key=sort_key))
