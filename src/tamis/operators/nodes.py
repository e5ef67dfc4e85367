"""The schedule's view of an index: a number for each predicate that must hold, and for each that must not.

Evaluating a predicate tells both. A case is a subscription of the schedule.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.operators.cases import Cases, Entry
from tamis.operators.learning import Learned
from tamis.operators.schedules import Problem, Schedule, schedule
from tamis.operators.schedules.truth import UNKNOWN

Int32s = npt.NDArray[np.int32]
NONE = -1


class Nodes:
    """A schedule over the cases that call something, and the way between their numbers and its own."""

    def __init__(self, name: str, cases: Cases, learned: Learned) -> None:
        """Of all the cases that there are."""
        self._cases = cases
        self._learned = learned
        self._node_of: dict[tuple[int, bool], int] = {}
        self._signed: list[tuple[int, bool]] = []
        listed: list[list[int]] = []
        calling: list[int] = []
        for case, entry in enumerate(cases.entries):
            if entry is not None and entry.wanted:
                listed.append([self._node(literal) for literal in entry.literals])
                calling.append(case)
        self._case_of = np.array(calling, np.int64)
        self._number_of = np.full(len(cases.entries), NONE, np.int32)
        self._number_of[self._case_of] = np.arange(len(calling))
        cost, selectivity = self._beliefs(range(len(self._signed)))
        self.schedule: Schedule = schedule(name, Problem.of(listed, selectivity, cost))

    @property
    def learns(self) -> bool:
        """Whether the schedule takes note of what events show."""
        return type(self.schedule).learn is not Schedule.learn

    def _node(self, literal: tuple[int, bool]) -> int:
        known = self._node_of.get(literal)
        if known is None:
            known = self._node_of[literal] = len(self._signed)
            self._signed.append(literal)
        return known

    def _beliefs(self, nodes: Iterable[int]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        predicates = self._cases.predicates
        self._learned.grow(len(predicates))
        signed = [self._signed[node] for node in nodes]
        cost = np.array([self._learned.cost(predicates[predicate]) for predicate, _ in signed], np.float64)
        numbers = np.array([predicate for predicate, _ in signed], np.int64)
        likely = self._learned.selectivity(numbers)
        return cost, np.where(np.array([negated for _, negated in signed], np.bool_), 1 - likely, likely)

    def insert(self, case: int, entry: Entry) -> None:
        """A new case; one without calls needs no schedule."""
        if not entry.wanted:
            return
        before = len(self._signed)
        members = [self._node(literal) for literal in entry.literals]
        cost, selectivity = self._beliefs(range(before, len(self._signed)))
        for some_cost, likely in zip(cost.tolist(), selectivity.tolist(), strict=True):
            self.schedule.add_predicate(some_cost, likely)
        number = self.schedule.insert(members)
        self._case_of = _reaching(self._case_of, number)
        self._number_of = _reaching(self._number_of, case)
        self._case_of[number], self._number_of[case] = case, number

    def delete(self, case: int) -> None:
        if self.number(case) != NONE:
            self.schedule.delete(self.number(case))
            self._number_of[case] = NONE

    def number(self, case: int) -> int:
        """The schedule's number of a case; `NONE` if it calls nothing."""
        return int(self._number_of[case]) if case < len(self._number_of) else NONE

    def numbers(self, cases: npt.NDArray[np.int64]) -> Int32s:
        """The schedule's numbers of cases that call something."""
        return self._number_of[cases]

    def cases(self, numbers: Int32s) -> npt.NDArray[np.int64]:
        return self._case_of[numbers]

    def predicate(self, node: int) -> int:
        """The predicate whose truth, or untruth, a node is."""
        return self._signed[node][0]

    def told(
        self, predicate: int, events: Int32s, truths: npt.NDArray[np.int8]
    ) -> list[tuple[Int32s, Int32s, npt.NDArray[np.int8]]]:
        """What a predicate's truths say of its nodes: events, nodes and truths beside each other."""
        said = []
        for negated in (False, True):
            node = self._node_of.get((predicate, negated))
            if node is not None:
                known = np.where(truths == UNKNOWN, UNKNOWN, 1 - truths).astype(np.int8) if negated else truths
                said.append((events, np.full(len(events), node, np.int32), known))
        return said


def _reaching(array: npt.NDArray[Any], place: int) -> npt.NDArray[Any]:
    """The array, with room for this place and half as many more."""
    if place < len(array):
        return array
    return np.concatenate([array, np.full(place + 1 + place // 2 - len(array), NONE, array.dtype)])
