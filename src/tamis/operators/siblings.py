"""Cases of one subscription: once one of them holds, the others need no more evaluations."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from tamis.arrays import Int32s
from tamis.operators.cases import Cases, Entry
from tamis.operators.nodes import Nodes
from tamis.operators.schedules import Live
from tamis.operators.schedules.problem import FALSE, TRUE

_NONE = np.zeros(0, np.int32)


class Siblings:
    """State of one batch's subscriptions that have several cases with calls."""

    def __init__(self, cases: Cases, nodes: Nodes) -> None:
        self._cases = cases
        self._nodes = nodes
        self._truths: dict[tuple[int, int], int] = {}
        self._live: set[tuple[int, int]] | None = None
        self._matched: set[tuple[int, int]] = set()

    def begin(self, live: Live | None) -> None:
        """Cases in question for each event; None: all for all."""
        if live is not None and self._cases.siblings:
            cases = self._nodes.cases(live.subscriptions)
            chosen = self._cases.several(cases)
            events = np.repeat(np.arange(len(live.offsets) - 1), np.diff(live.offsets))[chosen]
            self._live = set(zip(events.tolist(), cases[chosen].tolist(), strict=True))

    def idle(
        self,
        predicates: Int32s,
        rows: Int32s,
        truths: npt.NDArray[np.int8],
        satisfied: Callable[[int, Entry], bool],
    ) -> tuple[Int32s, Int32s]:
        """Events and schedule's numbers of cases that need no more, after what was said of predicates on events."""
        events, idle = list[int](), list[int]()
        if not self._cases.alternative:
            return _NONE, _NONE
        for predicate, row, truth in zip(predicates.tolist(), rows.tolist(), truths.tolist(), strict=True):
            for case in self._wanting(predicate, row, truth):
                entry = self._cases.entry(case)
                if self._holds_first(case, entry, row, satisfied):
                    self._matched.add((row, entry.subscription))
                    others = [other for other in self._cases.siblings[entry.subscription] if other != case]
                    events += [row] * len(others)
                    idle += others
        return np.array(events, np.int32), self._nodes.numbers(np.array(idle, np.int64))

    def _wanting(self, predicate: int, row: int, truth: int) -> Iterable[int]:
        """The cases that may hold now that this is known."""
        wanting = self._cases.alternative.get(predicate, ())
        if wanting:
            self._truths[predicate, row] = truth
        return wanting

    def _holds_first(self, case: int, entry: Entry, row: int, satisfied: Callable[[int, Entry], bool]) -> bool:
        """True if a case holds, and is the first of its subscription that does."""
        if (self._live is not None and (row, case) not in self._live) or (row, entry.subscription) in self._matched:
            return False
        wanted = ((predicate, FALSE if negated else TRUE) for predicate, negated in entry.literals)
        if not all(self._truths.get((predicate, row)) == truth for predicate, truth in wanted):
            return False
        return not entry.shape.binds or satisfied(row, entry)
