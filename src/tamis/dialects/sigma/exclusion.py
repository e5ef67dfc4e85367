"""Exclusions that share an attribute, without multiplying them out.

`not (T1 and R1) and not (T2 and R2) and …`, where no value matches two of the T, is
`(not T1 and not T2 and …) or (T1 and not R1) or (T2 and not R2) or …`: one alternative more than there are exclusions,
where multiplying out gives two to the power of their number. Rules with a dozen exceptions are common in Sigma.
"""

from __future__ import annotations

from dataclasses import dataclass

from tamis.dialects.sigma.leaves import Leaf, Node, Presence
from tamis.language.patterns import Wildcard
from tamis.language.tree import And, Or


@dataclass(frozen=True, slots=True)
class Unless:
    """The negation of a leaf: an attribute is absent, or the condition fails."""

    leaf: Leaf


Literal = Leaf | Unless | Presence


@dataclass(frozen=True, slots=True)
class _Exclusion:
    """`not (one of keys and not rest)`: the keys are patterns of one attribute."""

    keys: tuple[Leaf, ...]
    rest: Node[Literal]


def regrouped(parts: tuple[Node[Literal], ...]) -> tuple[Node[Literal], ...]:
    """The parts of a conjunction, with exclusions that share an attribute put together where that is possible."""
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
    """The attribute by which most exclusions can be told apart, and which they are; at least two."""
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
    """An exclusion by patterns of this attribute; None if the part is no such thing."""
    if not isinstance(part, Or):
        return None
    for at, inner in enumerate(part.items):
        keys = _negated(inner)
        if keys and all(key.attributes == (attribute,) and key.pattern is not None for key in keys):
            return _Exclusion(keys, Or(part.items[:at] + part.items[at + 1 :]))
    return None


def _negated(node: Node[Literal]) -> tuple[Leaf, ...]:
    """The leaves of which none must hold; empty if the node is something else."""
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
    """The text before the first wildcard, and whether that is all there is."""
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
