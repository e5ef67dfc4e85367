"""Execution of a schedule: many events in lanes, evaluated together so that operators see batches; evidence of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tamis.arrays import Floats, Int8s, Int32s, Int64s
from tamis.errors import TamisError
from tamis.operators.schedules.problem import TRUE, UNKNOWN

if TYPE_CHECKING:
    from tamis.operators.schedules.schedule import Schedule


# Record of evaluations of each event in their order, and the evidence that they give of predicates.


@dataclass(frozen=True)
class Trail:
    """Trail of evaluations of some events, in order: event e's are `predicates[offsets[e] : offsets[e + 1]]`."""

    offsets: Int64s
    predicates: Int32s
    truths: Int8s

    @classmethod
    def none(cls) -> Trail:
        return cls(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int8))

    @property
    def events(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Int64s:
        return np.diff(self.offsets)

    def costs(self, cost: Floats) -> Floats:
        """Cost of the evaluations of each event."""
        running = np.concatenate([[0.0], np.cumsum(cost[self.predicates])])
        return running[self.offsets[1:]] - running[self.offsets[:-1]]

    def last(self, events: int) -> Trail:
        """Trail of the last so many events."""
        first = max(0, self.events - events)
        begin = self.offsets[first]
        return Trail(self.offsets[first:] - begin, self.predicates[begin:], self.truths[begin:])

    @classmethod
    def joined(cls, trails: Iterable[Trail]) -> Trail:
        parts = list(trails) or [cls.none()]
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.concatenate([part.predicates for part in parts]),
            np.concatenate([part.truths for part in parts]),
        )


@dataclass(frozen=True)
class Record:
    """Result of events run to their end: the trail, and the subscriptions that match, by event and ascending."""

    trail: Trail
    match_offsets: Int64s
    matches: Int32s

    def matches_of(self, event: int) -> list[int]:
        return sorted(self.matches[self.match_offsets[event] : self.match_offsets[event + 1]].tolist())


@dataclass(frozen=True)
class Evidence:
    """Evidence that some events gave of the predicates; small, and sums up over workers.

    Row i says of `predicates[i]` how often it was evaluated (where it came out unknown aside), held, came out unknown,
    was timed, and what the timed evaluations cost together. `sample` has the trails of some of the events.
    """

    events: int
    predicates: Int32s
    evaluated: Int64s
    held: Int64s
    unknown: Int64s
    timed: Int64s
    spent: Floats
    sample: Trail

    @classmethod
    def of(cls, trail: Trail, sample: int | None = None) -> Evidence:
        """Evidence of trails alone, without timings, and with the last so many as the sample (all where None)."""
        size = int(trail.predicates.max(initial=-1)) + 1
        known = trail.truths != UNKNOWN
        evaluated = np.bincount(trail.predicates[known], minlength=size)
        held = np.bincount(trail.predicates[trail.truths == TRUE], minlength=size)
        unknown = np.bincount(trail.predicates[~known], minlength=size)
        some = trail if sample is None else trail.last(sample)
        return cls.tallied(trail.events, evaluated, held, unknown, np.zeros(size, np.int64), np.zeros(size), some)

    @classmethod
    def tallied(
        cls,
        events: int,
        evaluated: Int64s,
        held: Int64s,
        unknown: Int64s,
        timed: Int64s,
        spent: Floats,
        sample: Trail,
    ) -> Evidence:
        """Evidence of counts for every predicate."""
        rows = np.flatnonzero(evaluated + unknown + timed).astype(np.int32)
        return cls(events, rows, evaluated[rows], held[rows], unknown[rows], timed[rows], spent[rows], sample)

    def __add__(self, other: Evidence) -> Evidence:
        predicates, where = np.unique(np.concatenate([self.predicates, other.predicates]), return_inverse=True)

        def total(mine: Floats | Int64s, theirs: Floats | Int64s) -> Floats:
            return np.bincount(where, np.concatenate([mine, theirs]), len(predicates)).astype(np.float64)

        return Evidence(
            self.events + other.events,
            predicates.astype(np.int32),
            total(self.evaluated, other.evaluated).astype(np.int64),
            total(self.held, other.held).astype(np.int64),
            total(self.unknown, other.unknown).astype(np.int64),
            total(self.timed, other.timed).astype(np.int64),
            total(self.spent, other.spent),
            Trail.joined([self.sample, other.sample]),
        )


