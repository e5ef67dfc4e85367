"""AND over OR is multiplied out as far as calls and constraints need it; what is plain beside them becomes a guard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tamis.errors import FilterTooComplex
from tamis.language.calls import Call, Called, Constraint, called_key
from tamis.language.implications import Implications, Summary
from tamis.language.limits import Limits
from tamis.language.pushed import Conjunct, Pushed
from tamis.language.rewrites.boolean import to_disjunctive_form
from tamis.language.rewrites.fold_constants import fold_constants
from tamis.language.tree import And, Or
from tamis.schema import Schema

Calls: TypeAlias = frozenset[Called]


@dataclass(frozen=True, slots=True)
class Case:
    """One alternative of a filter with calls: some conjunct of the guard holds, and all that is called does.

    `called` is sorted, calls first. A guard that always holds is one empty conjunct.
    """

    guard: tuple[Conjunct, ...]
    called: tuple[Called, ...]


def has_calls(pushed: Pushed) -> bool:
    """Whether a filter calls operators anywhere."""
    if isinstance(pushed, And | Or):
        return any(map(has_calls, pushed.items))
    return isinstance(pushed, Call | Constraint)


def separate_calls(pushed: Pushed, schema: Schema, limits: Limits, text: str = "") -> list[Case]:
    """The cases of which one holds iff the filter does; no two call the same. `FilterTooComplex` past the limits."""
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
        """What is called in each alternative, and what must hold beside it."""
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
    """Whether a call stands beside its own negation."""
    signs: dict[tuple[object, ...], bool] = {}
    for leaf in called:
        if isinstance(leaf, Call):
            key = (leaf.operator, *called_key(leaf)[3:])
            if signs.setdefault(key, leaf.negated) != leaf.negated:
                return True
    return False


def _implied(summary: Summary, guards: Sequence[tuple[Conjunct, ...]]) -> bool:
    return any(all(map(summary.implies, conjunct)) for guard in guards for conjunct in guard)
