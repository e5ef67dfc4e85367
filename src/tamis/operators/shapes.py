"""Cases of filters that share a template: what they call and compare, with their literals still to be filled in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from tamis.language import Filter
from tamis.language.call_rewrites import Case
from tamis.language.calls import Call, Constraint, Moment, Variable, parts_of, variables_of
from tamis.language.cutting import fill_called, fill_conjunct
from tamis.language.numbers import Slot
from tamis.operators.joining import Join, plan
from tamis.operators.predicates import variables_in_order


class Shape:
    """One case of a template. `guard` is what a plain matcher decides; TRUE where there is nothing to decide.

    `written` are the names under which variables are reported, empty for those that the text does not name.
    """

    def __init__(self, case: Case) -> None:
        self.guard = Filter(case.guard)
        self.calls = tuple(leaf for leaf in case.called if isinstance(leaf, Call))
        self.constraints = tuple(leaf for leaf in case.called if isinstance(leaf, Constraint))
        self.written: dict[str, str] = {}
        for part in (part for leaf in self.calls if not leaf.negated for part in parts_of(leaf)):
            if isinstance(part, Variable):
                self.written[part.name] = self.written.get(part.name) or part.written

    @property
    def is_guarded(self) -> bool:
        return self.guard.conjuncts != ((),)

    @property
    def binds(self) -> bool:
        """True if there are variables to be reported or compared."""
        return bool(self.written)

    @cached_property
    def _settled_join(self) -> Join | None:
        """The join, where no literal has a part in it."""
        settled = not any(_is_open(part) for leaf in self.constraints for part in parts_of(leaf))
        return plan(self.calls, self.constraints, self.written) if settled else None

    @cached_property
    def local(self) -> tuple[tuple[int, tuple[str, ...], tuple[Constraint, ...]], ...]:
        """Of each call that binds variables: its place, these, and the constraints that it decides by itself."""
        found = []
        for place, call in enumerate(self.calls):
            names = () if call.negated else variables_in_order(call)
            own = tuple(one for one in self.constraints if set(variables_of(one)) <= set(names))
            if own:
                found.append((place, names, own))
        return tuple(found)

    def join(self, values: Sequence[Any]) -> Join:
        """Plan for joining the bindings of a case with these literals."""
        settled = self._settled_join
        return settled or plan(self.calls, [fill_called(one, values) for one in self.constraints], self.written)

    def guard_of(self, values: Sequence[Any]) -> Filter:
        """The guard of a case with these literals, not in normal form."""
        return Filter(tuple(fill_conjunct(conjunct, values) for conjunct in self.guard.conjuncts))


def _is_open(part: object) -> bool:
    return isinstance(part.microseconds if isinstance(part, Moment) else part, Slot)
