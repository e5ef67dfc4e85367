"""Guards, the plain part of filters that call operators, decided by the columnar index before any call; shapes of
cases, with guard and join plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.language import Block, Bound, Filter, Limits, print_filter
from tamis.language.call_rewrites import Case
from tamis.language.calls import Call, Constraint, Moment, Variable, parts_of, variables_of
from tamis.language.cutting import Column, fill_called, fill_conjunct
from tamis.language.predicates import Slot
from tamis.matching.base.statistics import Statistics
from tamis.matching.numbered_filters import NumberedFilters, Pairs
from tamis.matching.patterns import PatternSet
from tamis.operators.joining import Join, plan
from tamis.operators.predicates import variables_in_order
from tamis.schema import Schema

# Cases of filters that share a template: calls and constraints, with their literals still to be filled in.


class Shape:
    """Case of a template, shared by subscriptions that differ in literals: guard, calls and constraints.

    `guard` is the part that a plain matcher decides; TRUE where there is nothing to decide. `written` are the names
    under which variables are reported, empty for those that the text does not name.
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
        """Join plan, where no literal has a part in it."""
        settled = not any(_is_open(part) for leaf in self.constraints for part in parts_of(leaf))
        return plan(self.calls, self.constraints, self.written) if settled else None

    @cached_property
    def local(self) -> tuple[tuple[int, tuple[str, ...], tuple[Constraint, ...]], ...]:
        """Calls that bind variables: place, variables, and the constraints that the call decides by itself."""
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
        """Guard of a case with these literals, not in normal form."""
        return Filter(tuple(fill_conjunct(conjunct, values) for conjunct in self.guard.conjuncts))


def _is_open(part: object) -> bool:
    return isinstance(part.microseconds if isinstance(part, Moment) else part, Slot)


class GuardedRows:
    """Rows of cases of one shape: `cases[i]` has the literals of row i of the columns, and `values[i]`."""

    def __init__(
        self, shape: Shape, cases: Sequence[int], columns: tuple[Column, ...], values: Sequence[tuple[object, ...]]
    ) -> None:
        self.shape = shape
        self.cases = cases
        self.columns = columns
        self.values = values


class Guards:
    """Matcher of guards, in which each guarded case is a filter."""

    def __init__(self, schema: Schema, limits: Limits, statistics: Statistics | None) -> None:
        self._schema = schema
        self._limits = limits
        self._filters = NumberedFilters(schema, statistics)

    def __bool__(self) -> bool:
        return len(self._filters) > 0

    def add(self, rows: Sequence[GuardedRows]) -> None:
        """Adds cases, none of which is present yet."""
        blocks: list[Block] = []
        cases: list[int] = []
        texts: list[str] = []
        for some in rows:
            first = len(cases)
            cases += some.cases
            texts += [print_filter(some.shape.guard_of(values), self._schema) for values in some.values]
            blocks.append(Block(np.arange(first, len(cases), dtype=np.int64), some.shape.guard, some.columns))
        self._filters.add(cases, texts, Bound(len(cases), blocks=blocks, limits=self._limits))

    def remove(self, cases: Iterable[int]) -> None:
        """Removes cases, all of them present."""
        self._filters.remove(cases)

    def candidates(self, batch: pa.RecordBatch) -> Pairs:
        """Cases whose guard each event passes."""
        return self._filters.held(batch)

    def holders_of(self, patterns: PatternSet) -> Pairs | None:
        """Pairs of a pattern of a set and a case whose guard holds it; None if the set is of no guard."""
        return self._filters.holders_of(patterns)
