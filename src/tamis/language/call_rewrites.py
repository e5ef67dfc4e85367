"""Rewrites of a filter that calls operators: separation into cases, and canonical names of variables.

separate_calls  AND over OR is multiplied out as far as calls and constraints need it; what is plain becomes a guard
name_variables  variables are renamed ?x1, ?x2, ... in an order that does not depend on the names they were given
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tamis.errors import FilterTooComplex
from tamis.language.absorption import Implications, Summary
from tamis.language.calls import Call, Called, Constraint, Variable, called_key, variables_of, with_parts
from tamis.language.tree import And, Conjunct, Limits, Or, Pushed
from tamis.language.tree_rewrites import fold_constants, to_disjunctive_form
from tamis.schema import Schema

Ranks: TypeAlias = dict[str, int]


def name_variables(called: Sequence[Called], first: int = 0) -> tuple[Called, ...]:
    """Calls and constraints, sorted, with the names that any other choice of names would have led to.

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
    """Rank of each variable; variables of equal rank are not told apart by the structure."""
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
    """Leaf with ranks in place of names, and the sides of an equation in no order."""
    ranked = _renamed(leaf, {name: f"r{rank + 1}" for name, rank in ranks.items()})
    return called_key(_settled(ranked))


def _choice(leaf: Called, ranks: Ranks, numbers: Ranks) -> tuple[object, ...]:
    unnumbered = len(ranks) + 1
    known = {name: numbers.get(name, unnumbered) for name in variables_of(leaf)}
    return (_look(leaf, known), called_key(_settled(leaf)))


def _ordered(leaf: Called, ranks: Ranks, numbers: Ranks) -> tuple[str, ...]:
    """Variables of a leaf, in the order in which they get their numbers."""
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


Calls: TypeAlias = frozenset[Called]


@dataclass(frozen=True, slots=True)
class Case:
    """One alternative of a filter with calls: some conjunct of the guard holds, and all that is called does.

    `called` is sorted, calls first. A guard that always holds is one empty conjunct.
    """

    guard: tuple[Conjunct, ...]
    called: tuple[Called, ...]


def has_calls(pushed: Pushed) -> bool:
    """True if a filter calls operators anywhere."""
    if isinstance(pushed, And | Or):
        return any(map(has_calls, pushed.items))
    return isinstance(pushed, Call | Constraint)


def separate_calls(pushed: Pushed, schema: Schema, limits: Limits, text: str = "") -> list[Case]:
    """Cases of which one holds iff the filter does; no two call the same. `FilterTooComplex` past the limits."""
    return _Separation(schema, limits, text).cases(pushed)


class _Separation:
    """One run. Until the end, alternatives are pairs of what is plain, not yet multiplied out, and what is called."""

    def __init__(self, schema: Schema, limits: Limits, text: str) -> None:
        self.schema = schema
        self.limits = limits
        self.text = text

    def cases(self, pushed: Pushed) -> list[Case]:
        guards: dict[Calls, tuple[Conjunct, ...]] = {}
        count = 0
        for called, plain in self.alternatives(pushed).items():
            if not _contradicts(called):
                guards[called] = tuple(to_disjunctive_form(fold_constants(plain), self.schema, self.limits, self.text))
                count += len(guards[called])
                self.check(count, 3)
        guards = self.absorbed(guards)
        self.check(sum(map(len, guards.values())), 1)
        cases = [Case(guard, tuple(sorted(called, key=called_key))) for called, guard in guards.items()]
        return sorted(cases, key=lambda case: [called_key(leaf) for leaf in case.called])

    def alternatives(self, pushed: Pushed) -> dict[Calls, Pushed]:
        """Calls of each alternative, and what must hold beside them."""
        if not has_calls(pushed):
            return {frozenset(): pushed}
        match pushed:
            case Or(items):
                return self.united(pair for item in items for pair in self.alternatives(item).items())
            case And(items):
                product: dict[Calls, Pushed] = {frozenset(): And()}
                for item in sorted(items, key=has_calls):  # what is plain is one factor whatever it is
                    factor = self.alternatives(item)
                    self.check(len(product) * len(factor), 3)
                    product = self.united(
                        (left | right, fold_constants(And((plain, more))))
                        for left, plain in product.items()
                        for right, more in factor.items()
                    )
                return product
            case Call() | Constraint():
                return {frozenset({pushed}): And()}
        raise TypeError(f"{pushed} has no calls")

    def united(self, pairs: Iterable[tuple[Calls, Pushed]]) -> dict[Calls, Pushed]:
        together: dict[Calls, list[Pushed]] = {}
        for called, plain in pairs:
            together.setdefault(called, []).append(plain)
        return {called: fold_constants(Or(tuple(plains))) for called, plains in together.items()}

    def absorbed(self, guards: dict[Calls, tuple[Conjunct, ...]]) -> dict[Calls, tuple[Conjunct, ...]]:
        """Without conjuncts that imply one of a case that calls less."""
        implications = Implications(self.schema)
        kept: dict[Calls, tuple[Conjunct, ...]] = {}
        for called, guard in guards.items():
            weaker = [theirs for others, theirs in guards.items() if others < called]
            if weaker:
                guard = tuple(one for one in guard if not _implied(Summary(one, implications), weaker))
            if guard:
                kept[called] = guard
        return kept

    def check(self, count: int, slack: int) -> None:
        """Refuses what is too large; steps in between may be larger than the result, by the slack, but no more."""
        if count > slack * self.limits.conjuncts:
            size = f"the filter comes to {count:,} alternatives or more when its ORs are multiplied out"
            message = f"{size}, and at most {self.limits.conjuncts:,} are taken; split it at an OR"
            raise FilterTooComplex(f"{message} into several subscriptions", self.text, 0, len(self.text))


def _contradicts(called: Calls) -> bool:
    """True if a call stands beside its own negation."""
    signs: dict[tuple[object, ...], bool] = {}
    for leaf in called:
        if isinstance(leaf, Call):
            key = (leaf.operator, *called_key(leaf)[3:])
            if signs.setdefault(key, leaf.negated) != leaf.negated:
                return True
    return False


def _implied(summary: Summary, guards: Sequence[tuple[Conjunct, ...]]) -> bool:
    return any(all(map(summary.implies, conjunct)) for guard in guards for conjunct in guard)
