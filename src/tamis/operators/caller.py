"""Operators called on the rows of a batch: failures caught, time limits held, everything counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.operators.answers import UNTOLD, Answer, read_batch, read_scalar
from tamis.operators.definition import Operator
from tamis.operators.health import Health, Tally
from tamis.operators.inputs import Inputs, Rows
from tamis.operators.predicates import Predicate
from tamis.operators.preparing import prepare
from tamis.operators.schedules.truth import TRUE, UNKNOWN
from tamis.operators.supervision import LATE, SUPERVISOR

Truths: TypeAlias = npt.NDArray[np.int8]
Timed: TypeAlias = tuple[list[Answer], float]
"""Answers, and the seconds they took."""

_LATE = Answer(UNKNOWN, failure="took longer than its time limit")
_SHOWN = 300


@dataclass(slots=True)
class Job:
    """A predicate wanted on some rows, and what came of it: an answer a row, and the seconds that calls took."""

    predicate: Predicate
    rows: Rows
    answers: list[Answer] = field(default_factory=list)
    seconds: float = 0.0
    called: int = 0
    """Rows that the operator was really asked about."""

    @property
    def truths(self) -> Truths:
        return np.fromiter((answer.truth for answer in self.answers), np.int8, len(self.answers))


@dataclass(slots=True)
class _Step:
    """One call of a function, about one row or several: positions among the job's rows."""

    job: Job
    places: npt.NDArray[np.int64]
    call: Callable[[], Timed]
    alone: bool


