"""Cases (alternatives) of subscriptions that call operators: a guard, predicates that must hold, a join of the values
of variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.language.calls import Call
from tamis.language.cutting import fill_called, literals_of
from tamis.language.shapes import CalledBlock
from tamis.matching.base.flat_arrays import reaching
from tamis.operators.guards import GuardedRows, Shape
from tamis.operators.joining import Join, LocalChecks
from tamis.operators.predicates import Predicates
from tamis.operators.registry import Resolved


@dataclass(slots=True)
class Entry:
    """One case of one subscription, whose literals are `values`.

    `wanted` has for each call of the shape the number of its predicate. `_join` is made when it is first needed.
    """

    subscription: int
    shape: Shape
    values: tuple[Any, ...]
    wanted: tuple[int, ...]
    _join: Join | None = field(default=None, repr=False)

    @property
    def join(self) -> Join:
        if self._join is None:
            self._join = self.shape.join(self.values)
        return self._join

    @property
    def reports(self) -> bool:
        """True if it has variables with a name."""
        return any(self.shape.written.values())

    @property
    def literals(self) -> list[tuple[int, bool]]:
        """Predicates that must hold, or (True) must not; each once."""
        signed = zip(self.wanted, (call.negated for call in self.shape.calls), strict=True)
        return list(dict.fromkeys(signed))


class Cases:
    """All cases by number, and the predicates they share. A removed case leaves None; numbers are not reused."""

    def __init__(self, operators: Mapping[str, Resolved]) -> None:
        self.predicates = Predicates(operators)
        limits = [resolved.operator.time_limit for resolved in operators.values()]
        self.patience = min((limit for limit in limits if limit is not None), default=None)
        """The shortest time limit, in seconds; None: no operator has one."""
        self.entries: list[Entry | None] = []
        self.checks: dict[int, LocalChecks] = {}
        """By predicate: what its own bindings decide."""
        self.siblings: dict[int, list[int]] = {}
        """Cases that call something, by subscription, where it has several: one that holds makes the others idle."""
        self.alternative: dict[int, dict[int, None]] = {}
        """Of these cases, by predicate, those that want it."""
        self._several = np.zeros(0, np.bool_)

    def add(self, block: CalledBlock, subscriptions: Sequence[int]) -> list[GuardedRows]:
        """Adds the cases of a block, row i of which is `subscriptions[i]`; returns those that have a guard."""
        guarded: list[GuardedRows] = []
        rows = literals_of(block.columns, len(block.rows))
        several = sum(any(isinstance(leaf, Call) for leaf in case.called) for case in block.template.cases) > 1
        for case in block.template.cases:
            shape = Shape(case)
            first = len(self.entries)
            for subscription, values in zip(subscriptions, rows, strict=True):
                self._append(Entry(subscription, shape, values, self._wanted(shape, values)), several)
            if shape.is_guarded:
                guarded.append(GuardedRows(shape, range(first, len(self.entries)), block.columns, rows))
        return guarded

    def _wanted(self, shape: Shape, values: tuple[Any, ...]) -> tuple[int, ...]:
        return tuple(self.predicates.number(fill_called(call, values) if values else call) for call in shape.calls)

    def _append(self, entry: Entry, several: bool) -> None:
        number = len(self.entries)
        self.entries.append(entry)
        if several and entry.wanted:
            self.siblings.setdefault(entry.subscription, []).append(number)
            self._several = reaching(self._several, number, False)
            self._several[number] = True
            for predicate in set(entry.wanted):
                self.alternative.setdefault(predicate, {})[number] = None
        for place, names, constraints in entry.shape.local:
            filled = [fill_called(one, entry.values) for one in constraints]
            self.checks.setdefault(entry.wanted[place], LocalChecks()).add(number, names, filled)

    def remove(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            entry = self.entries[number]
            assert entry is not None
            self.entries[number] = None
            if number in self.siblings.get(entry.subscription, ()):
                self.siblings[entry.subscription].remove(number)
                if not self.siblings[entry.subscription]:
                    del self.siblings[entry.subscription]
                for predicate in set(entry.wanted):
                    del self.alternative[predicate][number]
                    if not self.alternative[predicate]:
                        del self.alternative[predicate]
            for predicate in entry.wanted:
                if predicate in self.checks:
                    self.checks[predicate].remove(number)

    def several(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Cases of these that are in `siblings`."""
        self._several = reaching(self._several, len(self.entries), False)
        return self._several[numbers]

    def entry(self, number: int) -> Entry:
        """A case that is there."""
        entry = self.entries[number]
        assert entry is not None
        return entry
