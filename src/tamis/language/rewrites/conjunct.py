"""The literals of a conjunct that know their values become as few as say the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tamis.language.extents import (
    NOTHING,
    Extent,
    Range,
    everything,
    includes,
    intersection,
    is_stepped,
    points,
    united,
    without,
)
from tamis.language.literals import alternatives_of, is_point, known_extent, literals_of, negatives_of
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
    equals,
    sort_key,
)
from tamis.language.pushed import Conjunct
from tamis.schema import Attribute, Schema

_FEW = 1_000


def merge_intervals(conjunct: Conjunct, schema: Schema) -> Conjunct:
    """The same conjunct; what no event satisfies shows as a `Never`.

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
    """Leaves that some other one, with fewer values, implies are left out."""
    extents = [known_extent(literal, attribute) for literal in literals]
    if len(literals) > _FEW:
        return list(literals)
    return [
        literal
        for literal, extent in zip(literals, extents, strict=True)
        if not any(other != extent and includes(extent or NOTHING, other or NOTHING) for other in extents)
    ]


def _join_excluded(literals: Sequence[Literal], attribute: Attribute) -> list[Literal]:
    """Several `x != slot` are one `x NOT IN (slots)`."""
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
    """Of few known strings those that satisfy the patterns, which have then said all they can."""
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