_FIRST = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Live:
    """Subscriptions in question: event e's are `subscriptions[offsets[e] : offsets[e + 1]]`, none twice."""

    offsets: Int64s
    subscriptions: Int32s


@dataclass(frozen=True)
class Asked:
    """Evaluations wanted, by predicate: `events[offsets[i] : offsets[i + 1]]` want `predicates[i]`."""

    predicates: Int32s
    offsets: Int64s
    events: Int32s

    def __len__(self) -> int:
        return len(self.events)

    @property
    def pairs(self) -> tuple[Int32s, Int32s]:
        """Events, and beside each the predicate to evaluate on it."""
        return self.events, np.repeat(self.predicates, np.diff(self.offsets))


class Run:
    """A batch of events under one schedule.

    `ask` says what to evaluate next, one predicate for each event that is under way; `tell` takes the answers, all of
    them or some, and whatever else is known. Once `ask` asks for nothing, everything is decided.
    """

    def __init__(self, schedule: Schedule, events: int, live: Live | None, lanes: int | None, sample: int) -> None:
        if live is None:
            self._queue = schedule.queue()
            self._begins = np.zeros(events, np.int64)
            self._ends = np.full(events, len(self._queue), np.int64)
        else:
            if len(live.offsets) != events + 1:
                raise TamisError(f"{len(live.offsets) - 1} lists of subscriptions for {events} events")
            ordered = schedule.in_order(live)
            self._queue, self._begins, self._ends = ordered.subscriptions, live.offsets[:-1], live.offsets[1:]
        self._events = events
        waiting = np.flatnonzero(self._begins < self._ends)
        self._lanes = schedule.lanes(max(1, min(len(waiting), lanes or len(waiting))), whole=live is None)
        self._waiting = waiting[::-1].astype(np.int32)  # taken from the end
        self._lane_of = np.full(events, -1, np.int32)
        self._event_in = np.full(self._lanes.count, -1, np.int32)
        self._wants = np.full(self._lanes.count, -1, np.int32)  # what a taken lane has asked for, -1: nothing yet
        self._done: list[tuple[Int32s, npt.NDArray[np.int64], Int32s]] = []
        size = schedule.graph.predicates
        self._evaluated, self._held, self._unknown, self._timed = (np.zeros(size, np.int64) for _ in range(4))
        self._spent = np.zeros(size)
        self._sample = sample
        self._trails: list[Trail] = []

    def ask(self) -> Asked:
        """Predicates to evaluate next, of every event under way. Idempotent until answers come."""
        while True:
            idle = np.flatnonzero((self._event_in >= 0) & (self._wants < 0)).astype(np.int32)
            if len(idle):
                events = self._event_in[idle]
                self._wants[idle] = self._lanes.next(idle, self._queue, self._begins[events])
                self._finish(idle[self._wants[idle] < 0])
            free = np.flatnonzero(self._event_in < 0).astype(np.int32)[: len(self._waiting)]
            if not len(free):
                return self._wanted()
            self._start(free)

    def tell(self, events: Int32s, predicates: Int32s, truths: Int8s) -> None:
        """Takes answers: event, predicate and truth beside each other. Answers for decided events are ignored."""
        lanes = self._lane_of[events]
        under_way = lanes >= 0
        lanes, predicates, truths = lanes[under_way], predicates[under_way], truths[under_way].astype(np.int8)
        self._lanes.settle(lanes, predicates, truths)
        known = truths != UNKNOWN
        np.add.at(self._evaluated, predicates[known], 1)
        np.add.at(self._held, predicates[truths == TRUE], 1)
        np.add.at(self._unknown, predicates[~known], 1)
        self._wants[lanes] = -1

    def spent(self, predicate: int | Int32s, evaluations: int | Int64s, cost: float | Floats) -> None:
        """Cost of so many evaluations of a predicate, or of each of several, in the unit of declared costs."""
        self._timed[predicate] += evaluations
        self._spent[predicate] += cost

    def dismiss(self, events: Int32s, subscriptions: Int32s) -> None:
        """Decides these pairs as not matching; nothing more is evaluated for them alone."""
        lanes = self._lane_of[events]
        under_way = lanes >= 0
        self._lanes.dismiss(lanes[under_way], subscriptions[under_way])
        self._wants[lanes[under_way]] = -1

    def matches(self) -> tuple[Int64s, Int32s]:
        """Offsets by event, and the matching subscriptions of the events decided so far."""
        counts = np.zeros(self._events, np.int64)
        for events, found, _ in self._done:
            counts[events] = found
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        out = np.empty(offsets[-1], np.int32)
        for events, found, subscriptions in self._done:
            shift = np.repeat(offsets[events] - (np.cumsum(found) - found), found)
            out[shift + np.arange(len(subscriptions))] = subscriptions
        return offsets, out

    def evidence(self) -> Evidence:
        """Evidence of the run on the predicates, for `Schedule.learn`."""
        counts = (self._evaluated, self._held, self._unknown, self._timed)
        return Evidence.tallied(self._events, *counts, self._spent, Trail.joined(self._trails))

    def _start(self, lanes: Int32s) -> None:
        events, self._waiting = self._waiting[-len(lanes) :], self._waiting[: -len(lanes)]
        self._lanes.start(lanes, self._queue, self._begins[events], self._ends[events])
        self._event_in[lanes], self._lane_of[events] = events, lanes

    def _finish(self, lanes: Int32s) -> None:
        if not len(lanes):
            return
        for lane in lanes[: max(0, self._sample - len(self._trails))].tolist():
            predicates, truths = self._lanes.told(lane)
            self._trails.append(Trail(np.array([0, len(predicates)]), predicates, truths))
        events = self._event_in[lanes]
        found, counts = self._lanes.finish(lanes, self._queue, self._begins[events], self._ends[events])
        self._done.append((events, counts, found))
        self._event_in[lanes], self._lane_of[events] = -1, -1

    def _wanted(self) -> Asked:
        lanes = np.flatnonzero(self._event_in >= 0)
        order = np.argsort(self._wants[lanes], kind="stable")
        wants = self._wants[lanes[order]]
        first = np.append(_FIRST[: len(wants)], np.flatnonzero(wants[1:] != wants[:-1]) + 1)
        return Asked(wants[first], np.append(first, len(wants)), self._event_in[lanes[order]])


