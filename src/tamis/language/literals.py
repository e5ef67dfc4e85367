"""From a set of values back to the leaves that admit it: one way for each set, so that equal filters look equal."""

from __future__ import annotations

from tamis.language.extents import (
    END,
    NOTHING,
    Extent,
    Range,
    between,
    count,
    everything,
    extent_of,
    points,
    without,
)
from tamis.language.predicates import Between, Leaf, Literal, Never, Not, OneOf, Order, Present, equals
from tamis.schema import Attribute, EnumeratedDomain, HierarchicalDomain

_DENSE = 4
"""Values a range on average from which on they are kept as ranges, not listed."""


def leaf_of(extent: Extent, attribute: Attribute) -> Leaf | None:
    """The one leaf that admits exactly these values, if there is one."""
    if extent == NOTHING:
        return Never(attribute.name)
    if extent == everything(attribute):
        return Present(attribute.name)
    if isinstance(attribute.domain, EnumeratedDomain | HierarchicalDomain):
        return _listed_leaf(extent, attribute)
    if len(extent) == 1:
        return between(extent[0], attribute)
    values = points(extent, attribute, _DENSE * len(extent))
    return None if values is None else OneOf(attribute.name, tuple(values))


def alternatives_of(extent: Extent, attribute: Attribute) -> list[Leaf]:
    """Leaves of which some value satisfies one iff some value is among these: few values together, each range alone."""
    leaf = leaf_of(extent, attribute)
    if leaf is not None:
        return [leaf]
    few: list[Range] = []
    leaves: list[Leaf] = []
    for part in extent:
        if (count((part,), attribute) or _DENSE + 1) <= _DENSE:
            few.append(part)
        else:
            leaves.append(between(part, attribute))
    together = leaf_of(tuple(few), attribute) if few else None
    return leaves if together is None else [together, *leaves]


def literals_of(extent: Extent, attribute: Attribute) -> list[Literal]:
    """Literals that all hold iff the single value is among these."""
    complement = without(everything(attribute), extent)
    leaf, opposite = leaf_of(extent, attribute), leaf_of(complement, attribute)
    if leaf is not None and (opposite is None or _cost(leaf) <= _cost(opposite)):
        return [leaf]
    if opposite is not None and leaf is not None:
        return [Not(opposite)]
    hull = ((extent[0][0], extent[-1][1]),)
    bounds: list[Literal] = [] if hull == everything(attribute) else [between(hull[0], attribute)]
    return [*bounds, *negatives_of(without(hull, extent), attribute)]


def negatives_of(extent: Extent, attribute: Attribute) -> list[Literal]:
    """Negated leaves that all hold iff the attribute is present and none of its values is among these."""
    return [Not(leaf) for leaf in alternatives_of(extent, attribute)]


def _cost(leaf: Leaf) -> int:
    """How much a leaf has to say: ranges are cheap, a list costs its length."""
    return len(leaf.values) if isinstance(leaf, OneOf) else 1


def _listed_leaf(extent: Extent, attribute: Attribute) -> Leaf | None:
    domain = attribute.domain
    assert isinstance(domain, EnumeratedDomain | HierarchicalDomain)
    if extent[-1][1] == END:
        return None
    if count(extent, attribute) == 1:
        return equals(attribute.name, domain.values[extent[0][0][1]])
    if domain.ordered:
        first, last = extent[0][0][1], extent[-1][1][1] - 1
        tries = (("<=", first), (">=", last), ("<=", last), (">=", first))
        for operator, position in (*tries, ("<", first - 1), ("<", last + 1), (">", first - 1), (">", last + 1)):
            if 0 <= position < len(domain.values):
                order = Order(attribute.name, operator, domain.values[position])
                if extent_of(order, attribute) == extent:
                    return order
    values = points(extent, attribute, len(domain.values))
    assert values is not None
    return OneOf(attribute.name, tuple(sorted(values)))


def known_extent(literal: Literal, attribute: Attribute) -> Extent | None:
    """The values a literal leaves to a single-valued attribute; None for patterns, slots and absence."""
    if isinstance(literal, Not):
        if isinstance(literal.leaf, Present):
            return None
        extent = known_extent(literal.leaf, attribute)
        return None if extent is None else without(everything(attribute), extent)
    if isinstance(literal, Present):
        return everything(attribute)
    return NOTHING if isinstance(literal, Never) else extent_of(literal, attribute)


def is_point(leaf: Leaf) -> bool:
    """Whether a leaf asks for one or several values by name."""
    return isinstance(leaf, OneOf) or (isinstance(leaf, Between) and leaf.is_equality)
