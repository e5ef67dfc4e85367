"""Registry of subscriptions that call operators: texts, cases and guards, the schedule over the cases, and the
alternatives still open in a batch.

To a schedule, a case is a subscription, and a predicate that must hold and one that must not are two; evaluating a
predicate decides both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Int8s, Int32s, Int64s
from tamis.language import Bound, Limits
from tamis.matching.base.flat_arrays import NumberSet, reaching
from tamis.matching.base.statistics import Statistics
from tamis.matching.codes.holders import Holders
from tamis.matching.patterns import PatternSet
from tamis.operators.cases import Cases, Entry
from tamis.operators.guards import GuardedRows, Guards
from tamis.operators.learning import Learned
from tamis.operators.registry import Resolved
from tamis.operators.schedules import Asked, Evidence, Live, Problem, Schedule, schedule
from tamis.operators.schedules.problem import FALSE, TRUE, UNKNOWN
from tamis.schema import Schema

NONE = -1


class Nodes:
    """Schedule over the cases that call something, with the mapping between their numbers and its own.

    `_node_of[sign][p]` is the node that says that predicate p holds (sign 0), or does not (1); `NONE`: nobody wants it.
    In reverse, node n is about predicate `_predicate_of[n]` and has the sign `_negated[n]`.
    """

    def __init__(self, name: str, cases: Cases, learned: Learned) -> None:
        """Builds the schedule of all present cases."""
        self._cases = cases
        self._learned = learned
        self._node_of = [np.full(len(cases.predicates), NONE, np.int32) for _ in range(2)]
        self._count = 0
        self._predicate_of = np.zeros(0, np.int32)
        self._negated = np.zeros(0, np.bool_)
        calling = [case for case, entry in enumerate(cases.entries) if entry is not None and entry.wanted]
        listed = [cases.entry(case).literals for case in calling]
        signed = list(dict.fromkeys(literal for literals in listed for literal in literals))
        node_of = {literal: node for node, literal in enumerate(signed)}
        for literal in signed:
            self._add_node(literal)
        self._case_of = np.array(calling, np.int64)
        self._number_of = np.full(len(cases.entries), NONE, np.int32)
        self._number_of[self._case_of] = np.arange(len(calling))
        cost, selectivity = self._beliefs(range(self._count))
        members = [[node_of[literal] for literal in literals] for literals in listed]
        self.schedule: Schedule = schedule(name, Problem.of(members, selectivity, cost))

    def _add_node(self, literal: tuple[int, bool]) -> int:
        predicate, negated = literal
        node = self._count
        self._count += 1
        self._node_of = [reaching(nodes, predicate, NONE) for nodes in self._node_of]
        self._predicate_of, self._negated = (
            reaching(self._predicate_of, node, NONE),
            reaching(self._negated, node, NONE),
        )
        self._node_of[negated][predicate] = node
        self._predicate_of[node], self._negated[node] = predicate, negated
        return node

    @property
    def learns(self) -> bool:
        """True if the schedule learns from evidence."""
        return type(self.schedule).learn is not Schedule.learn

    def _node(self, literal: tuple[int, bool]) -> int:
        nodes = self._node_of[literal[1]]
        known = int(nodes[literal[0]]) if literal[0] < len(nodes) else NONE
        return self._add_node(literal) if known == NONE else known

    def _beliefs(self, nodes: range) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        self._learned.grow(len(self._cases.predicates))
        predicates = self._cases.predicates.listed(self._predicate_of[nodes.start : nodes.stop].tolist())
        cost = np.array([self._learned.cost(predicate) for predicate in predicates], np.float64)
        likely = self._learned.selectivity(predicates)
        return cost, np.where(self._negated[nodes.start : nodes.stop], 1 - likely, likely)

    def insert(self, case: int, entry: Entry) -> None:
        """Inserts a new case; one without calls needs no schedule."""
        if not entry.wanted:
            return
        before = self._count
        members = [self._node(literal) for literal in entry.literals]
        cost, selectivity = self._beliefs(range(before, self._count))
        for some_cost, likely in zip(cost.tolist(), selectivity.tolist(), strict=True):
            self.schedule.add_predicate(some_cost, likely)
        number = self.schedule.insert(members)
        self._case_of = reaching(self._case_of, number, NONE)
        self._number_of = reaching(self._number_of, case, NONE)
        self._case_of[number], self._number_of[case] = case, number

    def delete(self, case: int) -> None:
        if self.number(case) != NONE:
            self.schedule.delete(self.number(case))
            self._number_of[case] = NONE

    def number(self, case: int) -> int:
        """Schedule's number of a case; `NONE` if it calls nothing."""
        return int(self._number_of[case]) if case < len(self._number_of) else NONE

    def numbers(self, cases: npt.NDArray[np.int64]) -> Int32s:
        """Schedule's numbers of cases that call something."""
        return self._number_of[cases]

    def cases(self, numbers: Int32s) -> npt.NDArray[np.int64]:
        return self._case_of[numbers]

    def wanted(self, asked: Asked) -> tuple[Int32s, Int32s]:
        """Predicates to evaluate, and beside each an event; no pair comes twice."""
        events, nodes = asked.pairs
        predicates = self._predicate_of[nodes]
        if self._negated[nodes].any():  # what wants it true and what wants it false are asked about apart
            order = np.lexsort((events, predicates))
            events, predicates = events[order], predicates[order]
            new = np.ones(len(events), np.bool_)
            new[1:] = (events[1:] != events[:-1]) | (predicates[1:] != predicates[:-1])
            events, predicates = events[new], predicates[new]
        return predicates, events

    def told(self, predicates: Int32s, events: Int32s, truths: Int8s) -> Iterator[tuple[Int32s, Int32s, Int8s]]:
        """Truths of predicates for their nodes: events, nodes and truths beside each other."""
        for nodes, there in self.both(predicates):
            known = np.where(truths == UNKNOWN, truths, 1 - truths) if self._negated[nodes[0]] else truths
            yield (events, nodes, known) if len(nodes) == len(events) else (events[there], nodes, known[there])

    def both(self, predicates: Int32s) -> Iterator[tuple[Int32s, npt.NDArray[np.bool_]]]:
        """Nodes of predicates, of either sign, and a mask of the predicates that have them."""
        for node_of in self._node_of:
            nodes = node_of[predicates]
            there = nodes != NONE
            if there.any():
                yield nodes[there], there

    def shown(self, evidence: Evidence) -> tuple[Int32s, npt.NDArray[np.float64]]:
        """Evidence by predicate: how often each was evaluated, held, and was timed, and what that cost."""
        nodes = evidence.predicates
        predicates, negated = self._predicate_of[nodes], self._negated[nodes]
        held = np.where(negated, evidence.evaluated - evidence.held, evidence.held)
        counts = np.array([evidence.evaluated, held, evidence.timed, evidence.spent], np.float64)
        once = ~negated | (self._node_of[0][predicates] == NONE)  # where both are wanted, both were told
        return predicates[once], counts[:, once]


