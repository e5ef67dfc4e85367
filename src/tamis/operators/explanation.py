"""Explanation of a subscription that calls operators: predicates evaluated on an event, their order and effect, and
verdicts on each condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tamis.language.calls import Call, Constraint, Variable, variables_of
from tamis.language.cutting import fill_called, fill_conjunct
from tamis.matching.conditions import print_as_written
from tamis.matching.explanation import Explanation, State, Verdict, Verdicts
from tamis.operators.asking import Answer
from tamis.operators.caller import Job
from tamis.operators.cases import Cases, Entry
from tamis.operators.enrolled import NONE, Nodes
from tamis.operators.evaluation import Evaluation
from tamis.operators.health import Course as Driven
from tamis.operators.joining import Substitutions, TooLargeError, plan
from tamis.operators.predicates import Predicate, variables_in_order
from tamis.operators.schedules import Live
from tamis.operators.schedules.problem import FALSE, TRUE, UNKNOWN
from tamis.operators.values import outside
from tamis.schema import Schema

Truth = Literal["true", "false", "unknown"]
TRUTHS: dict[int, Truth] = {TRUE: "true", FALSE: "false", UNKNOWN: "unknown"}
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Step:
    """One evaluation: its result, the bindings of the predicate's variables, and how many cases it decided against.

    `concerned`: the subscription that is explained wants this predicate.
    """

    predicate: str
    truth: Truth
    bindings: tuple[Mapping[str, Any], ...]
    failure: str
    milliseconds: float
    eliminated: int
    concerned: bool

    def __str__(self) -> str:
        bound = "; ".join(", ".join(f"{n} = {v!r}" for n, v in one.items()) for one in self.bindings[:_SHOWN])
        more = f"; ... {len(self.bindings)} in all" if len(self.bindings) > _SHOWN else ""
        why = f"{bound}{more}" or self.failure
        said = f"{self.truth}: {why}" if why else self.truth
        decided = f", decides against {self.eliminated:,}" if self.eliminated else ""
        return f"{self.predicate} is {said}{decided}"


@dataclass(frozen=True, slots=True)
class CourseExplanation(Explanation):
    """Explanation with the evaluations of the event: `steps`, of which `in_question` cases were the reason.

    A case is an alternative of a subscription's filter.
    """

    steps: tuple[Step, ...] = ()
    in_question: int = 0
    variables: Mapping[str, Any] | None = None
    substitutions: int = 0

    def __str__(self) -> str:
        return f"{Explanation.__str__(self)}\n{self.course}"

    @property
    def course(self) -> str:
        """Text on the bindings of the variables, and the evaluations."""
        lines = []
        if self.variables:
            bound = ", ".join(f"?{name} = {value!r}" for name, value in self.variables.items())
            lines.append(f"with {bound}" + (f" (of {self.substitutions:,})" if self.substitutions > 1 else ""))
        own = [(place, step) for place, step in enumerate(self.steps, 1) if step.concerned]
        others = len(self.steps) - len(own)
        besides = f", {others:,} of them for others only" if others else ""
        counted = f"{len(self.steps):,} evaluation{'s' * (len(self.steps) != 1)}"
        lines.append(f"{counted} for {self.in_question:,} in question{besides}")
        lines += [f"  {place}. {step}" for place, step in own]
        return "\n".join(lines)


class Course:
    """Evaluation of one event by a schedule, step by step. `live` are the cases in question."""

    def __init__(
        self, evaluation: Evaluation, cases: Cases, nodes: Nodes, live: npt.NDArray[np.int64], schema: Schema
    ) -> None:
        self._evaluation = evaluation
        self._cases = cases
        self._nodes = nodes
        self._live = live
        self._schema = schema
        self.answers: dict[int, Answer] = {}
        self.jobs: list[tuple[Job, int]] = []

    def run(self, own: Sequence[int]) -> None:
        """Evaluates until the subscription whose cases these are is decided."""
        self._evaluation.drive(self._run(own))

    def _run(self, own: Sequence[int]) -> Driven[None]:
        calling = self._live[self._nodes.numbers(self._live) != NONE]
        left = {int(case) for case in calling}
        wanting: dict[int, list[int]] = {}
        for case in left:
            for predicate in self._cases.entry(case).wanted:
                wanting.setdefault(predicate, []).append(case)
        offsets = np.array([0, len(calling)], np.int64)
        run = self._evaluation.begin(Live(offsets, self._nodes.numbers(calling)))
        while self._is_open(own, left) and len(asked := run.ask()):
            for job in (yield from self._evaluation.step(run, asked)):
                number = job.predicates[0].number
                self.answers[number] = job.answers[0]
                gone = {case for case in wanting[number] if case in left and not self._stands(case, number)}
                left -= gone
                self.jobs.append((job, len(gone)))

    def _is_open(self, own: Sequence[int], left: set[int]) -> bool:
        """True if some case has yet to be decided, and none holds."""
        mine = [self._cases.entry(case) for case in own if case in left]
        known = [all(predicate in self.answers for predicate in entry.wanted) for entry in mine]
        held = (self._evaluation.satisfied(0, entry) for entry, told in zip(mine, known, strict=True) if told)
        return not all(known) and not any(held)

    def _stands(self, case: int, predicate: int) -> bool:
        """True if a case is still in question after the answer on a predicate."""
        entry, answer = self._cases.entry(case), self.answers[predicate]
        for place, (wanted, call) in enumerate(zip(entry.wanted, entry.shape.calls, strict=True)):
            if wanted == predicate:
                if answer.truth != (FALSE if call.negated else TRUE):
                    return False
                if not call.negated and not self._locally(entry, place, answer):
                    return False
        return True

    def _locally(self, entry: Entry, place: int, answer: Answer) -> bool:
        """True if some binding of a call satisfies the constraints that it decides by itself."""
        own = [one for where, _, some in entry.shape.local if where == place for one in some]
        alone = plan([entry.shape.calls[place]], [fill_called(one, entry.values) for one in own], {})
        return not own or alone.holds([answer.bindings], self._evaluation.fields(0))

    def explained(self, own: Sequence[int], values: Mapping[str, list[Any]]) -> CourseExplanation:
        """Explanation for one subscription, whose cases these are, on an event with these values."""
        judging = Judging(self._evaluation, self.answers, self._cases, Verdicts(values, self._schema))
        entries = {case: self._cases.entry(case) for case in own}
        live = set(self._live.tolist())
        concerned = {predicate for entry in entries.values() for predicate in entry.wanted}
        alternatives: list[tuple[Verdict, ...]] = []
        found: Substitutions | None = None
        for case, entry in entries.items():
            alternatives += judging.alternatives(entry)
            if found is None and case in live:
                found = judging.substitutions(entry)
        return CourseExplanation(
            found is not None,
            tuple(alternatives),
            tuple(_step(job, gone, job.predicates[0].number in concerned) for job, gone in self.jobs),
            len(live),
            None if found is None else {name: outside(value) for name, value in found.first.items()},
            0 if found is None else found.count,
        )


def _step(job: Job, eliminated: int, concerned: bool) -> Step:
    answer, predicate = job.answers[0], job.predicates[0]
    names = [f"?x{number + 1}" for number in range(predicate.variables)]
    bindings = tuple(dict(zip(names, map(outside, one), strict=True)) for one in answer.bindings)
    failure = answer.failure or ("" if job.called else "not called")
    return Step(str(predicate), TRUTHS[answer.truth], bindings, failure, 1000 * job.seconds, eliminated, concerned)


class Judging:
    """Verdicts on the conditions of a case, given the event and the answers of operators."""

    def __init__(self, evaluation: Evaluation, answers: Mapping[int, Answer], cases: Cases, plain: Verdicts) -> None:
        self._evaluation = evaluation
        self._answers = answers
        self._cases = cases
        self._plain = plain
        self._shown: dict[str, list[Any]] = {}

    def alternatives(self, entry: Entry) -> list[tuple[Verdict, ...]]:
        """Verdicts on each conjunct of the guard, with those on calls and constraints."""
        calls = [fill_called(call, entry.values) for call in entry.shape.calls]
        called = [self._called(call, wanted) for call, wanted in zip(calls, entry.wanted, strict=True)]
        constrained = self._constraints(entry, calls)
        found = []
        for conjunct in entry.shape.guard.conjuncts:
            plain = self._plain.of(fill_conjunct(conjunct, entry.values))
            found.append((*plain, *called, *constrained))
        return found

    def substitutions(self, entry: Entry) -> Substitutions | None:
        """Substitutions of a case whose guard is passed; None if there are none."""
        return self._evaluation.substitutions(0, entry) if self._all_true(entry) else None

    def _called(self, call: Call, number: int) -> Verdict:
        answer, predicate = self._answers.get(number), self._cases.predicates[number]
        if answer is None:
            return Verdict(print_as_written(call), "not asked", {})
        seen = {name: self._seen(name) for name in predicate.resolved.attributes} | _bound(call, answer)
        return Verdict(print_as_written(call), self._state(call, predicate, answer), seen)

    def _seen(self, name: str) -> list[Any]:
        if name not in self._shown:
            self._shown[name] = self._evaluation.inputs.shown(0, name)
        return self._shown[name]

    def _state(self, call: Call, predicate: Predicate, answer: Answer) -> State:
        if answer.truth == UNKNOWN:
            fits = self._evaluation.inputs.fit(predicate.resolved, np.zeros(1, np.int64))
            return "unknown" if len(fits) else "absent"
        return "held" if (answer.truth == TRUE) != call.negated else "failed"

    def _constraints(self, entry: Entry, calls: Sequence[Call]) -> list[Verdict]:
        """Verdicts on each constraint, and, if all hold, on one substitution that satisfies them together."""
        filled = [fill_called(one, entry.values) for one in entry.shape.constraints]
        verdicts = [self._constraint(one, entry, calls) for one in filled]
        if all(one.state == "held" for one in verdicts) and self._all_true(entry):
            together = self._evaluation.satisfied(0, entry)
            # Constraints on one call may hold of different bindings; that they do of one goes without saying.
            if entry.join.joins or not together:
                verdicts.append(Verdict("one substitution for all", "held" if together else "failed", {}))
        return verdicts

    def _constraint(self, one: Constraint, entry: Entry, calls: Sequence[Call]) -> Verdict:
        names = set(variables_of(one))
        used = [place for place, call in enumerate(calls) if not call.negated and names & set(variables_in_order(call))]
        if not all(self._truth(entry.wanted[place]) == TRUE for place in used):
            return Verdict(print_as_written(one), "not asked", {})
        join = plan([calls[place] for place in used], [one], {name: name for name in names})
        bindings = [self._answers[entry.wanted[place]].bindings for place in used]
        try:
            held = join.holds(bindings, self._evaluation.fields(0))
        except TooLargeError:
            return Verdict(print_as_written(one), "unknown", {})
        return Verdict(print_as_written(one), "held" if held else "failed", {})

    def _all_true(self, entry: Entry) -> bool:
        signs = zip(entry.wanted, entry.shape.calls, strict=True)
        return all(self._truth(wanted) == (FALSE if call.negated else TRUE) for wanted, call in signs)

    def _truth(self, number: int) -> int:
        answer = self._answers.get(number)
        return UNKNOWN if answer is None else answer.truth


def _bound(call: Call, answer: Answer) -> dict[str, list[Any]]:
    if not answer.bindings:
        return {}
    names = {part.name: part.written or part.name for part in call.arguments if isinstance(part, Variable)}
    shown = answer.bindings[:_SHOWN]
    return {f"?{name}": [outside(one[place]) for one in shown] for place, name in enumerate(names.values())}
