"""A schedule that walks subscriptions in an order of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.arrays import Int8s, Int32s, Int64s
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
from tamis.operators.schedules.problem import NOT_ASKED, Problem
from tamis.operators.schedules.running import Lanes, Live, lanes_for
from tamis.operators.schedules.schedule import Schedule

# The order in which subscriptions are walked.


class Order:
    """Numbers in a doubly linked list, so that one can be put anywhere or taken out at once.

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
        """Puts a number behind another one: -1 is the front, None the end."""
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
        """Each number's place in the order."""
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


# The lanes of a walk.


class Walk(NamedTuple):
    """States of walks, a lane an event: how many predicates of a subscription are open (or what became of it), what is
    known of a predicate, which predicates were told in what order, and where the walk stands (see kernels)."""

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
    """Takes subscriptions as they came, and a subscription's predicates as they were given.

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
