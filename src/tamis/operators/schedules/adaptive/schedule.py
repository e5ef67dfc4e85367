"""Adaptive schedule, the product's default: at each step the predicate that decides most for its cost; states of events
in lanes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.arrays import Float32s, Floats, Int8s, Int32s, Int64s
from tamis.operators.schedules.adaptive.kernels import BUCKETS, CELL, NUMBERS, TOLD
from tamis.operators.schedules.adaptive.kinds import Expectation, Kinds
from tamis.operators.schedules.adaptive.starting import (
    dismiss_each,
    finish_each,
    next_of_each,
    run,
    settle_each,
    start_each,
    start_each_like,
    start_some,
)
from tamis.operators.schedules.graph import Graph
from tamis.operators.schedules.knowledge import HALF_LIFE, Knowledge
from tamis.operators.schedules.problem import NOT_ASKED, Problem
from tamis.operators.schedules.running import Evidence, Lanes, Live, lanes_for
from tamis.operators.schedules.schedule import Schedule

# The lanes of the adaptive schedule.


class Mind(NamedTuple):
    """States of events, a lane each (see kernels).

    Of a subscription: how many predicates are open, or what became of it; its price, two of them, the second being for
    the predicate that decides it soonest, in a cell together with that (`price` and `best` are the same cells, as
    floats and as integers); and a list of those undecided at the last revision. Of a predicate:
    what is known, how many wanted it at the last revision, its rate, what it promised when last looked at, and its
    place in the buckets; and a list of those wanted at the last revision. Of an event: what was told in which order,
    some numbers, and how likely it is of which kind (as a logarithm; `share` is scratch).
    """

    left: npt.NDArray[np.uint16]
    price: Float32s
    best: Int32s
    undecided: Int32s
    truth: Int8s
    told: Int32s
    live: Int32s
    rate: Float32s
    promise: Float32s
    wanted: Int32s
    bucket: npt.NDArray[np.int16]
    ahead: Int32s
    behind: Int32s
    first: Int32s
    numbers: Int64s
    likelihood: Floats
    share: Floats

    @classmethod
    def of(cls, graph: Graph, kinds: int, lanes: int) -> Mind:
        subscriptions, predicates = lanes * graph.size, lanes * graph.predicates
        cells = np.zeros(CELL * subscriptions, np.float32)
        return cls(
            left=np.zeros(subscriptions, np.uint16),
            price=cells,
            best=cells.view(np.int32),
            undecided=np.zeros(subscriptions, np.int32),
            truth=np.full(predicates, NOT_ASKED, np.int8),
            told=np.zeros(predicates, np.int32),
            live=np.zeros(predicates, np.int32),
            rate=np.zeros(predicates, np.float32),
            promise=np.zeros(predicates, np.float32),
            wanted=np.zeros(predicates, np.int32),
            bucket=np.zeros(predicates, np.int16),
            ahead=np.zeros(predicates, np.int32),
            behind=np.zeros(predicates, np.int32),
            first=np.full(lanes * BUCKETS, -1, np.int32),
            numbers=np.zeros(lanes * NUMBERS, np.int64),
            likelihood=np.zeros(lanes * kinds),
            share=np.zeros(lanes * kinds),
        )

    @staticmethod
    def bytes_each(graph: Graph) -> int:
        return 22 * graph.size + 31 * graph.predicates + 4 * BUCKETS


class AdaptiveLanes(Lanes):
    """Lanes of the adaptive schedule.

    `beginning` is the state in which every event begins; without it, each has its own subscriptions in question.
    """

    def __init__(self, graph: Graph, expectation: Expectation, beginning: Mind | None, count: int) -> None:
        self.count = count
        self._graph = (graph.members.rows, graph.subscribers.rows)
        self._kinds = expectation
        self._beginning = beginning
        self._state = Mind.of(graph, len(expectation.weights), count)

    def start(self, lanes: Int32s, queue: Int32s, begins: Int64s, ends: Int64s) -> None:
        if self._beginning is not None:
            start_each_like(*self._graph, self._state, self._beginning, self._kinds, lanes)
        else:
            start_each(*self._graph, self._state, self._kinds, lanes, queue, begins, ends)

    def next(self, lanes: Int32s, queue: Int32s, begins: Int64s) -> Int32s:
        found = np.empty(len(lanes), np.int32)
        next_of_each(*self._graph, self._state, self._kinds, lanes, found)
        return found

    def settle(self, lanes: Int32s, predicates: Int32s, values: Int8s) -> None:
        settle_each(*self._graph, self._state, self._kinds, lanes, predicates, values)

    def dismiss(self, lanes: Int32s, subscriptions: Int32s) -> None:
        dismiss_each(self._graph[0], self._state, lanes, subscriptions)

    def told(self, lane: int) -> tuple[Int32s, Int8s]:
        known = lane * len(self._graph[1].start)
        predicates = self._state.told[known : known + self._state.numbers[lane * NUMBERS + TOLD]].copy()
        return predicates, self._state.truth[known + predicates]

    def free(self, lanes: Int32s, queue: Int32s, begins: Int64s, ends: Int64s, out: Int32s, counts: Int64s) -> None:
        overwritten = self._beginning is not None
        finish_each(*self._graph, self._state, lanes, queue, begins, ends, out, counts, overwritten)


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

    def queue(self) -> Int32s:
        return self.graph.numbers()

    def in_order(self, live: Live) -> Live:
        return live

    def lanes(self, most: int, whole: bool) -> Lanes:
        beginning = self.beginning() if whole else None
        count = lanes_for(Mind.bytes_each(self.graph), most)
        return AdaptiveLanes(self.graph, self.expectation(), beginning, count)

    def expectation(self) -> Expectation:
        """Expectations of an event."""
        if self._expectation is None:
            length = float(self.graph.members.rows.length.sum()) / max(1, self.graph.count)
            believed = (self.knowledge.selectivity(), self.knowledge.cost())
            self._expectation = self.kinds.expectation(*believed, length)
        return self._expectation

    def beginning(self) -> Mind:
        """Initial state of an event that has everything in question."""
        if self._start is None:
            self._start = Mind.of(self.graph, len(self.expectation().weights), 1)
            whole = self.queue()
            graph = (self.graph.members.rows, self.graph.subscribers.rows)
            start_some(*graph, self._start, self.expectation(), 0, whole, 0, len(whole))
        return self._start

    def _forget_plan(self) -> None:
        self._expectation = self._start = None

    def _run(self, truths: Int8s, asked: Int32s, ends: Int64s, out: Int32s, last: Int64s) -> None:
        state = Mind.of(self.graph, len(self.expectation().weights), 1)
        graph = (self.graph.members.rows, self.graph.subscribers.rows)
        start = (self.beginning(), self.expectation(), self.queue())
        run(*graph, state, *start, truths, asked, ends, out, last)
