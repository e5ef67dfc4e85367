"""Rewrites that simplify one conjunct (a conjunction of literals): merged intervals, implied literals, contradictions.

merge_intervals      the literals on an attribute that know their values become as few as say the same
merge_versus         comparisons of the same two attributes become one: `a <= b AND b <= a` is `a = b`
drop_implied         `x IS NOT NULL` goes where x is used besides
find_contradictions  conjuncts that no event satisfies
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TypeAlias

from tamis.language.extents import (
    NOTHING,
    Extent,
    Range,
    alternatives_of,
    everything,
    includes,
    intersection,
    is_point,
    is_stepped,
    known_extent,
    literals_of,
    negatives_of,
    points,
    united,
    without,
)
from tamis.language.patterns import like_matches, rlike_matches
from tamis.language.predicates import (
    Between,
    Leaf,
    Like,
    Literal,
    Never,
    Not,
    OneOf,
    Present,
    RLike,
    Slot,
    Versus,
    attributes_of,
    equals,
    sort_key,
)
from tamis.language.tree import Conjunct
from tamis.schema import Attribute, Schema

Pair: TypeAlias = tuple[str, str]
Relation: TypeAlias = frozenset[int]
"""The signs that `left - right` may have."""

_OPERATORS = {"<": frozenset({-1}), "<=": frozenset({-1, 0}), "=": frozenset({0})}
_TOTAL = ("integer", "float", "string", "timestamp")

ANY: Relation = frozenset({-1, 0, 1})


def relation_of(literal: Literal, schema: Schema) -> tuple[Pair, Relation] | None:
    """Pair of attributes, in order of name, and its relation; None for all other literals."""
    leaf = literal.leaf if isinstance(literal, Not) else literal
    if not isinstance(leaf, Versus) or leaf.left == leaf.right:
        return None
    left, right = schema.attributes[leaf.left], schema.attributes[leaf.right]
    if left.multiple or right.multiple or left.domain.kind not in _TOTAL:
        return None
    signs: Relation = _OPERATORS[leaf.operator]
    if isinstance(literal, Not):
        signs = ANY - signs
    if leaf.left < leaf.right:
        return (leaf.left, leaf.right), signs
    return (leaf.right, leaf.left), frozenset(-sign for sign in signs)


def literals_of_relation(pair: Pair, relation: Relation) -> list[Literal]:
    """Literals, in their one form, that say that the pair stands in this relation."""
    left, right = pair
    if not relation:
        return [Never(left)]
    if relation == ANY:
        return [Present(left), Present(right)]
    if relation == {-1, 1}:
        return [Not(Versus(left, "=", right))]
    if relation == {0}:
        return [Versus(left, "=", right)]
    operator = "<=" if 0 in relation else "<"
    return [Versus(left, operator, right) if -1 in relation else Versus(right, operator, left)]


_FEW = 1_000


def merge_intervals(conjunct: Conjunct, schema: Schema) -> Conjunct:
    """Merges the intervals of a conjunct; what no event satisfies shows as a `Never`.

    On a single-valued attribute all literals speak of one value, so their sets intersect. On one with several values
    each positive literal may be satisfied by another value: those stay apart, and only negated ones, which speak of
    every value, are joined. Literals with slots stay as they are, but for lists of excluded values.
    """
    groups: dict[str, list[Literal]] = defaultdict(list)
    merged: list[Literal] = []
    for literal in conjunct:
        leaf = literal.leaf if isinstance(literal, Not) else literal
        if isinstance(leaf, Versus):
            merged.append(literal)
        else:
            groups[leaf.attribute].append(literal)
    for name, literals in groups.items():
        attribute = schema.attributes[name]
        merged += _of_many(literals, attribute) if attribute.multiple else _of_one(literals, attribute)
    # Most conjuncts are merged already, and sorting costs more than seeing that.
    left = set(merged)
    return conjunct if left == set(conjunct) else tuple(sorted(left, key=sort_key))


def _of_one(literals: Sequence[Literal], attribute: Attribute) -> list[Literal]:
    extent = everything(attribute)
    excluded: list[Range] = []
    opaque: list[Literal] = []
    for literal in literals:
        leaf = literal.leaf if isinstance(literal, Not) else literal
        values = known_extent(leaf, attribute)
        if values is None or (isinstance(leaf, Present) and isinstance(literal, Not)):
            opaque.append(literal)
        elif isinstance(literal, Not):
            excluded += values
        else:
            extent = intersection(extent, values)
    if len(opaque) == len(literals):
        return _join_excluded(opaque, attribute)
    extent = without(extent, united(excluded))
    if attribute.domain.kind == "string" and extent != NOTHING and opaque:
        extent, opaque = _keep_matching(extent, opaque, attribute)
    if extent == NOTHING:
        return [Never(attribute.name)]
    return [*literals_of(extent, attribute), *_join_excluded(opaque, attribute)]


def _of_many(literals: Sequence[Literal], attribute: Attribute) -> list[Literal]:
    positive: dict[Extent, Leaf] = {}
    ranges: list[Range] = []
    opaque: list[Literal] = []
    for literal in literals:
        leaf = literal.leaf if isinstance(literal, Not) else literal
        extent = None if isinstance(leaf, Present) else known_extent(leaf, attribute)
        if extent is None:
            opaque.append(literal)
        elif isinstance(literal, Not):
            ranges += extent
        else:
            positive[extent] = leaf
    excluded = united(ranges)
    kept: list[Literal] = []
    for extent, leaf in positive.items():
        left = without(extent, excluded)
        if left == NOTHING:
            return [Never(attribute.name)]
        alternatives = alternatives_of(left, attribute)
        narrowed = len(alternatives) == 1 and (is_stepped(attribute) or is_point(alternatives[0]))
        kept.append(alternatives[0] if narrowed else leaf)
    if excluded == everything(attribute):
        return [Never(attribute.name)]
    negatives = negatives_of(excluded, attribute) if excluded != NOTHING else []
    return [*_innermost(kept, attribute), *negatives, *_join_excluded(opaque, attribute)]


def _innermost(literals: Sequence[Literal], attribute: Attribute) -> list[Literal]:
    """Leaves without those that some other one, with fewer values, implies."""
    extents = [known_extent(literal, attribute) for literal in literals]
    if len(literals) > _FEW:
        return list(literals)
    return [
        literal
        for literal, extent in zip(literals, extents, strict=True)
        if not any(other != extent and includes(extent or NOTHING, other or NOTHING) for other in extents)
    ]


def _join_excluded(literals: Sequence[Literal], attribute: Attribute) -> list[Literal]:
    """Joins several `x != slot` into one `x NOT IN (slots)`."""
    slots: dict[Slot, None] = {}
    rest: list[Literal] = []
    for literal in literals:
        match literal:
            case Not(Between(_, Slot() as slot)) if literal.leaf.is_equality:  # type: ignore[union-attr]
                slots[slot] = None
            case Not(OneOf(_, values)) if all(isinstance(value, Slot) for value in values):
                slots.update((value, None) for value in values if isinstance(value, Slot))
            case _:
                rest.append(literal)
    if not slots:
        return rest
    listed = tuple(sorted(slots, key=lambda slot: slot.number))
    return [*rest, Not(equals(attribute.name, *listed) if len(listed) == 1 else OneOf(attribute.name, listed))]


def _keep_matching(extent: Extent, opaque: list[Literal], attribute: Attribute) -> tuple[Extent, list[Literal]]:
    """Keeps of few known strings those that satisfy the patterns; the patterns then say nothing more."""
    values = points(extent, attribute, _FEW)
    patterns = [literal for literal in opaque if _is_known_pattern(literal)]
    if values is None or not patterns:
        return extent, opaque
    left = [value for value in values if all(_matches(literal, str(value)) for literal in patterns)]
    narrowed = united(((1, value, 0), (1, value, 1)) for value in left)
    return narrowed, [literal for literal in opaque if literal not in patterns]


def _is_known_pattern(literal: Literal) -> bool:
    leaf = literal.leaf if isinstance(literal, Not) else literal
    return isinstance(leaf, Like | RLike) and isinstance(leaf.pattern, str)


def _matches(literal: Literal, value: str) -> bool:
    match literal:
        case Not(leaf):
            return not _matches(leaf, value)
        case Like(_, str() as pattern, ignore_case):
            return like_matches(pattern, ignore_case, value)
        case RLike(_, str() as pattern):
            return rlike_matches(pattern, value)
    raise TypeError(f"{literal} has no known pattern")


def merge_versus(conjunct: Conjunct, schema: Schema) -> Conjunct:
    """Merges the comparisons of two attributes; two that cannot stand so show as a `Never`."""
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


def drop_implied(conjunct: Conjunct) -> Conjunct:
    """Drops `x IS NOT NULL` from a conjunct, its intervals merged, where x is used besides."""
    uses = Counter(name for literal in conjunct if not _is_absence(literal) for name in set(attributes_of(literal)))
    return tuple(literal for literal in conjunct if not (isinstance(literal, Present) and uses[literal.attribute] > 1))


def _is_absence(literal: Literal) -> bool:
    return isinstance(literal, Not) and isinstance(literal.leaf, Present)


def find_contradictions(conjunct: Conjunct) -> bool:
    """True if the conjunct, its intervals merged, cannot hold.

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
