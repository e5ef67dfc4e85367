"""The set of values that a leaf admits, as ranges between cuts: what rewrites compute with.

A cut is a place between values: `(1, v, 0)` just before v, `(1, v, 1)` just after it, `(0,)` before and `(2,)` after
everything. An `Extent` is a sorted tuple of disjoint, non-adjacent pairs of cuts. Integers, timestamps, booleans and
the positions of listed values have a next one, so their cuts are always before a value, and ranges that touch are one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from tamis.language.numbers import INT_MAX, INT_MIN
from tamis.language.predicates import Between, Leaf, OneOf, Order, Slot, Value
from tamis.schema import EVENT_TYPE, Attribute, EnumeratedDomain, HierarchicalDomain

Cut: TypeAlias = tuple[Any, ...]
Range: TypeAlias = tuple[Cut, Cut]
Extent: TypeAlias = tuple[Range, ...]

START: Cut = (0,)
END: Cut = (2,)
NOTHING: Extent = ()

_STEPPED = ("integer", "timestamp", "boolean", "enumerated", "hierarchical")


def is_stepped(attribute: Attribute) -> bool:
    """Whether each value has a next one, so that a range holds a number of values."""
    return attribute.domain.kind in _STEPPED


def everything(attribute: Attribute) -> Extent:
    """All the values the attribute can take."""
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
    """The values a leaf admits; None where they are not known, as with patterns and slots."""
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
    """The union of ranges that may overlap."""
    union: list[Range] = []
    for start, end in sorted(ranges):
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(end, union[-1][1]))
        else:
            union.append((start, end))
    return tuple(union)


def intersection(a: Extent, b: Extent) -> Extent:
    """The values in both."""
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
    """The values of a that are not in b."""
    ends = [START, *(cut for part in b for cut in part), END]
    return intersection(a, tuple((ends[i], ends[i + 1]) for i in range(0, len(ends), 2) if ends[i] < ends[i + 1]))


def includes(a: Extent, b: Extent) -> bool:
    """Whether every value of b is in a."""
    return intersection(a, b) == b


def points(extent: Extent, attribute: Attribute, limit: int) -> list[Value] | None:
    """Every value of the extent, in order; None if there are more than `limit`, or uncountably many."""
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
    """How many values there are; None for infinitely many, or too many to tell."""
    if is_stepped(attribute) and extent and extent[-1][1] != END:
        return sum(end[1] - start[1] for start, end in extent)
    found = points(extent, attribute, len(extent))
    return None if found is None else len(found)


def between(part: Range, attribute: Attribute) -> Between:
    """One range as a leaf."""
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
