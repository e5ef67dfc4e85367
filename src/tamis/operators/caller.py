"""Caller of operators on the rows of a batch: prepares them, catches failures, keeps time limits, counts calls."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tamis.arrays import Int64s
from tamis.operators.asking import Answer, Answers, ask, ask_many, failure_of, patience
from tamis.operators.health import LATE, Calls, Course, Health, Tally
from tamis.operators.predicates import Predicate
from tamis.operators.registry import Operator
from tamis.operators.schedules.problem import TRUE, UNKNOWN
from tamis.operators.values import Inputs

# Preparation of operators: once per process, however many indexes call them.

LONGEST: Final = 300.0
"""Seconds that are waited for an operator to be ready, where its calls have a limit too."""

_LOCK = threading.Lock()
_ATTEMPTS: WeakKeyDictionary[Operator, _Attempt] = WeakKeyDictionary()


class _Attempt:
    """One run of an operator's preparation, which any number of threads may wait for.

    `late`: a thread has waited in vain, and none does so again; if the run ends after all, the operator is ready.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self.late = False
        self._work = work

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            self.error = error
        self.ended.set()


def prepare(operator: Operator) -> None:
    """Prepares the operator unless that is done; if that raises, so does this, and the next call tries again.

    TimeoutError: it takes longer than `LONGEST`. An operator whose calls have no time limit has none here either.
    """
    if operator.prepare is None:
        return
    with _LOCK:
        attempt = _ATTEMPTS.get(operator)
        if begins := attempt is None:
            attempt = _ATTEMPTS[operator] = _Attempt(operator.prepare)
    if begins and operator.time_limit is None:
        attempt.run()
    elif begins:
        threading.Thread(target=attempt.run, name="tamis-preparing", daemon=True).start()
    if not attempt.ended.wait(_patience(operator, attempt)):
        attempt.late = True
        raise TimeoutError(f"it was not ready after {LONGEST:g} seconds")
    if attempt.error is not None:
        with _LOCK:
            if _ATTEMPTS.get(operator) is attempt:
                del _ATTEMPTS[operator]
        raise attempt.error


def _patience(operator: Operator, attempt: _Attempt) -> float | None:
    if operator.time_limit is None:
        return None
    return 0.0 if attempt.late else LONGEST


def _begin_anew() -> None:
    """Forgets, in a forked process, the preparations that other threads of the parent were running."""
    global _LOCK
    # The old one may be held by a thread that is not here.
    _LOCK = threading.Lock()
    for operator in [operator for operator, attempt in _ATTEMPTS.items() if not attempt.ended.is_set()]:
        del _ATTEMPTS[operator]


os.register_at_fork(after_in_child=_begin_anew)


_LATE = Answer(UNKNOWN, failure="took longer than its time limit")


@dataclass(slots=True)
class Job:
    """Rows on which an operator is wanted, with its answers: one per row, and the seconds that calls took.

    `predicates` is one for all rows or, of an operator that takes calls together, one for each, all of a kind.
    """

    predicates: Sequence[Predicate]
    numbers: npt.NDArray[np.int32]
    """Of the predicate wanted on each row."""
    rows: Int64s
    answers: Answers = field(init=False)
    seconds: float = 0.0
    asked: Int64s = field(init=False)
    """Those rows that have what the operator reads."""
    called: bool = False

    def __post_init__(self) -> None:
        self.answers = Answers.none(len(self.rows))
        self.asked = np.zeros(0, np.int64)

    @property
    def operator(self) -> Operator:
        return self.predicates[0].resolved.operator

    def predicate(self, place: int) -> Predicate:
        """Predicate that is wanted on a row."""
        return self.predicates[place if len(self.predicates) > 1 else 0]

    def wanted(self, places: Int64s) -> Sequence[Predicate]:
        """Predicates that are wanted on some rows."""
        if len(self.predicates) == 1 or len(places) == len(self.predicates):
            return self.predicates
        return [self.predicates[place] for place in places.tolist()]


@dataclass(slots=True)
class _Step:
    """One call of a function, about one row or several."""

    job: Job
    places: Int64s
    limit: float | None
    """Seconds after which it is given up."""
    call: Callable[[], Any]


