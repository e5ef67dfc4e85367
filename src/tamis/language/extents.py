"""Extents: the set of values that a leaf admits, as ranges between cuts; union, intersection, difference; and leaves
made of extents again.

A cut is a place between values: `(1, v, 0)` just before v, `(1, v, 1)` just after it, `(0,)` before and `(2,)` after
everything. An `Extent` is a sorted tuple of disjoint, non-adjacent pairs of cuts. Integers, timestamps, booleans and
the positions of listed values have a next one, so their cuts are always before a value, and ranges that touch are one.

`leaf_of` and its like lead back from a set to the leaves that admit it: one way for each set, so that equal filters
look equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from tamis.language.predicates import (
    INT_MAX,
    INT_MIN,
    Between,
    Leaf,
    Literal,
    Never,
    Not,
    OneOf,
    Order,
    Present,
    Slot,
    Value,
    equals,
)
from tamis.schema import EVENT_TYPE, Attribute, EnumeratedDomain, HierarchicalDomain

Cut: TypeAlias = tuple[Any, ...]
Range: TypeAlias = tuple[Cut, Cut]
Extent: TypeAlias = tuple[Range, ...]

START: Cut = (0,)
END: Cut = (2,)
NOTHING: Extent = ()

_STEPPED = ("integer", "timestamp", "boolean", "enumerated", "hierarchical")


def is_stepped(attribute: Attribute) -> bool:
    """True if each value has a next one, so that a range holds a number of values."""
    return attribute.domain.kind in _STEPPED


def everything(attribute: Attribute) -> Extent:
    """Extent of all the values the attribute can take."""
    match attribute.domain.kind:
        case "integer" | "timestamp":
            return (((1, INT_MIN, 0), (1, INT_MAX + 1, 0)),)
        case "boolean":
            return (((1, 0, 0), (1, 2, 0)),)
        case "string":
            return (((1, "", 0), END),)
        case "float" | "binary":
            return ((START, END),)
    # Event types may be added to a schema, so no list of them is all of them.
    count = len(_listed(attribute).values)
    return (((1, 0, 0), END if attribute.name == EVENT_TYPE else (1, count, 0)),)


def extent_of(leaf: Leaf, attribute: Attribute) -> Extent | None:
    """Extent of a leaf; None where it is not known, as with patterns and slots."""
    match leaf:
        case Between(_, low, high, low_closed, high_closed):
            if isinstance(low, Slot) or isinstance(high, Slot):
                return None
            ((first, last),) = everything(attribute)
            start = first if low is None else max(first, _cut(low, 0 if low_closed else 1, attribute))
            end = last if high is None else min(last, _cut(high, 1 if high_closed else 0, attribute))
            return ((start, end),) if start < end else NOTHING
        case OneOf(_, values):
            if any(isinstance(value, Slot) for value in values):
                return None
            return united((_cut(value, 0, attribute), _cut(value, 1, attribute)) for value in values)  # type: ignore[arg-type]
        case Order(_, operator, value):
            if isinstance(value, Slot):
                return None
            positions = _listed(attribute).satisfying(operator, str(value))
            return united(((1, position, 0), (1, position + 1, 0)) for position in positions)
    return None


def united(ranges: Iterable[Range]) -> Extent:
    """Union of ranges that may overlap."""
    union: list[Range] = []
    for start, end in sorted(ranges):
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(end, union[-1][1]))
        else:
            union.append((start, end))
    return tuple(union)


def intersection(a: Extent, b: Extent) -> Extent:
    """Values in both extents."""
    common: list[Range] = []
    i = j = 0
    while i < len(a) and j < len(b):
        start, end = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if start < end:
            common.append((start, end))
        if a[i][1] <= b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(common)


def without(a: Extent, b: Extent) -> Extent:
    """Values of a that are not in b."""
    ends = [START, *(cut for part in b for cut in part), END]
    return intersection(a, tuple((ends[i], ends[i + 1]) for i in range(0, len(ends), 2) if ends[i] < ends[i + 1]))


def includes(a: Extent, b: Extent) -> bool:
    """True if every value of b is in a."""
    return intersection(a, b) == b


def points(extent: Extent, attribute: Attribute, limit: int) -> list[Value] | None:
    """Values of the extent, in order; None if there are more than `limit`, or uncountably many."""
    values: list[Value] = []
    for start, end in extent:
        if is_stepped(attribute):
            if END in (start, end) or start == START or len(values) + end[1] - start[1] > limit:
                return None
            values.extend(_valued(number, attribute) for number in range(start[1], end[1]))
        elif len(start) == len(end) == 3 and start[1] == end[1] and len(values) < limit:
            values.append(start[1])
        else:
            return None
    return values


def count(extent: Extent, attribute: Attribute) -> int | None:
    """Number of values; None for infinitely many, or too many to tell."""
    if is_stepped(attribute) and extent and extent[-1][1] != END:
        return sum(end[1] - start[1] for start, end in extent)
    found = points(extent, attribute, len(extent))
    return None if found is None else len(found)


def between(part: Range, attribute: Attribute) -> Between:
    """Leaf that admits one range."""
    ((first, last),) = everything(attribute)
    start, end = part
    if is_stepped(attribute):
        # Positions of listed values are no range of strings: callers list those.
        single = end != END and end[1] - start[1] == 1
        low = None if start == first and not single else _valued(start[1], attribute)
        high = None if end == last and not single else _valued(end[1] - 1, attribute)
        return Between(attribute.name, low, high)
    single = len(start) == len(end) == 3 and start[1] == end[1]
    low = None if start == first and not single else start[1]
    high = None if end == last else end[1]
    low_closed = low is None or start[2] == 0
    return Between(attribute.name, low, high, low_closed, high is None or end[2] == 1)


def _cut(value: Value, side: int, attribute: Attribute) -> Cut:
    kind = attribute.domain.kind
    if kind in ("integer", "timestamp", "boolean"):
        return (1, int(value) + side, 0)
    if kind in ("enumerated", "hierarchical"):
        position = _listed(attribute).position(str(value))
        assert position is not None
        return (1, position + side, 0)
    return (1, value, side)


def _valued(number: int, attribute: Attribute) -> Value:
    kind = attribute.domain.kind
    if kind == "boolean":
        return bool(number)
    return _listed(attribute).values[number] if kind in ("enumerated", "hierarchical") else number


def _listed(attribute: Attribute) -> EnumeratedDomain | HierarchicalDomain:
    assert isinstance(attribute.domain, EnumeratedDomain | HierarchicalDomain)
    return attribute.domain


_DENSE = 4
"""Values a range on average from which on they are kept as ranges, not listed."""


def leaf_of(extent: Extent, attribute: Attribute) -> Leaf | None:
    """Leaf that admits exactly these values; None if no single leaf does."""
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
    """Cost of a leaf to say: ranges are cheap, a list costs its length."""
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
    """Values that a literal leaves to a single-valued attribute; None for patterns, slots and absence."""
    if isinstance(literal, Not):
        if isinstance(literal.leaf, Present):
            return None
        extent = known_extent(literal.leaf, attribute)
        return None if extent is None else without(everything(attribute), extent)
    if isinstance(literal, Present):
        return everything(attribute)
    return NOTHING if isinstance(literal, Never) else extent_of(literal, attribute)


def is_point(leaf: Leaf) -> bool:
    """True if a leaf asks for one or several values by name."""
    return isinstance(leaf, OneOf) or (isinstance(leaf, Between) and leaf.is_equality)
