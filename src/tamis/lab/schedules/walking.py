"""A schedule that walks subscriptions in an order of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from tamis.lab.schedules.walking_lanes import Walk, WalkingLanes
from tamis.lab.schedules.walking_order import Order
from tamis.operators.schedules.kernels import walk
from tamis.operators.schedules.lanes import Lanes, lanes_for
from tamis.operators.schedules.problem import Integers, Offsets, Problem, Truths
from tamis.operators.schedules.running import Live
from tamis.operators.schedules.schedule import Schedule


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

    def queue(self) -> Integers:
        return self.order.listed()

    def in_order(self, live: Live) -> Live:
        events = np.repeat(np.arange(len(live.offsets) - 1), np.diff(live.offsets))
        order = np.lexsort((self.order.rank()[live.subscriptions], events))
        return Live(live.offsets, live.subscriptions[order])

    def lanes(self, most: int, whole: bool) -> Lanes:
        return WalkingLanes(self.graph, self.way, lanes_for(Walk.bytes_each(self.graph), most))

    def _run(self, truths: Truths, asked: Integers, ends: Offsets, out: Integers, last: Offsets) -> None:
        state = Walk.of(self.graph, 1)
        graph = (self.graph.members.rows, self.graph.subscribers.rows)
        walk(*graph, state, self.way, self.queue(), truths, asked, ends, out, last)