class Caller:
    """Calls the operators of one index. Safe from any thread; so must the operators be if several threads match."""

    def __init__(self, health: Health) -> None:
        self.health = health

    def evaluate(self, jobs: Sequence[Job], inputs: Inputs) -> None:
        """Fills in the answers of all jobs."""
        tallies: dict[str, Tally] = {}
        steps: list[_Step] = []
        for job in jobs:
            steps += self._steps(job, inputs, tallies.setdefault(job.predicate.name, Tally()))
        while steps:
            # A batch that fails is asked about again row by row, so that one bad row does not spoil the others.
            steps = [more for step in self._run(steps, tallies) for more in self._single(step, inputs)]
        for job in jobs:
            tally = tallies[job.predicate.name]
            tally.evaluations += len(job.rows)
            truths = job.truths
            tally.held += int((truths == TRUE).sum())
            tally.unknown += int((truths == UNKNOWN).sum())
            tally.seconds += job.seconds
        for name, tally in tallies.items():
            self.health.add(name, tally)

    def _steps(self, job: Job, inputs: Inputs, tally: Tally) -> list[_Step]:
        """The calls that a job takes; rows that none is made for are answered at once."""
        resolved = job.predicate.resolved
        operator = resolved.operator
        job.answers = [UNTOLD] * len(job.rows)
        fit = np.flatnonzero(inputs.fit(resolved, job.rows))
        tally.absent += len(job.rows) - len(fit)
        if not len(fit):
            return []
        if self.health.is_suspended(operator.name):
            tally.suspended += len(fit)
            return []
        if (failure := self._prepare(operator)) is not None:
            self._fail(job, fit, failure, tally)
            return []
        job.called = len(fit)
        if operator.batch:
            return [self._batch_step(job, fit, inputs)]
        by_position, by_name = job.predicate.given()
        values = inputs.values(resolved, job.rows[fit])
        return [
            _Step(job, fit[k : k + 1], partial(_scalar, job.predicate, (*some, *by_position), by_name), True)
            for k, some in enumerate(values)
        ]

    def _batch_step(self, job: Job, places: npt.NDArray[np.int64], inputs: Inputs) -> _Step:
        by_position, by_name = job.predicate.given()
        arrays = inputs.arrays(job.predicate.resolved, job.rows[places])
        call = partial(_batch, job.predicate, (*arrays, *by_position), by_name, len(places))
        return _Step(job, places, call, len(places) == 1)

    def _single(self, step: _Step, inputs: Inputs) -> list[_Step]:
        return [self._batch_step(step.job, step.places[k : k + 1], inputs) for k in range(len(step.places))]

    def _run(self, steps: list[_Step], tallies: dict[str, Tally]) -> list[_Step]:
        """Makes the calls; gives back the batches that failed as a whole."""
        failed: list[_Step] = []
        limits = {step.job.predicate.resolved.operator.time_limit for step in steps}
        for limit in sorted(limits, key=lambda limit: limit or 0.0):
            left = [step for step in steps if step.job.predicate.resolved.operator.time_limit == limit]
            while left:
                outcomes = _outcomes([step.call for step in left], limit)
                for step, outcome in zip(left, outcomes, strict=False):
                    if not self._take(step, outcome, tallies[step.job.predicate.name]):
                        failed.append(step)
                left = self._unsuspended(left[len(outcomes) :], tallies)
        return self._unsuspended(failed, tallies)

    def _take(self, step: _Step, outcome: Timed | object, tally: Tally) -> bool:
        """Takes an outcome down; false if rows are to be asked about one by one."""
        job, name = step.job, step.job.predicate.name
        tally.calls += 1
        if outcome is LATE:
            job.seconds += job.predicate.resolved.operator.time_limit or 0.0
            self.health.came_late(name)
            tally.last_failure = f"{job.predicate}: {_LATE.failure}"
            if step.alone:
                tally.timeouts += 1
                job.answers[int(step.places[0])] = _LATE
            return step.alone
        answers, seconds = outcome  # type: ignore[misc]
        job.seconds += seconds
        self.health.came_in_time(name)
        if answers[0].failure and not step.alone:
            return False
        for place, answer in zip(step.places.tolist(), answers, strict=True):
            job.answers[place] = answer
            if answer.failure:
                tally.failures += 1
                tally.last_failure = f"{job.predicate}: {answer.failure}"
        return True

    def _unsuspended(self, steps: list[_Step], tallies: dict[str, Tally]) -> list[_Step]:
        """Without the calls of operators that have been suspended in the meantime."""
        kept = []
        for step in steps:
            if self.health.is_suspended(step.job.predicate.name):
                tallies[step.job.predicate.name].suspended += len(step.places)
                step.job.called -= len(step.places)
            else:
                kept.append(step)
        return kept

    def _prepare(self, operator: Operator) -> str | None:
        """Prepares an operator if this process has not; says what went wrong."""
        try:
            prepare(operator)
        except Exception as error:  # noqa: BLE001 - whatever it raises, only its own predicates are unknown
            return f"could not be prepared: {_described(error)}"
        return None

    def _fail(self, job: Job, places: npt.NDArray[np.int64], failure: str, tally: Tally) -> None:
        for place in places.tolist():
            job.answers[place] = Answer(UNKNOWN, failure=failure)
        tally.failures += len(places)
        tally.last_failure = f"{job.predicate}: {failure}"


def _outcomes(calls: list[Callable[[], Timed]], limit: float | None) -> list[Any]:
    return [call() for call in calls] if limit is None else SUPERVISOR.run(calls, limit)


def _scalar(predicate: Predicate, given: Sequence[Any], named: dict[str, Any]) -> Timed:
    began = time.perf_counter()
    try:
        answer = read_scalar(predicate.resolved.operator.function(*given, **named), predicate)
    except Exception as error:  # noqa: BLE001 - an operator may raise anything, and is unknown then
        answer = Answer(UNKNOWN, failure=_described(error))
    return [answer], time.perf_counter() - began


def _batch(predicate: Predicate, given: Sequence[Any], named: dict[str, Any], rows: int) -> Timed:
    began = time.perf_counter()
    try:
        answers = read_batch(predicate.resolved.operator.function(*given, **named), predicate, rows)
    except Exception as error:  # noqa: BLE001 - as above
        answers = [Answer(UNKNOWN, failure=_described(error))] * rows
    return answers, time.perf_counter() - began


def _described(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    text = str(error) if type(error).__name__ == "OperatorError" else text
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
