"""Conjuncts that differ in one attribute only become one: `x = 1 OR x = 2` is `x IN (1, 2)`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

from tamis.language.extents import NOTHING, Extent, everything, intersection, united, without
from tamis.language.literals import alternatives_of, is_point, known_extent, leaf_of
from tamis.language.predicates import Between, Literal, Not, OneOf, Present, Slot, Versus, equals, sort_key
from tamis.language.pushed import Conjunct
from tamis.schema import Attribute, Schema

Group: TypeAlias = tuple[Literal, ...]
"""What one conjunct says of one attribute."""


def join_alternatives(conjuncts: Sequence[Conjunct], schema: Schema) -> list[Conjunct]:
    """The same disjunction with fewer conjuncts, or the same conjuncts where none can be joined."""
    current = list(conjuncts)
    names = sorted({name for conjunct in conjuncts for literal in conjunct if (name := _name(literal)) is not None})
    for name in names:
        if len(current) < 2:
            break
        current = _joined_on(name, current, schema)
    return current


def _joined_on(name: str, conjuncts: Sequence[Conjunct], schema: Schema) -> list[Conjunct]:
    kept: list[Conjunct] = []
    alike: dict[Conjunct, list[Group]] = defaultdict(list)
    for conjunct in conjuncts:
        group = tuple(literal for literal in conjunct if _name(literal) == name)
        if group:
            alike[tuple(literal for literal in conjunct if _name(literal) != name)].append(group)
        else:
            kept.append(conjunct)
    for rest, groups in alike.items():
        joined = _join(groups, schema.attributes[name]) if len(groups) > 1 else groups
        kept += [tuple(sorted((*rest, *group), key=sort_key)) for group in joined]
    return sorted(set(kept), key=lambda conjunct: [sort_key(literal) for literal in conjunct])


def _join(groups: list[Group], attribute: Attribute) -> list[Group]:
    """The groups of which one must hold, as few as can be; an empty group holds always."""
    absent: Group = (Not(Present(attribute.name)),)
    values: list[Extent] = []
    slots: list[Slot] = []
    rest: list[Group] = []
    members: list[Group] = []
    for group in groups:
        extent = _extent(group, attribute)
        if extent is not None:
            values.append(extent)
            members.append(group)
        elif (found := _slots(group)) is not None:
            slots += found
        elif group != absent:
            rest.append(group)
    union = united(part for extent in values for part in extent)
    known = _alternatives(union, attribute) if values else []
    present: Group = (Present(attribute.name),)
    if present in known or (attribute.multiple and _covers_a_negation(union, rest, attribute)):
        # Whatever the other groups ask for besides absence, they ask for presence with it.
        return [()] if absent in groups else [present]
    if absent in groups:
        rest.append(absent)
    listed = tuple(sorted(set(slots), key=lambda slot: slot.number))
    if len(listed) == 1:
        rest.append((equals(attribute.name, listed[0]),))
    elif listed:
        rest.append((OneOf(attribute.name, listed),))
    return [*(known if len(known) < len(members) else members), *rest]


def _alternatives(union: Extent, attribute: Attribute) -> list[Group]:
    leaf = leaf_of(union, attribute)
    if leaf is None and not attribute.multiple:
        opposite = leaf_of(without(everything(attribute), union), attribute)
        if opposite is not None:
            return [(Not(opposite),)]
    return [(leaf,) for leaf in alternatives_of(union, attribute)]


def _extent(group: Group, attribute: Attribute) -> Extent | None:
    """The values of which the attribute must have one; None where the group says something else."""
    if attribute.multiple:
        return None if len(group) > 1 or isinstance(group[0], Not) else known_extent(group[0], attribute)
    extent = everything(attribute)
    for literal in group:
        known = known_extent(literal, attribute)
        if known is None:
            return None
        extent = intersection(extent, known)
    return extent


def _slots(group: Group) -> list[Slot] | None:
    """The slots of an equality or a list of them."""
    if len(group) > 1 or isinstance(group[0], Not) or not is_point(group[0]):
        return None
    leaf = group[0]
    values = leaf.values if isinstance(leaf, OneOf) else (leaf.low,) if isinstance(leaf, Between) else ()
    return [value for value in values if isinstance(value, Slot)]


def _covers_a_negation(union: Extent, groups: Sequence[Group], attribute: Attribute) -> bool:
    """Whether some group asks that no value is in a set whose every value is in the union: one of both then holds."""
    for group in groups:
        if len(group) == 1 and isinstance(group[0], Not) and not isinstance(group[0].leaf, Present):
            excluded = known_extent(group[0].leaf, attribute)
            if excluded is not None and excluded != NOTHING and without(excluded, union) == NOTHING:
                return True
    return False


def _name(literal: Literal) -> str | None:
    leaf = literal.leaf if isinstance(literal, Not) else literal
    return None if isinstance(leaf, Versus) else leaf.attribute
