"""Rewrites that join the conjuncts of a disjunction: those that differ in one attribute, in the comparison of two, or
in one literal's sign. `absorb` is in a file of its own (absorption.py).

join_alternatives  conjuncts that differ in one attribute only become one: `x = 1 OR x = 2` is `x IN (1, 2)`
join_versus        the same for how two attributes are compared: `a < b OR a = b` is `a <= b`
find_tautologies   a leaf or its negation, everything else alike, is presence
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from tamis.language.conjunct_rewrites import Pair, Relation, literals_of_relation, relation_of
from tamis.language.extents import (
    NOTHING,
    Extent,
    alternatives_of,
    everything,
    intersection,
    is_point,
    known_extent,
    leaf_of,
    united,
    without,
)
from tamis.language.predicates import (
    Between,
    Literal,
    Not,
    OneOf,
    Present,
    Slot,
    Versus,
    attributes_of,
    equals,
    sort_key,
)
from tamis.language.tree import Conjunct, in_order
from tamis.schema import Attribute, Schema

Group: TypeAlias = tuple[Literal, ...]
"""Literals of one conjunct on one attribute."""


def join_alternatives(conjuncts: Sequence[Conjunct], schema: Schema) -> list[Conjunct]:
    """Joins conjuncts that differ in one attribute; where none can be joined, they stay as they are, sorted."""
    current = list(conjuncts)
    alike = _alike(current)
    for name in sorted({attributes_of(literal)[0] for conjunct in conjuncts for literal in conjunct} if alike else ()):
        if name in alike and (joined := _joined_on(name, current, schema)) is not current:
            current = joined
            alike = _alike(current)
    return current


def _alike(conjuncts: Sequence[Conjunct]) -> set[str]:
    """Attributes but for which some conjuncts may be alike: the hashes of the rest of their literals add up so."""
    found: set[str] = set()
    seen: set[tuple[str, int]] = set()
    for conjunct in conjuncts if len(conjuncts) > 1 else ():
        hashes = [hash(literal) for literal in conjunct]
        rest = dict.fromkeys(names := [_name(literal) for literal in conjunct], sum(hashes))
        for name, own in zip(names, hashes, strict=True):
            rest[name] -= own
        for name, others in rest.items():
            if name is not None:
                if (name, others) in seen:
                    found.add(name)
                seen.add((name, others))
    return found


def _joined_on(name: str, conjuncts: list[Conjunct], schema: Schema) -> list[Conjunct]:
    kept: list[Conjunct] = []
    alike: dict[Conjunct, dict[Group, Conjunct]] = defaultdict(dict)
    for conjunct in conjuncts:
        group = tuple([literal for literal in conjunct if _name(literal) == name])
        if group:
            alike[tuple([literal for literal in conjunct if literal not in group])][group] = conjunct
        else:
            kept.append(conjunct)
    changed = False
    for rest, before in alike.items():
        joined = _join(list(before), schema.attributes[name]) if len(before) > 1 else list(before)
        for group in joined:
            changed |= group not in before
            kept.append(before.get(group) or tuple(sorted((*rest, *group), key=sort_key)))
        changed |= len(joined) < len(before)
    return in_order(kept) if changed else conjuncts


def _join(groups: list[Group], attribute: Attribute) -> list[Group]:
    """Groups of which one must hold, as few as possible; an empty group always holds."""
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
    """Values of which the attribute must have one; None where the group says something else."""
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
    """Slots of an equality or a list of them."""
    if len(group) > 1 or isinstance(group[0], Not) or not is_point(group[0]):
        return None
    leaf = group[0]
    values = leaf.values if isinstance(leaf, OneOf) else (leaf.low,) if isinstance(leaf, Between) else ()
    return [value for value in values if isinstance(value, Slot)]


def _covers_a_negation(union: Extent, groups: Sequence[Group], attribute: Attribute) -> bool:
    """True if some group asks that no value is in a set whose every value is in the union: one of both then holds."""
    for group in groups:
        if len(group) == 1 and isinstance(group[0], Not) and not isinstance(group[0].leaf, Present):
            excluded = known_extent(group[0].leaf, attribute)
            if excluded is not None and excluded != NOTHING and without(excluded, union) == NOTHING:
                return True
    return False


def _name(literal: Literal) -> str | None:
    leaf = literal.leaf if isinstance(literal, Not) else literal
    return None if isinstance(leaf, Versus) else leaf.attribute


def join_versus(conjuncts: Sequence[Conjunct], schema: Schema) -> list[Conjunct]:
    """Joins conjuncts into fewer; in each, every pair of attributes is compared at most once."""
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


def find_tautologies(conjuncts: Sequence[Conjunct]) -> list[Conjunct]:
    """Joins pairs of conjuncts that differ in one literal's sign: the rest and presence are left."""
    if len(conjuncts) < 2:
        return list(conjuncts)
    current = {frozenset(conjunct): conjunct for conjunct in conjuncts}
    sums = {sum(map(hash, conjunct)) for conjunct in conjuncts}
    for conjunct, literals in list(current.items()):
        total = sum(map(hash, literals))
        for literal in literals:
            # Hashes that add up as the opposite's would are seen faster than the opposite is made.
            if not isinstance(literal, Not) or total - hash(literal) + hash(literal.leaf) not in sums:
                continue
            opposite = conjunct - {literal} | {literal.leaf}
            if conjunct in current and opposite in current and opposite != conjunct:
                del current[conjunct], current[opposite]
                left = conjunct - {literal} | _presence(literal)
                current[left] = tuple(sorted(left, key=sort_key))
                sums.add(sum(map(hash, left)))
    return list(current.values())


def _presence(literal: Not) -> frozenset[Literal]:
    if isinstance(literal.leaf, Present):
        return frozenset()
    return frozenset(Present(name) for name in attributes_of(literal))
