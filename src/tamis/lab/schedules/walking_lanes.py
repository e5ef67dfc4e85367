"""The lanes of a walk."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.operators.schedules.graph import Graph
from tamis.operators.schedules.kernels import (
    CURSOR,
    TOLD,
    dismiss_each,
    finish_each,
    next_of_each,
    settle_each,
    start_each,
)  # fmt: skip
from tamis.operators.schedules.lanes import Lanes
from tamis.operators.schedules.problem import Integers, Offsets, Truths
from tamis.operators.schedules.truth import NOT_ASKED


class Walk(NamedTuple):
    """States of walks, a lane an event: how many predicates of a subscription are open (or what became of it), what is
    known of a predicate, which predicates were told in what order, and where the walk stands (see kernels)."""

    left: npt.NDArray[np.uint16]
    truth: Truths
    told: Integers
    cursor: Integers

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

    def start(self, lanes: Integers, queue: Integers, begins: Offsets, ends: Offsets) -> None:
        start_each(self._members, self._state, lanes, queue, begins, ends)

    def next(self, lanes: Integers, queue: Integers, begins: Offsets) -> Integers:
        found = np.empty(len(lanes), np.int32)
        next_of_each(self._members, self._subscribers, self._state, self._way, lanes, queue, begins, found)
        return found

    def settle(self, lanes: Integers, predicates: Integers, values: Truths) -> None:
        settle_each(self._members, self._subscribers, self._state, lanes, predicates, values)

    def dismiss(self, lanes: Integers, subscriptions: Integers) -> None:
        dismiss_each(self._members, self._state, lanes, subscriptions)

    def told(self, lane: int) -> tuple[Integers, Truths]:
        known = lane * len(self._subscribers.start)
        predicates = self._state.told[known : known + self._state.cursor[lane * CURSOR + TOLD]].copy()
        return predicates, self._state.truth[known + predicates]

    def free(
        self, lanes: Integers, queue: Integers, begins: Offsets, ends: Offsets, out: Integers, counts: Offsets
    ) -> None:
        finish_each(self._members, self._subscribers, self._state, lanes, queue, begins, ends, out, counts)
