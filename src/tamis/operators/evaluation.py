"""A batch of events taken through a schedule: operators called on the rows that need them, bindings joined."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.operators.answers import Binding
from tamis.operators.caller import Caller, Job
from tamis.operators.cases import Cases, Entry
from tamis.operators.constraints import Fields
from tamis.operators.inputs import Inputs
from tamis.operators.joining import Substitutions, TooLargeError
from tamis.operators.nodes import Nodes
from tamis.operators.schedules import Asked, Live, Run
from tamis.operators.schedules.truth import TRUE, UNKNOWN
from tamis.operators.siblings import Siblings
from tamis.schema import Schema

Int32s: TypeAlias = npt.NDArray[np.int32]
Int64s: TypeAlias = npt.NDArray[np.int64]

SAMPLE = 16
"""Events of a batch whose whole course is shown to the schedule."""


@dataclass(slots=True)
class Observed:
    """What a batch has shown of one predicate."""

    evaluated: int = 0
    held: int = 0
    timed: int = 0
    milliseconds: float = 0.0


class Evaluation:
    """The course of one batch. Made and used by one thread; `stepping` is held whenever the schedule is spoken to."""

    def __init__(
        self, batch: pa.RecordBatch, schema: Schema, cases: Cases, nodes: Nodes, caller: Caller, stepping: Lock
    ) -> None:
        self.inputs = Inputs(batch, schema)
        self.observed: dict[int, Observed] = {}
        self.too_large = 0
        """Cases given up because their joins grew too large."""
        self._cases = cases
        self._nodes = nodes
        self._caller = caller
        self._stepping = stepping
        self._bindings: dict[tuple[int, int], tuple[Binding, ...]] = {}
        self._siblings = Siblings(cases, nodes)

    def run(self, live: Live | None) -> tuple[Int64s, Int64s]:
        """Events, ascending, and beside each a case that holds, among those that are live for it."""
        run = self.begin(live)
        while True:
            with self._stepping:
                asked = run.ask()
            if not len(asked):
                break
            self.step(run, asked)
        with self._stepping:
            offsets, numbers = run.matches()
            self.evidence = run.evidence()
        events = np.repeat(np.arange(len(self.inputs), dtype=np.int64), np.diff(offsets))
        return self._joined(events, self._nodes.cases(numbers))

    def begin(self, live: Live | None) -> Run:
        """The beginning of the course, where nothing is known yet."""
        self._siblings.begin(live)
        with self._stepping:
            return self._nodes.schedule.begin(len(self.inputs), live, sample=SAMPLE)

    def step(self, run: Run, asked: Asked) -> list[Job]:
        """Evaluates what is asked for and tells the run; gives what came of it."""
        jobs = self._jobs(asked)
        self._caller.evaluate(jobs, self.inputs)
        for job in jobs:
            events, truths = job.rows.astype(np.int32), job.truths
            dismissed = self._keep(job, truths)
            idle = self._siblings.idle(job.predicate.number, job.rows, truths, self.substitutions)
            self._observe(job, truths)
            with self._stepping:
                if len(dismissed[0]):  # before the truths are told, which might make them match
                    run.dismiss(*dismissed)
                if len(idle[0]):
                    run.dismiss(*idle)
                for said in self._nodes.told(job.predicate.number, events, truths):
                    run.tell(*said)
                    if job.called and job.predicate.resolved.operator.cost is None:
                        run.spent(int(said[1][0]), job.called, 1000 * job.seconds)
        return jobs

    def _jobs(self, asked: Asked) -> list[Job]:
        """A job a predicate, whether its truth or its untruth is wanted."""
        wanted: dict[int, list[npt.NDArray[np.int32]]] = {}
        for place, node in enumerate(asked.predicates.tolist()):
            events = asked.events[asked.offsets[place] : asked.offsets[place + 1]]
            wanted.setdefault(self._nodes.predicate(node), []).append(events)
        predicates = self._cases.predicates
        return [
            Job(predicates[number], np.unique(np.concatenate(events)).astype(np.int64))
            for number, events in wanted.items()
        ]

    def _keep(self, job: Job, truths: npt.NDArray[np.int8]) -> tuple[Int32s, Int32s]:
        """Keeps the bindings; gives the pairs of event and schedule's number that these decide against."""
        rows, numbers = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        checks = self._cases.checks.get(job.predicate.number)
        if not job.predicate.variables:
            return rows[0], numbers[0]
        for place in np.flatnonzero(truths == TRUE).tolist():
            row, bindings = int(job.rows[place]), job.answers[place].bindings
            self._bindings[job.predicate.number, row] = bindings
            if checks:
                numbers.append(self._nodes.numbers(checks.failing(bindings, self.fields(row))))
                rows.append(np.full(len(numbers[-1]), row, np.int32))
        return np.concatenate(rows), np.concatenate(numbers)

    def _observe(self, job: Job, truths: npt.NDArray[np.int8]) -> None:
        seen = self.observed.setdefault(job.predicate.number, Observed())
        seen.evaluated += int((truths != UNKNOWN).sum())
        seen.held += int((truths == TRUE).sum())
        seen.timed += job.called
        seen.milliseconds += 1000 * job.seconds

    def _joined(self, events: Int64s, cases: Int64s) -> tuple[Int64s, Int64s]:
        """Of the pairs whose calls all hold, those whose bindings can be joined."""
        keep = np.ones(len(events), np.bool_)
        for place, (row, case) in enumerate(zip(events.tolist(), cases.tolist(), strict=True)):
            entry = self._cases.entry(case)
            if entry.shape.binds and entry.join.joins:
                keep[place] = self.substitutions(row, entry) is not None
        return events[keep], cases[keep]

    def substitutions(self, row: int, entry: Entry) -> Substitutions | None:
        """What satisfies a case whose calls all hold for this event."""
        bindings = [self._bindings.get((predicate, row), ()) for predicate in entry.wanted]
        try:
            return entry.join.substitutions(bindings, self.fields(row))
        except TooLargeError:
            self.too_large += 1
            return None

    def fields(self, row: int) -> Fields:
        """What constraints compare with, of one event."""
        return partial(self.inputs.field, row)
