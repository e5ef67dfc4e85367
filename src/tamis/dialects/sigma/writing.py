"""Writer of Sigma's conditions as a filter, with Sigma's two-valued negation, and without multiplying out exclusions.

Sigma has two truth values: `not field: x` holds where the field is absent, too. Tamis's `NOT x = 1` does not, so it is
written `(x IS NULL OR NOT x = 1)`, except where the rest of the rule makes sure that the attribute is there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tamis.dialects.sigma.leaves import Condition, Leaf, Node, Presence
from tamis.language import Tree
from tamis.language.patterns import Wildcard
from tamis.language.predicates import Between, Present, RLike, Value, among
from tamis.language.tree import DEFAULT_LIMITS, FALSE, TRUE, And, Negation, Or, all_of, any_of

# Exclusions that share an attribute, without multiplying them out.
#
# `not (T1 and R1) and not (T2 and R2) and …`, where no value matches two of the T, is `(not T1 and not T2 and …) or
# (T1 and not R1) or (T2 and not R2) or …`: one alternative more than there are exclusions, where multiplying out
# gives two to the power of their number. Rules with a dozen exceptions are common in Sigma.


@dataclass(frozen=True, slots=True)
class Unless:
    """Negation of a leaf: an attribute is absent, or the condition fails."""

    leaf: Leaf


Literal = Leaf | Unless | Presence


@dataclass(frozen=True, slots=True)
class _Exclusion:
    """Exclusion `not (one of keys and not rest)`: the keys are patterns of one attribute."""

    keys: tuple[Leaf, ...]
    rest: Node[Literal]


def regrouped(parts: tuple[Node[Literal], ...]) -> tuple[Node[Literal], ...]:
    """Parts of a conjunction, with exclusions that share an attribute combined where that is possible."""
    left = list(parts)
    groups: list[Node[Literal]] = []
    while (group := _largest(left)) is not None:
        attribute, members = group
        chosen = [_keyed(left[at], attribute) for at in members]
        exclusions = [exclusion for exclusion in chosen if exclusion is not None]
        none: Node[Literal] = And(tuple(Unless(key) for exclusion in exclusions for key in exclusion.keys))
        cases: list[Node[Literal]] = [And((_any(one.keys), one.rest)) for one in exclusions]
        groups.append(Or((none, *cases)))
        left = [part for at, part in enumerate(left) if at not in members]
    return (*left, *groups)


def _largest(parts: list[Node[Literal]]) -> tuple[str, list[int]] | None:
    """Attribute by which most exclusions can be told apart, and their positions; at least two."""
    best: tuple[str, list[int]] | None = None
    attributes = {name: None for part in parts for name in _attributes(part)}
    for attribute in attributes:
        members: list[int] = []
        taken: list[Leaf] = []
        for at, part in enumerate(parts):
            exclusion = _keyed(part, attribute)
            if exclusion is not None and all(_exclusive(key, other) for key in exclusion.keys for other in taken):
                members.append(at)
                taken += exclusion.keys
        if len(members) > 1 and (best is None or len(members) > len(best[1])):
            best = attribute, members
    return best


def _attributes(part: Node[Literal]) -> list[str]:
    if not isinstance(part, Or):
        return []
    return [leaf.attributes[0] for inner in part.items for leaf in _negated(inner)]


def _keyed(part: Node[Literal], attribute: str) -> _Exclusion | None:
    """Exclusion by patterns of this attribute; None if the part is none."""
    if not isinstance(part, Or):
        return None
    for at, inner in enumerate(part.items):
        keys = _negated(inner)
        if keys and all(key.attributes == (attribute,) and key.pattern is not None for key in keys):
            return _Exclusion(keys, Or(part.items[:at] + part.items[at + 1 :]))
    return None


def _negated(node: Node[Literal]) -> tuple[Leaf, ...]:
    """Leaves of which none must hold; empty if the node is something else."""
    if isinstance(node, Unless):
        return (node.leaf,)
    if isinstance(node, And) and all(isinstance(part, Unless) for part in node.items):
        return tuple(part.leaf for part in node.items if isinstance(part, Unless))
    return ()


def _any(keys: tuple[Leaf, ...]) -> Node[Literal]:
    return keys[0] if len(keys) == 1 else Or(keys)


def _exclusive(one: Leaf, other: Leaf) -> bool:
    """True if no value matches both patterns, as far as their fixed beginnings and ends show."""
    if one.pattern is None or other.pattern is None:
        return False
    return _differ(_beginning(one.pattern), _beginning(other.pattern)) or _differ(
        _beginning(one.pattern[::-1], True), _beginning(other.pattern[::-1], True)
    )


def _beginning(pattern: tuple[str | Wildcard, ...], backwards: bool = False) -> tuple[str, bool]:
    """Text before the first wildcard, and True if that is the whole pattern."""
    text = ""
    for part in pattern:
        if isinstance(part, Wildcard):
            return text, False
        text += part[::-1] if backwards else part
    return text, True


def _differ(one: tuple[str, bool], other: tuple[str, bool]) -> bool:
    (a, a_whole), (b, b_whole) = one, other
    shared = min(len(a), len(b))
    if a[:shared] != b[:shared]:
        return True
    # One goes on where the other, having no wildcard, has ended.
    return (a_whole and len(b) > len(a)) or (b_whole and len(a) > len(b))


_LONGEST = DEFAULT_LIMITS.pattern - len("(?is)")
_FEW = 100
"""Alternatives up to which patterns are left as they are, which the index likes best."""


def filter_of(tree: Node[Condition], always: frozenset[str]) -> Tree:
    """Filter of the tree. `always` are the attributes that no event lacks."""
    pushed = _pushed(tree, True)
    if _alternatives(pushed) <= _FEW:
        return _Writer(merging=False).written(pushed, always)
    return _Writer(merging=True).written(_apart(pushed), always)


def _apart(node: Node[Literal]) -> Node[Literal]:
    """Tree with the exclusions of each conjunction regrouped."""
    match node:
        case And(parts):
            return And(regrouped(tuple(_apart(part) for part in _flat(parts, And))))
        case Or(parts):
            return Or(tuple(_apart(part) for part in _flat(parts, Or)))
    return node


def _pushed(node: Node[Condition], wanted: bool) -> Node[Literal]:
    """Tree with negation at the leaves only."""
    match node:
        case Negation(part):
            return _pushed(part, not wanted)
        case And(parts) | Or(parts):
            pushed = tuple(_pushed(part, wanted) for part in parts)
            return And(pushed) if isinstance(node, And) == wanted else Or(pushed)
        case Presence(attribute, there):
            return Presence(attribute, there == wanted)
        case Leaf():
            return node if wanted else Unless(node)
    raise AssertionError(node)


def _alternatives(node: Node[Literal]) -> float:
    """Upper bound of the filter's alternatives."""
    match node:
        case And(parts):
            return math.prod(_alternatives(part) for part in parts)
        case Or(parts):
            return sum(_alternatives(part) for part in parts)
        case Unless(leaf):
            return 1 + len(leaf.attributes)
    return 1


