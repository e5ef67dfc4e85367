"""Counts of the evaluations that schedules need on the workloads of the paper: pure functions of their parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.arrays import Floats, Int8s
from tamis.compiled import kernel
from tamis.lab.schedules.bounds import foreseeing_nothing, in_hindsight, theorem_2
from tamis.operators.schedules import schedule
from tamis.operators.schedules.graph import Graph
from tamis.operators.schedules.problem import TRUE, Problem
from tamis.operators.schedules.running import Evidence
from tamis.operators.schedules.schedule import Schedule
from tamis.workloads.expensive_operators import ExpensiveOperators, Parameters, expensive_operators

# What Algorithm 1 of Liu et al. 2007 returns as it is printed, which is not quite what it evaluates.


@kernel
def as_printed(members: Any, subscribers: Any, truth: Any) -> tuple[int, int]:
    """Number of subscriptions taken up in an event, and of predicates in E at the end.

    Line 15 adds a predicate to E whether or not line 10 has evaluated it: all of those that a subscription taken up has
    and that are not in E yet. What it evaluates is the same, so the same subscriptions are taken up.
    """
    listed = np.zeros(len(subscribers.start), np.bool_)
    decided = np.zeros(len(members.start), np.bool_)
    taken, count = 0, 0
    for s in range(len(members.start)):
        if decided[s]:
            continue
        taken += 1
        for i in range(members.start[s], members.start[s] + members.length[s]):
            t = members.pool[i]
            if listed[t]:
                continue
            listed[t] = True
            count += 1
            if truth[t] != TRUE:
                for j in range(subscribers.start[t], subscribers.start[t] + subscribers.length[t]):
                    decided[subscribers.pool[j]] = True
    return taken, count


EVENTS = 1000  # of the paper
AT_ONCE = 50  # events from one time of learning to the next
SAMPLE = 16  # trails of them that kinds of events are learned from


@dataclass(frozen=True)
class Counts:
    """Of each event how many predicates were evaluated, what they cost, and how many subscriptions matched."""

    evaluations: Floats
    costs: Floats
    matches: Floats

    @property
    def mean(self) -> float:
        return float(self.evaluations.mean())

    @property
    def mean_cost(self) -> float:
        return float(self.costs.mean())


def problem_of(workload: ExpensiveOperators) -> Problem:
    return Problem(workload.cost, workload.selectivity, workload.offsets, workload.members)


def evaluations(name: str, parameters: Parameters, events: int = EVENTS) -> Counts:
    """A point of a figure: one schedule on one workload. The schedule knows the selectivities, and learns if it can."""
    workload = expensive_operators(parameters)
    return counted(schedule(name, problem_of(workload)), batches(workload, events), workload.cost)


def batches(workload: ExpensiveOperators, events: int, first: int = 0) -> Iterator[Int8s]:
    """The truths of so many events, some at a time."""
    for start in range(first, first + events, AT_ONCE):
        yield workload.truths(min(AT_ONCE, first + events - start), start)


def counted(planned: Schedule, truths: Iterator[Int8s], cost: Floats) -> Counts:
    """Runs events through a schedule, which learns from each batch before the next."""
    parts = []
    for batch in truths:
        record = planned.run(batch)
        planned.learn(Evidence.of(record.trail, sample=SAMPLE))
        parts.append((record.trail.lengths, record.trail.costs(cost), np.diff(record.match_offsets)))
    lengths, costs, matches = (np.concatenate(part).astype(np.float64) for part in zip(*parts, strict=True))
    return Counts(lengths, costs, matches)


@dataclass(frozen=True)
class Bounds:
    """Means over events of what no schedule can do without (see bounding/bounds.py)."""

    theorem_2: float
    in_hindsight: float
    foreseeing_nothing: float


def bounds(parameters: Parameters, events: int = EVENTS) -> Bounds:
    """The bounds of a point, on the first so many of its events."""
    workload = expensive_operators(parameters)
    problem = problem_of(workload)
    found = [
        [bound(problem, batch) for bound in (theorem_2, in_hindsight, foreseeing_nothing)]
        for batch in batches(workload, events)
    ]
    return Bounds(*(float(np.concatenate(parts).mean()) for parts in zip(*found, strict=True)))


@dataclass(frozen=True)
class Printed:
    """What else the paper may have counted: predicates that are in a subscription at all, and means over events of the
    subscriptions that Algorithm 1 takes up and of the predicates in the set that it returns."""

    in_use: float
    taken_up: float
    returned: float


def printed(parameters: Parameters, events: int = EVENTS) -> Printed:
    workload = expensive_operators(parameters)
    graph = Graph(problem_of(workload))
    rows = (graph.members.rows, graph.subscribers.rows)
    found = [as_printed(*rows, truth) for batch in batches(workload, events) for truth in batch]
    taken_up, returned = np.mean(found, axis=0)
    return Printed(float(len(np.unique(workload.members))), float(taken_up), float(returned))


@dataclass(frozen=True)
class Recovery:
    """Mean evaluations of some events, the first of which is number `first`.

    `informed`: adaptive, told the true selectivities of the moment. `learning`: adaptive, told wrong ones at the start.
    `unlearning` and `sub_order`: told the same, learning nothing.
    """

    first: int
    informed: float
    learning: float
    unlearning: float
    sub_order: float


def recovery(
    parameters: Parameters, events: int = 3000, drift_from: int = 1000, drift_until: int = 1400, wrong: float = 10.0
) -> list[Recovery]:
    """Selectivities declared too high or too low by a factor; later the true ones change places, little by little."""
    workload = expensive_operators(parameters)
    rng = np.random.default_rng(parameters.seed)
    factors = np.where(rng.random(parameters.predicates) < 0.5, wrong, 1 / wrong)
    declared = np.clip(workload.selectivity * factors, 0.001, 0.999)
    other = rng.permutation(workload.selectivity)

    def told(selectivity: Floats) -> Problem:
        return Problem(workload.cost, selectivity, workload.offsets, workload.members)

    learning, unlearning, sub_order = (schedule(name, told(declared)) for name in ("adaptive", "adaptive", "sub-order"))
    rows = []
    for first in range(0, events, AT_ONCE):
        share = min(1.0, max(0.0, (first - drift_from) / (drift_until - drift_from)))
        true = (1 - share) * workload.selectivity + share * other
        truths = workload.truths(min(AT_ONCE, events - first), first, true)
        informed = schedule("adaptive", told(true))
        trails = [each.run(truths).trail for each in (informed, learning, unlearning, sub_order)]
        learning.learn(Evidence.of(trails[1], sample=SAMPLE))
        rows.append(Recovery(first, *(float(trail.lengths.mean()) for trail in trails)))
    return rows
