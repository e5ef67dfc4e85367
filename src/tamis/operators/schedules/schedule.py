"""Abstract base class of schedules (orders of evaluation): graph of predicates and subscriptions, insertion and
deletion, learning, and runs of one event or many.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from tamis.arrays import Floats, Int8s, Int32s, Int64s
from tamis.operators.schedules.graph import Graph
from tamis.operators.schedules.problem import Problem, check_costs, check_selectivities
from tamis.operators.schedules.running import Evidence, Lanes, Live, Record, Run, Trail

AT_ONCE = 16  # events whose trails are written before they are taken over


class Schedule(ABC):
    """An order of evaluation for the predicates of a changing set of subscriptions.

    Subscriptions and predicates go by number. Nothing may be inserted, deleted, added, learned or planned anew while a
    run is under way. Not for two threads at once.

    A plan depends on what was declared, on the changes and on the evidence, in their order, and never on a clock: the
    same events ask for the same evaluations again. Evidence has timings only of what has no declared cost.
    """

    name: ClassVar[str]

    def __init__(self, problem: Problem) -> None:
        self.graph = Graph(problem)
        self._cost = problem.cost.copy()
        self._selectivity = problem.selectivity.copy()

    @property
    def cost(self) -> Floats:
        """Declared cost of an evaluation of each predicate."""
        return self._cost

    @property
    def selectivity(self) -> Floats:
        """Declared selectivity of each predicate."""
        return self._selectivity

    def add_predicate(self, cost: float, selectivity: float) -> int:
        """Adds a predicate that subscriptions inserted later may want; returns its number."""
        check_costs(np.array([cost]))
        check_selectivities(np.array([selectivity]))
        self._cost = np.append(self._cost, cost)
        self._selectivity = np.append(self._selectivity, selectivity)
        return self.graph.add_predicate()

    def insert(self, members: Iterable[int]) -> int:
        """Inserts a subscription that wants these predicates; returns its number, perhaps a reused one."""
        return self.graph.insert(np.fromiter(members, np.int32))

    def delete(self, number: int) -> None:
        self.graph.delete(number)

    def learn(self, evidence: Evidence) -> None:  # noqa: B027  # not all of them learn
        """Learns from evidence. A plan that is kept stays as it is until `reconsider`."""

    def reconsider(self) -> bool:
        """Plans anew where beliefs have moved since the last plan, and enough events have paid for another.

        Returns True if it did: never where no plan is kept, be it that the order is fixed, or chosen at each step.
        """
        return False

    def begin(self, events: int, live: Live | None = None, lanes: int | None = None, sample: int = 0) -> Run:
        """Runs so many events together, at most `lanes` of them at a time (as many as fit where None).

        `live` says which subscriptions are in question for which event; without it all are for all. The trails of
        `sample` events are kept as evidence.
        """
        return Run(self, events, live, lanes, sample)

    def run(self, truths: Int8s) -> Record:
        """Runs events whose truths are known: a row an event, a column a predicate, values as in problem.py."""
        trails, ends, matches = [], [np.zeros(1, np.int64)], []
        for first in range(0, len(truths), AT_ONCE):
            some = np.ascontiguousarray(truths[first : first + AT_ONCE], np.int8)
            asked = np.empty(len(some) * self.graph.predicates, np.int32)
            out = np.empty(len(some) * self.graph.size, np.int32)
            asked_ends, last = np.empty(len(some), np.int64), np.empty(len(some), np.int64)
            self._run(some, asked, asked_ends, out, last)
            offsets = np.concatenate([[0], asked_ends])
            predicates = asked[: offsets[-1]].copy()
            events = np.repeat(np.arange(len(some)), np.diff(offsets))
            trails.append(Trail(offsets, predicates, some[events, predicates]))
            ends.append(last + ends[-1][-1])
            matches.append(out[: last[-1]].copy())
        return Record(Trail.joined(trails), np.concatenate(ends), np.concatenate([np.empty(0, np.int32), *matches]))

    @abstractmethod
    def _run(self, truths: Int8s, asked: Int32s, ends: Int64s, out: Int32s, last: Int64s) -> None:
        """`run` for a few events: fills `asked` and `out`, and where each event's part of them ends."""

    @abstractmethod
    def queue(self) -> Int32s:
        """Subscriptions in the order in which lanes want them."""

    @abstractmethod
    def in_order(self, live: Live) -> Live:
        """Matches with each event's subscriptions in the order in which lanes want them."""

    @abstractmethod
    def lanes(self, most: int, whole: bool) -> Lanes:
        """Makes at most so many lanes, as fit into memory; `whole`: every event has all of `queue` in question."""
