"""Places for events that are being decided, several at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from tamis.operators.schedules.problem import Integers, Offsets, Truths

MEMORY = 256 << 20  # bytes that the lanes of a run may take together, if there is one at least


class Lanes(ABC):
    """States of so many events at once, each in a lane; every call works on several lanes.

    A lane is free, or holds an event whose subscriptions in question are `queue[begin:end]`, in the schedule's order.
    The graph must not change while a lane is taken.
    """

    count: int

    @abstractmethod
    def start(self, lanes: Integers, queue: Integers, begins: Offsets, ends: Offsets) -> None:
        """Takes free lanes."""

    @abstractmethod
    def next(self, lanes: Integers, queue: Integers, begins: Offsets) -> Integers:
        """The predicate that each wants evaluated next; -1: everything is decided."""

    @abstractmethod
    def settle(self, lanes: Integers, predicates: Integers, values: Truths) -> None:
        """Tells truths, of the predicates asked for or of any others; a truth told before stands."""

    @abstractmethod
    def dismiss(self, lanes: Integers, subscriptions: Integers) -> None:
        """Takes subscriptions out of question: they will not match."""

    @abstractmethod
    def told(self, lane: int) -> tuple[Integers, Truths]:
        """What was told of the lane's event so far, in order."""

    def finish(
        self, lanes: Integers, queue: Integers, begins: Offsets, ends: Offsets
    ) -> tuple[Integers, npt.NDArray[np.int64]]:
        """Frees the lanes; gives the subscriptions that match, lane after lane, and how many each has."""
        out = np.empty(int((ends - begins).sum()), np.int32)
        counts = np.empty(len(lanes), np.int64)
        self.free(lanes, queue, begins, ends, out, counts)
        return out[: counts.sum()], counts

    @abstractmethod
    def free(
        self, lanes: Integers, queue: Integers, begins: Offsets, ends: Offsets, out: Integers, counts: Offsets
    ) -> None:
        """Frees the lanes, and writes the subscriptions that match into `out`."""


def lanes_for(bytes_each: int, events: int) -> int:
    """How many lanes to have for so many events."""
    return max(1, min(events, MEMORY // max(1, bytes_each)))
