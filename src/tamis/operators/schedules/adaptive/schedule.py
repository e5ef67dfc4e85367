"""Our own schedule."""

from __future__ import annotations

from collections.abc import Iterable

from tamis.operators.schedules.adaptive.kinds import Expectation, Kinds
from tamis.operators.schedules.adaptive.lanes import AdaptiveLanes, Mind
from tamis.operators.schedules.adaptive.starting import run, start_some
from tamis.operators.schedules.knowledge import HALF_LIFE, Knowledge
from tamis.operators.schedules.lanes import Lanes, lanes_for
from tamis.operators.schedules.problem import Integers, Offsets, Problem, Truths
from tamis.operators.schedules.record import Evidence
from tamis.operators.schedules.running import Live
from tamis.operators.schedules.schedule import Schedule


class Adaptive(Schedule):
    """Evaluates at each step what decides most for its cost, by what is known of the stream and of the event so far.

    Has no order: each event takes its own way. See kernels.py for what *most* means, knowledge.py and kinds.py
    for what is learned.
    """

    name = "adaptive"

    def __init__(self, problem: Problem, half_life: float = HALF_LIFE) -> None:
        super().__init__(problem)
        self.knowledge = Knowledge(problem.selectivity, problem.cost, half_life)
        self.kinds = Kinds()
        self._expectation: Expectation | None = None
        self._start: Mind | None = None

    def add_predicate(self, cost: float, selectivity: float) -> int:
        number = super().add_predicate(cost, selectivity)
        self.knowledge.add_predicate(cost, selectivity)
        self._forget_plan()
        return number

    def insert(self, members: Iterable[int]) -> int:
        self._forget_plan()
        return super().insert(members)

    def delete(self, number: int) -> None:
        self._forget_plan()
        super().delete(number)

    def learn(self, evidence: Evidence) -> None:
        self.kinds.learn(evidence.sample, self.knowledge.selectivity())
        self.knowledge.learn(evidence)
        self._forget_plan()

    def queue(self) -> Integers:
        return self.graph.numbers()

    def in_order(self, live: Live) -> Live:
        return live

    def lanes(self, most: int, whole: bool) -> Lanes:
        beginning = self.beginning() if whole else None
        count = lanes_for(Mind.bytes_each(self.graph), most)
        return AdaptiveLanes(self.graph, self.expectation(), beginning, count)

    def expectation(self) -> Expectation:
        """What to expect of an event."""
        if self._expectation is None:
            length = float(self.graph.members.rows.length.sum()) / max(1, self.graph.count)
            believed = (self.knowledge.selectivity(), self.knowledge.cost())
            self._expectation = self.kinds.expectation(*believed, length)
        return self._expectation

    def beginning(self) -> Mind:
        """The state in which an event begins that has everything in question."""
        if self._start is None:
            self._start = Mind.of(self.graph, len(self.expectation().weights), 1)
            whole = self.queue()
            graph = (self.graph.members.rows, self.graph.subscribers.rows)
            start_some(*graph, self._start, self.expectation(), 0, whole, 0, len(whole))
        return self._start

    def _forget_plan(self) -> None:
        self._expectation = self._start = None

    def _run(self, truths: Truths, asked: Integers, ends: Offsets, out: Integers, last: Offsets) -> None:
        state = Mind.of(self.graph, len(self.expectation().weights), 1)
        graph = (self.graph.members.rows, self.graph.subscribers.rows)
        start = (self.beginning(), self.expectation(), self.queue())
        run(*graph, state, *start, truths, asked, ends, out, last)
