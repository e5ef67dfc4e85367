"""Variables are renamed ?x1, ?x2, ... in an order that does not depend on the names they were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tamis.language.calls import Called, Constraint, Variable, called_key, variables_of, with_parts

Ranks: TypeAlias = dict[str, int]


def name_variables(called: Sequence[Called], first: int = 0) -> tuple[Called, ...]:
    """The same calls and constraints, sorted, with the names that any other choice of names would have led to.

    The first of them is ?x1, or as many later as `first` says. Variables are told apart by where they stand, refined
    until nothing more is told; what is then still alike is taken in the order of the names it has, so that canonical
    names stay as they are.
    """
    ranks = _told_apart(called)
    numbers: Ranks = {}
    alike: dict[tuple[object, ...], list[Called]] = {}
    for leaf in called:
        if variables_of(leaf):
            alike.setdefault(_look(leaf, ranks), []).append(leaf)
    for look in sorted(alike):
        left = alike[look]
        while left:
            chosen = min(left, key=lambda leaf: _choice(leaf, ranks, numbers))
            left.remove(chosen)
            for name in _ordered(chosen, ranks, numbers):
                numbers.setdefault(name, len(numbers) + 1)
    named = [_renamed(leaf, {name: f"x{number + first}" for name, number in numbers.items()}) for leaf in called]
    return tuple(sorted({called_key(leaf): leaf for leaf in map(_settled, named)}.values(), key=called_key))


def _told_apart(called: Sequence[Called]) -> Ranks:
    """A rank for each variable; equal ranks: nothing in the structure tells them apart."""
    names = sorted({name for leaf in called for name in variables_of(leaf)})
    ranks = dict.fromkeys(names, 0)
    while True:
        looks: dict[str, list[tuple[object, ...]]] = {name: [] for name in names}
        for leaf in called:
            for name in variables_of(leaf):
                looks[name].append(_look(leaf, {**ranks, name: -1}))
        found = {name: (ranks[name], *sorted(looks[name])) for name in names}
        order = {look: rank for rank, look in enumerate(sorted(set(found.values())))}
        refined = {name: order[found[name]] for name in names}
        if len(order) in (len(set(ranks.values())), len(names)):
            return refined
        ranks = refined


def _look(leaf: Called, ranks: Mapping[str, int]) -> tuple[object, ...]:
    """A leaf with ranks in place of names, and the sides of an equation in no order."""
    ranked = _renamed(leaf, {name: f"r{rank + 1}" for name, rank in ranks.items()})
    return called_key(_settled(ranked))


def _choice(leaf: Called, ranks: Ranks, numbers: Ranks) -> tuple[object, ...]:
    unnumbered = len(ranks) + 1
    known = {name: numbers.get(name, unnumbered) for name in variables_of(leaf)}
    return (_look(leaf, known), called_key(_settled(leaf)))


def _ordered(leaf: Called, ranks: Ranks, numbers: Ranks) -> tuple[str, ...]:
    """The variables of a leaf, in the order in which they get their numbers."""
    if not isinstance(leaf, Constraint):
        return variables_of(leaf)
    sides = [leaf, _turned(leaf)] if _is_symmetric(leaf) else [leaf]
    return variables_of(min(sides, key=lambda side: _sides_key(side, ranks, numbers)))


def _sides_key(leaf: Constraint, ranks: Ranks, numbers: Ranks) -> tuple[object, ...]:
    unnumbered = len(ranks) + 1
    known = {name: numbers.get(name, unnumbered) for name in ranks}
    named = [{name: f"r{rank + 1}" for name, rank in some.items()} for some in (ranks, known)]
    return (*(called_key(_renamed(leaf, names)) for names in named), called_key(leaf))


def _settled(leaf: Called) -> Called:
    """An equation with its lesser side first."""
    if isinstance(leaf, Constraint) and _is_symmetric(leaf):
        return min(leaf, _turned(leaf), key=called_key)
    return leaf


def _is_symmetric(leaf: Constraint) -> bool:
    return leaf.operator in ("=", "!=") and not isinstance(leaf.right, tuple) and bool(variables_of(_right_only(leaf)))


def _right_only(leaf: Constraint) -> Constraint:
    return replace(leaf, left=0)


def _turned(leaf: Constraint) -> Constraint:
    assert not isinstance(leaf.right, tuple)
    return replace(leaf, left=leaf.right, right=leaf.left)


def _renamed(leaf: Called, names: Mapping[str, str]) -> Called:
    def rename(part: object) -> object:
        return replace(part, name=names[part.name]) if isinstance(part, Variable) else part

    return with_parts(leaf, rename)
