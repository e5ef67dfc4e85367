"""Planning, overhead and change of the schedules of expensive predicates; lab/experiments/p0 counts evaluations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.findings import Finding, Options
from tamis.arrays import Int8s
from tamis.lab.schedules.counting import problem_of
from tamis.lab.timing import seconds
from tamis.operators.schedules import Problem, Schedule, schedule
from tamis.workloads.expensive_operators import Parameters, expensive_operators, figure

NAMES = ("naive", "sequential", "sub-order", "adaptive")
TIMED_EVENTS = 16
TOGETHER = 64  # events asked for in rounds
PLANNING_BARS = {"sub-order": 60.0, "adaptive": 10.0}  # seconds
OVERHEAD_BAR = 2.0  # µs
CHANGES = 1000


def run(options: Options) -> Iterator[Finding]:
    for number in (4, 5):
        last = figure(number)[-1]
        point = replace(last, subscriptions=options.subscriptions(last.subscriptions))
        workload = expensive_operators(point)
        problem, truths = problem_of(workload), workload.truths(TOGETHER)
        for name in NAMES:
            _ready(name, problem, truths)  # compiles
            planned, taken = _ready(name, problem, truths)
            bar = PLANNING_BARS.get(name)
            yield Finding(
                what=f"planning: {name}",
                workload=_label(point),
                measured=f"{taken:.2f} s",
                bar=f"≤ {bar:.0f} s" if bar else "",
                reached=taken <= bar if bar else None,
            )
            yield _overhead(options, planned, truths[:TIMED_EVENTS], _label(point))
            yield _in_rounds(planned, truths, _label(point))
            yield _change(planned, problem, truths, _label(point))


def _label(point: Parameters) -> str:
    popularity = "uniform popularity" if point.alpha is None else f"Zipf α = {point.alpha:g}"
    return f"{point.subscriptions:,} subscriptions over {point.predicates:,} predicates, {popularity}"


def _ready(name: str, problem: Problem, truths: Int8s) -> tuple[Schedule, float]:
    """A schedule that has run an event, so that nothing of its plan is put off, and how long that took."""
    start = time.process_time()
    planned = schedule(name, problem)
    planned.run(truths[:1])
    return planned, time.process_time() - start


def _overhead(options: Options, planned: Schedule, truths: Int8s, where: str) -> Finding:
    """What a schedule itself costs: all but the evaluations, which are looked up in a table here."""
    alone = min(seconds(lambda: planned.run(truths)) for _ in range(options.repetitions))
    count = int(planned.run(truths).trail.lengths.sum())
    each = alone / count * 1e6
    return Finding(
        what=f"overhead an evaluation: {planned.name}",
        workload=where,
        measured=f"{each:.2f} µs",
        bar=f"≤ {OVERHEAD_BAR:.0f} µs",
        reached=each <= OVERHEAD_BAR,
        details={"evaluations_an_event": count / len(truths)},
    )


def _in_rounds(planned: Schedule, truths: Int8s, where: str) -> Finding:
    """The same, events side by side and asked for what they need round by round, as batch operators are."""
    counted = 0

    def rounds() -> None:
        nonlocal counted
        counted = 0
        under_way = planned.begin(len(truths))
        while len(asked := under_way.ask()):
            events, predicates = asked.pairs
            under_way.tell(events, predicates, truths[events, predicates])
            counted += len(events)

    each = seconds(rounds) / counted * 1e6
    return Finding(
        what=f"overhead an evaluation in rounds of {len(truths)} events: {planned.name}",
        workload=where,
        measured=f"{each:.2f} µs",
        bar=f"≤ {OVERHEAD_BAR:.0f} µs",
        reached=each <= OVERHEAD_BAR,
    )


def _change(planned: Schedule, problem: Problem, truths: Int8s, where: str) -> Finding:
    """Subscriptions taken out and put back one by one; and what the first event after it takes longer."""
    rng = np.random.default_rng(1)
    some = rng.choice(problem.subscriptions, min(CHANGES, problem.subscriptions), replace=False).tolist()
    wanted = {number: problem.subscription(number).tolist() for number in some}

    def deleted() -> None:
        for number in some:
            planned.delete(number)

    def inserted() -> None:
        for number in reversed(some):  # numbers are given again, the last that was freed first
            planned.insert(wanted[number])

    out, back = seconds(deleted), seconds(inserted)
    first = seconds(lambda: planned.run(truths[:1]))
    second = seconds(lambda: planned.run(truths[:1]))
    return Finding(
        what=f"a subscription inserted, deleted: {planned.name}",
        workload=where,
        measured=f"{back / len(some) * 1e6:,.0f} µs, {out / len(some) * 1e6:,.0f} µs",
        details={"first_event_after_ms": (first - second) * 1e3},
    )