# Cases of one subscription: once one of them holds, the others need no more evaluations.

_NONE = np.zeros(0, np.int32)


class Siblings:
    """State, for one batch, of subscriptions that have several cases with calls: one that holds is enough."""

    def __init__(self, cases: Cases, nodes: Nodes) -> None:
        self._cases = cases
        self._nodes = nodes
        self._truths: dict[tuple[int, int], int] = {}
        self._live: set[tuple[int, int]] | None = None
        self._matched: set[tuple[int, int]] = set()

    def begin(self, live: Live | None) -> None:
        """Cases in question for each event; None: all for all."""
        if live is not None and self._cases.siblings:
            cases = self._nodes.cases(live.subscriptions)
            chosen = self._cases.several(cases)
            events = np.repeat(np.arange(len(live.offsets) - 1), np.diff(live.offsets))[chosen]
            self._live = set(zip(events.tolist(), cases[chosen].tolist(), strict=True))

    def idle(
        self,
        predicates: Int32s,
        rows: Int32s,
        truths: npt.NDArray[np.int8],
        satisfied: Callable[[int, Entry], bool],
    ) -> tuple[Int32s, Int32s]:
        """Events and schedule's numbers of cases that need no more, given the new truths of predicates."""
        events, idle = list[int](), list[int]()
        if not self._cases.alternative:
            return _NONE, _NONE
        for predicate, row, truth in zip(predicates.tolist(), rows.tolist(), truths.tolist(), strict=True):
            for case in self._wanting(predicate, row, truth):
                entry = self._cases.entry(case)
                if self._holds_first(case, entry, row, satisfied):
                    self._matched.add((row, entry.subscription))
                    others = [other for other in self._cases.siblings[entry.subscription] if other != case]
                    events += [row] * len(others)
                    idle += others
        return np.array(events, np.int32), self._nodes.numbers(np.array(idle, np.int64))

    def _wanting(self, predicate: int, row: int, truth: int) -> Iterable[int]:
        """Cases that may hold now that this is known."""
        wanting = self._cases.alternative.get(predicate, ())
        if wanting:
            self._truths[predicate, row] = truth
        return wanting

    def _holds_first(self, case: int, entry: Entry, row: int, satisfied: Callable[[int, Entry], bool]) -> bool:
        """True if a case holds, and is the first of its subscription that does."""
        if (self._live is not None and (row, case) not in self._live) or (row, entry.subscription) in self._matched:
            return False
        wanted = ((predicate, FALSE if negated else TRUE) for predicate, negated in entry.literals)
        if not all(self._truths.get((predicate, row)) == truth for predicate, truth in wanted):
            return False
        return not entry.shape.binds or satisfied(row, entry)


