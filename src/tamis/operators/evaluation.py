"""Evaluation of a batch by a schedule: operators called on the rows that need them, values of variables joined into
substitutions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Int32s, Int64s
from tamis.matching.base.flat_arrays import run_starts
from tamis.operators.asking import Binding
from tamis.operators.caller import Caller, Job
from tamis.operators.cases import Cases, Entry
from tamis.operators.enrolled import Nodes, Siblings
from tamis.operators.health import SUPERVISOR, Course, Tally
from tamis.operators.joining import MOST_STEPS, Fields, Substitutions, TooLargeError
from tamis.operators.predicates import APART
from tamis.operators.schedules import Asked, Live, Run
from tamis.operators.values import Inputs
from tamis.schema import Schema

_Found = TypeVar("_Found")

_NONE = np.zeros(0, np.int32)
SAMPLE = 16
"""Events of a batch whose whole course is shown to the schedule."""


class Evaluation:
    """Evaluation of one batch, by one thread; `stepping` is held whenever the schedule is used."""

    def __init__(
        self, batch: pa.RecordBatch, schema: Schema, cases: Cases, nodes: Nodes, caller: Caller, stepping: Lock
    ) -> None:
        self.inputs = Inputs(batch, schema)
        self._cases = cases
        self._nodes = nodes
        self._caller = caller
        self._stepping = stepping
        self._bindings: dict[tuple[int, int], tuple[Binding, ...]] = {}
        self._too_large: set[tuple[int, int, tuple[int, ...]]] = set()
        self._siblings = Siblings(cases, nodes)

    def run(self, live: Live | None) -> tuple[Int64s, Int64s]:
        """Matches: events, ascending, and beside each a case that holds, among those that are live for it."""
        return self.drive(self._run(live))

    def drive(self, course: Course[_Found]) -> _Found:
        """Drives a course of evaluations to its result, on a thread that can be replaced if a call hangs."""
        return SUPERVISOR.drive(course, self._cases.patience)

    def _run(self, live: Live | None) -> Course[tuple[Int64s, Int64s]]:
        run = self.begin(live)
        while True:
            with self._stepping:
                asked = run.ask()
            if not len(asked):
                break
            yield from self.step(run, asked)
        with self._stepping:
            offsets, numbers = run.matches()
            self.evidence = run.evidence()
        events = np.repeat(np.arange(len(self.inputs), dtype=np.int64), np.diff(offsets))
        return self._joined(events, self._nodes.cases(numbers))

    def begin(self, live: Live | None) -> Run:
        """First requests of the course, when nothing is known yet."""
        self._siblings.begin(live)
        with self._stepping:
            return self._nodes.schedule.begin(len(self.inputs), live, sample=SAMPLE)

    def step(self, run: Run, asked: Asked) -> Course[list[Job]]:
        """Evaluates the requested predicates and tells the run; returns what came of it."""
        jobs = list(self._jobs(*self._nodes.wanted(asked)))
        yield from self._caller.evaluate(jobs, self.inputs)
        numbers = _together([job.numbers for job in jobs])
        events = _together([job.rows for job in jobs]).astype(np.int32)
        truths = _together([job.answers.truths for job in jobs])
        dismissed = self._keep(jobs)
        idle = self._siblings.idle(numbers, events, truths, self.satisfied)
        with self._stepping:
            if len(dismissed[0]):  # before the truths are told, which might make them match
                run.dismiss(*dismissed)
            if len(idle[0]):
                run.dismiss(*idle)
            for said in self._nodes.told(numbers, events, truths):
                run.tell(*said)
            self._time(run, jobs)
        return jobs

    def _jobs(self, numbers: Int32s, events: Int32s) -> Iterator[Job]:
        """Jobs: one per predicate, of either sign; one per kind of calls made together."""
        predicates = self._cases.predicates
        kinds = predicates.kinds(numbers)
        together = kinds != APART
        if together.any():
            order = np.lexsort((events, kinds))[len(numbers) - int(together.sum()) :]  # `APART` is below all kinds
            for begin, end in _runs(kinds[order]):
                some = order[begin:end]
                wanted = numbers[some]
                yield Job(predicates.listed(wanted.tolist()), wanted, events[some].astype(np.int64))
            if together.all():
                return
            numbers, events = numbers[~together], events[~together]
        rows = events.astype(np.int64)
        for begin, end in _runs(numbers):
            rows[begin:end].sort()
            yield Job([predicates[int(numbers[begin])]], numbers[begin:end], rows[begin:end])

    def _keep(self, jobs: Sequence[Job]) -> tuple[Int32s, Int32s]:
        """Keeps the bindings; returns the pairs of event and schedule's number that these decide against."""
        rows, numbers = [_NONE], [_NONE]
        for job in jobs:
            for place, bindings in job.answers.bindings.items():
                row, predicate = int(job.rows[place]), job.predicate(place).number
                self._bindings[predicate, row] = bindings
                checks = self._cases.checks.get(predicate)
                if checks:
                    numbers.append(self._nodes.numbers(checks.failing(bindings, self.fields(row))))
                    rows.append(np.full(len(numbers[-1]), row, np.int32))
        return _together(rows), _together(numbers)

    def _time(self, run: Run, jobs: Sequence[Job]) -> None:
        """Reports the duration of calls, of operators whose cost is learned."""
        for job in jobs:
            if job.called and job.operator.cost is None:
                # Within a call nothing tells one predicate's time from another's.
                numbers, counts = np.unique(job.numbers[job.asked], return_counts=True)
                costs = 1000 * job.seconds * counts / len(job.asked)
                for nodes, there in self._nodes.both(numbers):
                    run.spent(nodes, counts[there], costs[there])

    def _joined(self, events: Int64s, cases: Int64s) -> tuple[Int64s, Int64s]:
        """Pairs, of those whose calls all hold, whose bindings can be joined."""
        keep = np.ones(len(events), np.bool_)
        for place, (row, case) in enumerate(zip(events.tolist(), cases.tolist(), strict=True)):
            entry = self._cases.entry(case)
            if entry.shape.binds:
                keep[place] = self.holds(row, entry)
        return events[keep], cases[keep]

    def holds(self, row: int, entry: Entry) -> bool:
        """True if a case holds whose calls all hold for this event."""
        return not entry.join.joins or self._tried(row, entry, entry.join.holds) is True

    def satisfied(self, row: int, entry: Entry) -> bool:
        """True as `holds`, where it is not known yet if each call's own constraints do."""
        return self._tried(row, entry, entry.join.holds) is True

    def substitutions(self, row: int, entry: Entry) -> Substitutions | None:
        """Substitutions of a case whose calls all hold for this event."""
        return self._tried(row, entry, entry.join.substitutions)

    def _tried(
        self, row: int, entry: Entry, join: Callable[[Sequence[Sequence[Binding]], Fields], _Found]
    ) -> _Found | None:
        """Result of a join; None, and one log entry, if it grows too large."""
        key = (row, entry.subscription, entry.wanted)
        if key in self._too_large:
            return None
        try:
            return join([self._bindings.get((predicate, row), ()) for predicate in entry.wanted], self.fields(row))
        except TooLargeError:
            self._too_large.add(key)
            message = f"bindings joined with others' come to more than {MOST_STEPS:,} combinations"
            binding = (self._cases.predicates[predicate] for predicate in entry.wanted)
            for name in {predicate.name for predicate in binding if predicate.variables}:
                self._caller.health.add(name, Tally(too_large=1, last_failure=f"{name}: {message}"))
            return None

    def fields(self, row: int) -> Fields:
        """Values of one event that constraints compare with."""
        return partial(self.inputs.field, row)


def _runs(numbers: Int32s) -> Iterator[tuple[int, int]]:
    """Beginning and end of each run of equal numbers."""
    bounds = [*run_starts(numbers).tolist(), len(numbers)]
    return pairwise(bounds)


def _together(arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
