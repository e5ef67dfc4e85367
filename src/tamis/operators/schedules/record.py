"""Record of evaluations: of each event in their order, with what they say of the predicates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tamis.arrays import Floats, Int8s, Int32s, Int64s
from tamis.operators.schedules.problem import TRUE, UNKNOWN


@dataclass(frozen=True)
class Trail:
    """Of some events what was told of them, in order: event e has `predicates[offsets[e] : offsets[e + 1]]`."""

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
        """Only so many events, the last ones."""
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
    """Events run to their end: the trail, and the subscriptions that match, by event and ascending."""

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
        """From trails alone, without timings, and with the last so many as the sample (all where None)."""
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
        """From counts for every predicate."""
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