class Caller:
    """Caller of one index's operators. Thread-safe; so must the operators be if several threads match."""

    def __init__(self, health: Health) -> None:
        self.health = health

    def evaluate(self, jobs: Sequence[Job], inputs: Inputs) -> Course[None]:
        """Fills in the answers of all jobs; a course, for the thread that drives it makes the calls."""
        tallies: dict[str, Tally] = {}
        steps: list[_Step] = []
        for job in jobs:
            steps += self._steps(job, inputs, tallies.setdefault(job.operator.name, Tally()))
        while steps:
            # A batch that fails is asked about again row by row, so that one bad row does not spoil the others.
            failed = yield from self._run(steps, tallies)
            steps = [more for step in failed for more in self._single(step, inputs)]
        for job in jobs:
            tally = tallies[job.operator.name]
            counts = np.bincount(job.answers.truths, minlength=UNKNOWN + 1)
            tally.evaluations += len(job.rows)
            tally.held += int(counts[TRUE])
            tally.unknown += int(counts[UNKNOWN])
            tally.seconds += job.seconds
        for name, tally in tallies.items():
            self.health.add(name, tally)

    def _steps(self, job: Job, inputs: Inputs, tally: Tally) -> list[_Step]:
        """Calls that a job takes; rows without a call stay unknown."""
        resolved, operator = job.predicates[0].resolved, job.operator
        fit = inputs.fit(resolved, job.rows)
        tally.absent += len(job.rows) - len(fit)
        if not len(fit):
            return []
        if self.health.is_suspended(operator.name):
            tally.suspended += len(fit)
            return []
        if (failure := self._prepare(operator)) is not None:
            self._fail(job, fit, failure, tally)
            return []
        job.asked, job.called = fit, True
        if operator.batch:
            return [self._batch_step(job, fit, inputs)]
        values = inputs.values(resolved, job.rows[fit])
        predicate = job.predicates[0]
        limit = patience(operator)
        return [_Step(job, fit[k : k + 1], limit, partial(ask, predicate, some)) for k, some in enumerate(values)]

    def _batch_step(self, job: Job, places: Int64s, inputs: Inputs) -> _Step:
        arrays = inputs.arrays(job.predicates[0].resolved, job.rows[places])
        return _Step(job, places, patience(job.operator), partial(ask_many, job.wanted(places), arrays, len(places)))

    def _single(self, step: _Step, inputs: Inputs) -> list[_Step]:
        return [self._batch_step(step.job, step.places[k : k + 1], inputs) for k in range(len(step.places))]

    def _run(self, steps: list[_Step], tallies: dict[str, Tally]) -> Course[list[_Step]]:
        """Has the calls made; returns the batches that failed as a whole."""
        failed: list[_Step] = []
        by_limit: dict[float | None, list[_Step]] = {}
        for step in steps:
            by_limit.setdefault(step.limit, []).append(step)
        for limit, left in sorted(by_limit.items(), key=lambda item: item[0] or 0.0):
            while left:
                outcomes = yield Calls([step.call for step in left], limit)
                for step, outcome in zip(left, outcomes, strict=False):
                    if not self._take(step, outcome, tallies[step.job.operator.name]):
                        failed.append(step)
                left = self._unsuspended(left[len(outcomes) :], tallies)
        return self._unsuspended(failed, tallies)

    def _take(self, step: _Step, outcome: Any, tally: Tally) -> bool:
        """Records an outcome; returns False if the rows are to be asked about one by one."""
        job, alone = step.job, len(step.places) == 1
        tally.calls += 1
        if outcome is LATE:
            answers: Answer | Answers | str = _LATE
            job.seconds += job.operator.time_limit or 0.0
            self.health.came_late(job.operator.name)
            tally.timeouts += alone
        else:
            answers, seconds = outcome
            job.seconds += seconds
            self.health.came_in_time(job.operator.name)
        if isinstance(answers, Answers):
            job.answers.take(step.places, answers)
            return True
        answer = Answer(UNKNOWN, failure=answers) if isinstance(answers, str) else answers
        if answer.failure:
            tally.last_failure = f"{job.predicate(int(step.places[0]))}: {answer.failure}"
            tally.failures += alone and outcome is not LATE
        if alone:
            job.answers.set(int(step.places[0]), answer)
        return alone

    def _unsuspended(self, steps: list[_Step], tallies: dict[str, Tally]) -> list[_Step]:
        """Calls without those of operators that have been suspended in the meantime."""
        kept = []
        for step in steps:
            if self.health.is_suspended(step.job.operator.name):
                tallies[step.job.operator.name].suspended += len(step.places)
            else:
                kept.append(step)
        return kept

    def _prepare(self, operator: Operator) -> str | None:
        """Prepares an operator if this process has not; returns the failure, if there was one."""
        try:
            prepare(operator)
        except BaseException as error:  # noqa: BLE001 - whatever it raises, only its own predicates are unknown
            return f"could not be prepared: {failure_of(error)}"
        return None

    def _fail(self, job: Job, places: Int64s, failure: str, tally: Tally) -> None:
        for place in places.tolist():
            job.answers.set(place, Answer(UNKNOWN, failure=failure))
        tally.failures += len(places)
        tally.last_failure = f"{job.predicate(int(places[0]))}: {failure}"
