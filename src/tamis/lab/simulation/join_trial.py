"""A scheme on the select-join workload: what experiments and benchmarks measure."""

from __future__ import annotations

import numpy as np

from tamis.joins.index.messages import Messages
from tamis.joins.index.ranges import LEFT, RIGHT, Ranges, Shape
from tamis.joins.index.tables import NO_ROW, Changes
from tamis.joins.schemes.scheme import SCHEMES
from tamis.workloads.select_joins import SelectJoins

SHAPE = Shape((1, 1), ((LEFT, RIGHT),))


class Trial:
    """Subscriptions and tables of a workload in a scheme; R's further rows come when asked for.

    An event is a row of R that comes and the oldest that goes: two changes, the first of which has an even number.
    """

    def __init__(self, scheme: str, workload: SelectJoins) -> None:
        self.workload = workload
        self.scheme = SCHEMES[scheme](SHAPE)
        self.scheme.subscribe(ranges_of(workload))
        rows = workload.r_rows
        self._there = self.scheme.state.load(LEFT, workload.r_values[:rows], workload.r_keys[:rows])
        self.scheme.state.load(RIGHT, workload.s_values, workload.s_keys)
        self.played = 0

    def next(self, events: int) -> Changes:
        """The changes of the next so many events."""
        start = self.workload.r_rows + self.played
        stop = min(start + events, len(self.workload.r_keys))
        coming = self.scheme.state.rows[LEFT].put(self.workload.r_values[start:stop], self.workload.r_keys[start:stop])
        going = self._there[: len(coming)]
        self._there = np.concatenate([self._there[len(coming) :], coming])
        self.played += len(coming)
        old, new = (np.full(2 * len(coming), NO_ROW, np.int64) for _ in range(2))
        new[0::2], old[1::2] = coming, going
        return Changes(np.full(len(new), LEFT, np.int64), old, new)

    def play(self, events: int) -> Messages:
        return self.scheme.change(self.next(events))


def ranges_of(workload: SelectJoins) -> Ranges:
    """A workload's subscriptions as numbers."""
    count = len(workload.a_low)
    low = np.column_stack((workload.a_low, workload.c_low))
    high = np.column_stack((workload.a_high, workload.c_high))
    return Ranges.of(SHAPE, low, high, np.zeros((count, 2)), np.zeros(count))
