"""The subscriptions of an operator matcher as cases, and which of these are in question for which event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from tamis.arrays import Int64s
from tamis.language import Bound, Limits
from tamis.matching.base.flat_arrays import NumberSet, reaching
from tamis.matching.base.statistics import Statistics
from tamis.matching.codes.holders import Holders
from tamis.matching.patterns import PatternSet
from tamis.operators.cases import Cases
from tamis.operators.guards import GuardedRows, Guards
from tamis.operators.nodes import Nodes
from tamis.operators.registry import Resolved
from tamis.operators.schedules import Live
from tamis.schema import Schema

# The subscriptions of a matcher: ids, texts and cases, by number.


class Roster:
    """Numbers are given in order and not again; those of removed subscriptions stay empty."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._ids: list[str] = []
        self._texts: list[str] = []
        self._cases: list[list[int]] = []
        self._arrow = pa.array([], pa.string())

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, id: object) -> bool:
        return id in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    @property
    def given(self) -> int:
        """Number of numbers given, those of removed subscriptions too."""
        return len(self._ids)

    @property
    def names(self) -> pa.Array:
        """Ids by number, also of what was removed."""
        if len(self._arrow) < len(self._ids):
            self._arrow = pa.concat_arrays([self._arrow, pa.array(self._ids[len(self._arrow) :], pa.string())])
        return self._arrow

    def add(self, id: str, text: str) -> int:
        number = len(self._ids)
        self._numbers[id] = number
        self._ids.append(id)
        self._texts.append(text)
        self._cases.append([])
        return number

    def remove(self, id: str) -> list[int]:
        """Takes a subscription out; gives its cases."""
        number = self._numbers.pop(id)
        cases, self._cases[number], self._texts[number] = self._cases[number], [], ""
        return cases

    def own(self, subscription: int, case: int) -> None:
        """A case is one of this subscription's."""
        self._cases[subscription].append(case)

    def cases(self, id: str) -> list[int]:
        return self._cases[self._numbers[id]]

    def text(self, id: str) -> str:
        return self._texts[self._numbers[id]]

    def find(self, id: str) -> int | None:
        """The number of a subscription that is there."""
        return self._numbers.get(id)

    def id_of(self, number: int) -> str:
        return self._ids[number]


Matched = tuple[Int64s, Int64s, Int64s]
"""Events, ascending, and beside each a subscription's number and the case of it that holds."""


class Enrolled:
    """Subscribers by number; their cases, each with its owner; and the guards that decide before any call.

    `always` are cases that no guard keeps from being evaluated, `certain` those that hold for every event. Changed by
    one thread while no other reads.
    """

    def __init__(
        self, schema: Schema, operators: Mapping[str, Resolved], limits: Limits, statistics: Statistics | None
    ) -> None:
        self.roster = Roster()
        self.cases = Cases(operators)
        self.guards = Guards(schema, limits, statistics)
        self.always = NumberSet()
        self.certain = NumberSet()
        self._owner_of = np.zeros(0, np.int64)

    def add(self, bound: Bound, ids: pa.Array, texts: pa.Array) -> range:
        """Takes in those that call operators; gives their cases."""
        first, guarded = len(self.cases.entries), list[GuardedRows]()
        for block in bound.called:
            rows = pa.array(block.rows)
            pairs = zip(ids.take(rows).to_pylist(), texts.take(rows).to_pylist(), strict=True)
            numbers = [self.roster.add(id, text) for id, text in pairs]
            guarded += self.cases.add(block, numbers)
        new = range(first, len(self.cases.entries))
        self._owner_of = reaching(self._owner_of, new.stop, -1)
        for case in new:
            entry = self.cases.entry(case)
            self.roster.own(entry.subscription, case)
            self._owner_of[case] = entry.subscription
            if not entry.shape.is_guarded:
                (self.always if entry.wanted else self.certain).add(case)
        self.guards.add(guarded)
        return new

    def remove(self, ids: Iterable[str]) -> list[int]:
        """All of them are there; gives the cases that are gone."""
        gone = [case for id in ids for case in self.roster.remove(id)]
        self.guards.remove(case for case in gone if self.cases.entry(case).shape.is_guarded)
        for case in gone:
            self.always.discard(case)
            self.certain.discard(case)
        self.cases.remove(gone)
        return gone

    def holders_of(self, patterns: PatternSet) -> Holders | None:
        """The subscriptions that hold the patterns of a set in the guard of a case; None if the set is of no guard."""
        found = self.guards.holders_of(patterns)
        if found is None:
            return None
        pairs = np.unique(np.stack([found[0], self._owner_of[found[1]]]), axis=1)
        return Holders(pairs[0], pairs[1], self.roster)

    @property
    def listed(self) -> bool:
        """True if events differ in the cases that are in question, so that these must be listed for each."""
        return bool(self.guards) or len(self.certain) > 0

    def live(self, count: int, events: Int64s, cases: Int64s, done: Int64s, nodes: Nodes) -> Live | None:
        """Cases in question for each event; None: all for all.

        `done` are pairs of event and subscription that match whatever operators say.
        """
        if not self.listed and len(self.always):
            return None
        every = np.repeat(np.arange(count, dtype=np.int64), len(self.always))
        events = np.concatenate([events, every])
        cases = np.concatenate([cases, np.tile(self.always.array, count)])
        if len(done):
            open_yet = ~np.isin(self.pairs(events, cases), done)
            events, cases = events[open_yet], cases[open_yet]
        order = np.argsort(events, kind="stable")
        counts = np.bincount(events, minlength=count)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
        return Live(offsets, nodes.numbers(cases[order]))

    def pairs(self, events: Int64s, cases: Int64s) -> Int64s:
        """Pairs of event and subscription, as numbers."""
        return events * self.roster.given + self._owner_of[cases]

    def unique(self, events: Int64s, cases: Int64s) -> Matched:
        """Each pair of event and subscription once, with the first case that holds."""
        owners = self._owner_of[cases]
        order = np.lexsort((cases, owners, events))
        events, owners, cases = events[order], owners[order], cases[order]
        first = np.ones(len(events), np.bool_)
        first[1:] = (np.diff(events) != 0) | (np.diff(owners) != 0)
        return events[first], owners[first], cases[first]