# Subscriptions of an operator matcher as cases, and the cases in question for each event.


class Roster:
    """Subscriptions by number: ids, texts and cases. Numbers are given in order and not reused."""

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
        """Count of numbers given, those of removed subscriptions included."""
        return len(self._ids)

    @property
    def names(self) -> pa.Array:
        """Ids by number, also of removed subscriptions."""
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
        """Removes a subscription; returns its cases."""
        number = self._numbers.pop(id)
        cases, self._cases[number], self._texts[number] = self._cases[number], [], ""
        return cases

    def own(self, subscription: int, case: int) -> None:
        """Notes that a case is one of this subscription's."""
        self._cases[subscription].append(case)

    def cases(self, id: str) -> list[int]:
        return self._cases[self._numbers[id]]

    def text(self, id: str) -> str:
        return self._texts[self._numbers[id]]

    def find(self, id: str) -> int | None:
        """Number of a subscription that is present; None if it is not."""
        return self._numbers.get(id)

    def id_of(self, number: int) -> str:
        return self._ids[number]


Matched = tuple[Int64s, Int64s, Int64s]
"""Events, ascending, and beside each a subscription's number and the case of it that holds."""


class Enrolled:
    """Registered subscriptions by number; their cases, each with its owner; and the guards evaluated before any call.

    `always` are cases that have no guard, `certain` those that hold for every event. Changed by one thread while no
    other reads.
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
        """Adds the subscriptions that call operators; returns their cases."""
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
        """Removes subscriptions, all of them present; returns their cases."""
        gone = [case for id in ids for case in self.roster.remove(id)]
        self.guards.remove(case for case in gone if self.cases.entry(case).shape.is_guarded)
        for case in gone:
            self.always.discard(case)
            self.certain.discard(case)
        self.cases.remove(gone)
        return gone

    def holders_of(self, patterns: PatternSet) -> Holders | None:
        """Subscriptions that hold the patterns of a set in the guard of a case; None if the set is of no guard."""
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
