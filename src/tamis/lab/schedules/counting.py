"""Counts of evaluations that schedules need on P0's workloads, with bounds and recovery; and the base of schedules that
walk subscriptions in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.arrays import Floats, Int8s, Int32s, Int64s
from tamis.compiled import kernel
from tamis.lab.schedules.bounds import foreseeing_nothing, in_hindsight, theorem_2
from tamis.operators.schedules import schedule
from tamis.operators.schedules.graph import Graph
from tamis.operators.schedules.kernels import (
    CURSOR,
    TOLD,
    dismiss_each,
    finish_each,
    follow,
    next_of_each,
    settle_each,
    start_each,
    walk,
)
from tamis.operators.schedules.problem import NOT_ASKED, TRUE, Problem
from tamis.operators.schedules.running import Evidence, Lanes, Live, lanes_for
from tamis.operators.schedules.schedule import Schedule
from tamis.workloads.expensive_operators import ExpensiveOperators, Parameters, expensive_operators

# Algorithm 1 of Liu et al. 2007 as it is printed: the set it returns is not quite the set it evaluates.


@kernel
def as_printed(members: Any, subscribers: Any, truth: Any) -> tuple[int, int]:
    """Number of subscriptions taken up in an event, and of predicates in E at the end.

    Line 15 adds a predicate to E whether or not line 10 has evaluated it: all of those that a subscription taken up has
    and that are not in E yet. What it evaluates is the same, so the same subscriptions are taken up.
    """
    listed = np.zeros(len(subscribers.start), np.bool_)
    decided = np.zeros(len(members.start), np.bool_)
    taken, count = 0, 0
    for s in range(len(members.start)):
        if decided[s]:
            continue
        taken += 1
        for i in range(members.start[s], members.start[s] + members.length[s]):
            t = members.pool[i]
            if listed[t]:
                continue
            listed[t] = True
            count += 1
            if truth[t] != TRUE:
                for j in range(subscribers.start[t], subscribers.start[t] + subscribers.length[t]):
                    decided[subscribers.pool[j]] = True
    return taken, count


EVENTS = 1000  # of the paper
AT_ONCE = 50  # events from one time of learning to the next
SAMPLE = 16  # trails of them that kinds of events are learned from


@dataclass(frozen=True)
class Counts:
    """Counts of each event: predicates evaluated, their cost, and subscriptions matched."""

    evaluations: Floats
    costs: Floats
    matches: Floats

    @property
    def mean(self) -> float:
        return float(self.evaluations.mean())

    @property
    def mean_cost(self) -> float:
        return float(self.costs.mean())


def problem_of(workload: ExpensiveOperators) -> Problem:
    return Problem(workload.cost, workload.selectivity, workload.offsets, workload.members)


def evaluations(name: str, parameters: Parameters, events: int = EVENTS) -> Counts:
    """Counts at a point of a figure: one schedule on one workload; it knows the selectivities, and learns if it can."""
    workload = expensive_operators(parameters)
    return counted(schedule(name, problem_of(workload)), batches(workload, events), workload.cost)


def batches(workload: ExpensiveOperators, events: int, first: int = 0) -> Iterator[Int8s]:
    """Truths of `events` events, in batches."""
    for start in range(first, first + events, AT_ONCE):
        yield workload.truths(min(AT_ONCE, first + events - start), start)


def counted(planned: Schedule, truths: Iterator[Int8s], cost: Floats) -> Counts:
    """Runs events through a schedule, which learns from each batch before the next."""
    parts = []
    for batch in truths:
        record = planned.run(batch)
        planned.learn(Evidence.of(record.trail, sample=SAMPLE))
        parts.append((record.trail.lengths, record.trail.costs(cost), np.diff(record.match_offsets)))
    lengths, costs, matches = (np.concatenate(part).astype(np.float64) for part in zip(*parts, strict=True))
    return Counts(lengths, costs, matches)


@dataclass(frozen=True)
class Bounds:
    """Means over events of the lower bounds (see bounds.py)."""

    theorem_2: float
    in_hindsight: float
    foreseeing_nothing: float


def bounds(parameters: Parameters, events: int = EVENTS) -> Bounds:
    """Bounds of a point, on its first `events` events."""
    workload = expensive_operators(parameters)
    problem = problem_of(workload)
    found = [
        [bound(problem, batch) for bound in (theorem_2, in_hindsight, foreseeing_nothing)]
        for batch in batches(workload, events)
    ]
    return Bounds(*(float(np.concatenate(parts).mean()) for parts in zip(*found, strict=True)))


@dataclass(frozen=True)
class Printed:
    """Alternative counts that the paper may mean: predicates in any subscription, and means over events of the
    subscriptions that Algorithm 1 takes up and of the predicates in the set that it returns."""

    in_use: float
    taken_up: float
    returned: float


def printed(parameters: Parameters, events: int = EVENTS) -> Printed:
    workload = expensive_operators(parameters)
    graph = Graph(problem_of(workload))
    rows = (graph.members.rows, graph.subscribers.rows)
    found = [as_printed(*rows, truth) for batch in batches(workload, events) for truth in batch]
    taken_up, returned = np.mean(found, axis=0)
    return Printed(float(len(np.unique(workload.members))), float(taken_up), float(returned))


@dataclass(frozen=True)
class Recovery:
    """Mean evaluations of some events, the first of which is number `first`.

    `informed`: adaptive, told the true selectivities of the moment. `learning`: adaptive, told wrong ones at the start.
    `unlearning` and `sub_order`: told the same, learning nothing.
    """

    first: int
    informed: float
    learning: float
    unlearning: float
    sub_order: float


def recovery(
    parameters: Parameters, events: int = 3000, drift_from: int = 1000, drift_until: int = 1400, wrong: float = 10.0
) -> list[Recovery]:
    """Recovery from selectivities declared wrong by a factor; later the true ones change places, little by little."""
    workload = expensive_operators(parameters)
    rng = np.random.default_rng(parameters.seed)
    factors = np.where(rng.random(parameters.predicates) < 0.5, wrong, 1 / wrong)
    declared = np.clip(workload.selectivity * factors, 0.001, 0.999)
    other = rng.permutation(workload.selectivity)

    def told(selectivity: Floats) -> Problem:
        return Problem(workload.cost, selectivity, workload.offsets, workload.members)

    learning, unlearning, sub_order = (schedule(name, told(declared)) for name in ("adaptive", "adaptive", "sub-order"))
    rows = []
    for first in range(0, events, AT_ONCE):
        share = min(1.0, max(0.0, (first - drift_from) / (drift_until - drift_from)))
        true = (1 - share) * workload.selectivity + share * other
        truths = workload.truths(min(AT_ONCE, events - first), first, true)
        informed = schedule("adaptive", told(true))
        trails = [each.run(truths).trail for each in (informed, learning, unlearning, sub_order)]
        learning.learn(Evidence.of(trails[1], sample=SAMPLE))
        rows.append(Recovery(first, *(float(trail.lengths.mean()) for trail in trails)))
    return rows


# Base of walking schedules: subscriptions are taken up in an order of the schedule's own.

# Order of subscriptions.


class Order:
    """Order of numbers as a doubly linked list, so that one can be inserted anywhere or removed in constant time.

    `after[n]` and `before[n]` are n's neighbours, -1 at the ends, the second of which is `last`. `listed` and `rank`
    are made when first asked for after a change.
    """

    def __init__(self, numbers: Int32s, size: int) -> None:
        self.after = np.full(size, -1, np.int32)
        self.before = np.full(size, -1, np.int32)
        self.after[numbers[:-1]] = numbers[1:]
        self.before[numbers[1:]] = numbers[:-1]
        self._first, self.last = (int(numbers[0]), int(numbers[-1])) if len(numbers) else (-1, -1)
        self._count = len(numbers)
        self._listed: Int32s | None = numbers
        self._rank: Int32s | None = None

    def insert(self, number: int, after: int | None = None) -> None:
        """Inserts a number behind another one: -1 is the front, None the end."""
        left = self.last if after is None else after
        right = self._first if left < 0 else int(self.after[left])
        if number >= len(self.after):
            more = np.full(number - len(self.after) + max(8, len(self.after) // 2), -1, np.int32)
            self.after, self.before = np.concatenate([self.after, more]), np.concatenate([self.before, more])
        self.before[number], self.after[number] = left, right
        self._link(left, number)
        self._link(number, right)
        self._changed(1)

    def remove(self, number: int) -> None:
        self._link(int(self.before[number]), int(self.after[number]))
        self.before[number] = self.after[number] = -1
        self._changed(-1)

    def listed(self) -> Int32s:
        """All numbers, first to last."""
        if self._listed is None:
            self._listed = np.empty(self._count, np.int32)
            follow(self.after, self._first, self._listed)
        return self._listed

    def rank(self) -> Int32s:
        """Place of each number in the order."""
        if self._rank is None:
            self._rank = np.zeros(len(self.after), np.int32)
            self._rank[self.listed()] = np.arange(self._count, dtype=np.int32)
        return self._rank

    def _link(self, left: int, right: int) -> None:
        if left < 0:
            self._first = right
        else:
            self.after[left] = right
        if right < 0:
            self.last = left
        else:
            self.before[right] = left

    def _changed(self, more: int) -> None:
        self._count += more
        self._listed = self._rank = None


# Lanes: the states of many events walking at once.


class Walk(NamedTuple):
    """States of walks, a lane an event: open predicates of each subscription (or its result), known truths,
    predicates reported in order, and the position of the walk (see operators/schedules kernels)."""

    left: npt.NDArray[np.uint16]
    truth: Int8s
    told: Int32s
    cursor: Int32s

    @classmethod
    def of(cls, graph: Graph, lanes: int) -> Walk:
        return cls(
            np.zeros(lanes * graph.size, np.uint16),
            np.full(lanes * graph.predicates, NOT_ASKED, np.int8),
            np.empty(lanes * graph.predicates, np.int32),
            np.zeros(lanes * CURSOR, np.int32),
        )

    @staticmethod
    def bytes_each(graph: Graph) -> int:
        return 2 * graph.size + 5 * graph.predicates


class WalkingLanes(Lanes):
    def __init__(self, graph: Graph, way: int, count: int) -> None:
        self.count = count
        self._members, self._subscribers = graph.members.rows, graph.subscribers.rows
        self._way = way
        self._state = Walk.of(graph, count)

    def start(self, lanes: Int32s, queue: Int32s, begins: Int64s, ends: Int64s) -> None:
        start_each(self._members, self._state, lanes, queue, begins, ends)

    def next(self, lanes: Int32s, queue: Int32s, begins: Int64s) -> Int32s:
        found = np.empty(len(lanes), np.int32)
        next_of_each(self._members, self._subscribers, self._state, self._way, lanes, queue, begins, found)
        return found

    def settle(self, lanes: Int32s, predicates: Int32s, values: Int8s) -> None:
        settle_each(self._members, self._subscribers, self._state, lanes, predicates, values)

    def dismiss(self, lanes: Int32s, subscriptions: Int32s) -> None:
        dismiss_each(self._members, self._state, lanes, subscriptions)

    def told(self, lane: int) -> tuple[Int32s, Int8s]:
        known = lane * len(self._subscribers.start)
        predicates = self._state.told[known : known + self._state.cursor[lane * CURSOR + TOLD]].copy()
        return predicates, self._state.truth[known + predicates]

    def free(self, lanes: Int32s, queue: Int32s, begins: Int64s, ends: Int64s, out: Int32s, counts: Int64s) -> None:
        finish_each(self._members, self._subscribers, self._state, lanes, queue, begins, ends, out, counts)


class Walking(Schedule):
    """Schedule that takes subscriptions in insertion order, and a subscription's predicates as they were given.

    `way` (see kernels) says what an evaluation that fails spares the subscriptions behind.
    """

    way: ClassVar[int]

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.order = Order(self.graph.numbers(), self.graph.size)

    def insert(self, members: Iterable[int]) -> int:
        number = super().insert(members)
        self.order.insert(number)
        return number

    def delete(self, number: int) -> None:
        super().delete(number)
        self.order.remove(number)

    def queue(self) -> Int32s:
        return self.order.listed()

    def in_order(self, live: Live) -> Live:
        events = np.repeat(np.arange(len(live.offsets) - 1), np.diff(live.offsets))
        order = np.lexsort((self.order.rank()[live.subscriptions], events))
        return Live(live.offsets, live.subscriptions[order])

    def lanes(self, most: int, whole: bool) -> Lanes:
        return WalkingLanes(self.graph, self.way, lanes_for(Walk.bytes_each(self.graph), most))

    def _run(self, truths: Int8s, asked: Int32s, ends: Int64s, out: Int32s, last: Int64s) -> None:
        state = Walk.of(self.graph, 1)
        graph = (self.graph.members.rows, self.graph.subscribers.rows)
        walk(*graph, state, self.way, self.queue(), truths, asked, ends, out, last)