# Lanes: places for events that are being decided, several at a time.

MEMORY = 256 << 20  # bytes that the lanes of a run may take together, if there is one at least


class Lanes(ABC):
    """States of so many events at once, each in a lane; every call works on several lanes.

    A lane is free, or holds an event whose subscriptions in question are `queue[begin:end]`, in the schedule's order.
    The graph must not change while a lane is taken.
    """

    count: int

    @abstractmethod
    def start(self, lanes: Int32s, queue: Int32s, begins: Int64s, ends: Int64s) -> None:
        """Begins events in free lanes."""

    @abstractmethod
    def next(self, lanes: Int32s, queue: Int32s, begins: Int64s) -> Int32s:
        """Next predicate to evaluate in each lane; -1: everything is decided."""

    @abstractmethod
    def settle(self, lanes: Int32s, predicates: Int32s, values: Int8s) -> None:
        """Records truths, of the predicates asked for or of any others; a truth recorded before stands."""

    @abstractmethod
    def dismiss(self, lanes: Int32s, subscriptions: Int32s) -> None:
        """Removes subscriptions from question: they will not match."""

    @abstractmethod
    def told(self, lane: int) -> tuple[Int32s, Int8s]:
        """Truths recorded of the lane's event so far, in order."""

    def finish(
        self, lanes: Int32s, queue: Int32s, begins: Int64s, ends: Int64s
    ) -> tuple[Int32s, npt.NDArray[np.int64]]:
        """Frees the lanes; returns the subscriptions that match, lane after lane, and how many each has."""
        out = np.empty(int((ends - begins).sum()), np.int32)
        counts = np.empty(len(lanes), np.int64)
        self.free(lanes, queue, begins, ends, out, counts)
        return out[: counts.sum()], counts

    @abstractmethod
    def free(self, lanes: Int32s, queue: Int32s, begins: Int64s, ends: Int64s, out: Int32s, counts: Int64s) -> None:
        """Frees the lanes, and writes the subscriptions that match into `out`."""


def lanes_for(bytes_each: int, events: int) -> int:
    """Number of lanes for so many events."""
    return max(1, min(events, MEMORY // max(1, bytes_each)))