def _implied(node: Node[Literal]) -> frozenset[str]:
    """Attributes that have a value wherever the node holds."""
    match node:
        case Leaf(attributes):
            return frozenset(attributes)
        case Presence(attribute, True):
            return frozenset([attribute])
        case And(parts):
            return frozenset().union(*(_implied(part) for part in parts))
        case Or(parts):
            implied = [_implied(part) for part in parts]
            return frozenset.intersection(*implied) if implied else frozenset()
    return frozenset()


class _Writer:
    """Writer of nodes. `merging`: patterns on one attribute become one regular expression, for ORs multiply where
    they meet an AND."""

    def __init__(self, merging: bool) -> None:
        self.merging = merging

    def written(self, node: Node[Literal], there: frozenset[str]) -> Tree:
        """Filter of the node, given the attributes that are known to be present."""
        match node:
            case And(parts):
                return self.every(parts, there)
            case Or(parts):
                return self.some(parts, there)
            case Presence(attribute, wanted):
                if wanted:
                    return Present(attribute)
                return FALSE if attribute in there else _absent(attribute)
            case Leaf(_, condition):
                return condition
            case Unless(leaf):
                return self.unless(leaf.attributes, [leaf], there)
        raise AssertionError(node)

    def every(self, parts: tuple[Node[Literal], ...], there: frozenset[str]) -> Tree:
        """Conjunction of parts, each of which may rely on what another implies: where that fails, the whole does not
        hold anyway. Negations of one attribute share their `IS NULL`."""
        there = there.union(*(_implied(part) for part in _flat(parts, And)))
        written: list[Tree] = []
        missing: dict[tuple[str, ...], list[Leaf]] = {}
        for part in _flat(parts, And):
            if isinstance(part, Unless):
                missing.setdefault(part.leaf.attributes, []).append(part.leaf)
            else:
                written.append(self.written(part, there))
        written += [self.unless(attributes, leaves, there) for attributes, leaves in missing.items()]
        return all_of(written)

    def unless(self, attributes: tuple[str, ...], leaves: list[Leaf], there: frozenset[str]) -> Tree:
        """Condition that none of the leaves holds."""
        leaves = [leaf for leaf in leaves if leaf.condition != FALSE]
        if not leaves:
            return TRUE
        fails = all_of(map(Negation, _equalities(leaves)))
        return any_of([*(_absent(a) for a in attributes if a not in there), fails])

    def some(self, parts: tuple[Node[Literal], ...], there: frozenset[str]) -> Tree:
        flat = list(_flat(parts, Or))
        leaves = [part for part in flat if isinstance(part, Leaf)]
        written = _equalities(self.merged(leaves))
        missing: dict[Tree, None] = {}
        for part in flat:
            if isinstance(part, Leaf):
                continue
            if isinstance(part, Unless):
                if part.leaf.condition == FALSE:
                    return TRUE
                missing |= {_absent(a): None for a in part.leaf.attributes if a not in there}
                written.append(Negation(part.leaf.condition))
            else:
                written.append(self.written(part, there))
        return any_of([*written, *missing])

    def merged(self, leaves: list[Leaf]) -> list[Leaf]:
        """Patterns on one attribute as few regular expressions."""
        if not self.merging:
            return leaves
        kept = [leaf for leaf in leaves if leaf.regex is None or len(leaf.regex) > _LONGEST]
        groups: dict[str, list[list[str]]] = {}
        for leaf in leaves:
            if leaf.regex is None or len(leaf.regex) > _LONGEST:
                continue
            chunks = groups.setdefault(leaf.attributes[0], [[]])
            if chunks[-1] and sum(map(len, chunks[-1])) + len(chunks[-1]) + len(leaf.regex) > _LONGEST:
                chunks.append([])
            chunks[-1].append(leaf.regex)
        for attribute, chunks in groups.items():
            kept += [Leaf((attribute,), RLike(attribute, "(?is)" + "|".join(chunk))) for chunk in chunks]
        return kept


def _absent(attribute: str) -> Tree:
    return Negation(Present(attribute))


def _equalities(leaves: Iterable[Leaf]) -> list[Tree]:
    """Conditions of the leaves, with the equalities of one attribute in one list."""
    values: dict[str, list[Value]] = {}
    others: dict[Tree, None] = {}
    for leaf in leaves:
        match leaf.condition:
            case Between(attribute, int() | float() | str() as value) as equality if equality.is_equality:
                values.setdefault(attribute, []).append(value)
            case condition:
                others[condition] = None
    return [*(among(attribute, listed) for attribute, listed in values.items()), *others]


def _flat(
    parts: tuple[Node[Literal], ...], kind: type[And[Node[Literal]]] | type[Or[Node[Literal]]]
) -> Iterable[Node[Literal]]:
    for part in parts:
        if isinstance(part, kind):
            yield from _flat(part.items, kind)
        else:
            yield part
