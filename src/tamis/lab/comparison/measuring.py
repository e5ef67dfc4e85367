"""Measurement of one matcher on one workload: build time, time per event, work done, memory, and cost of additions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engine import Index, compile
from tamis.errors import TamisError
from tamis.lab.timing import seconds, uncollected
from tamis.workloads import Workload

BATCH_ROWS = 2048
MOST_ROUNDS = 10
FEWEST_ROUNDS = 3  # rather fewer events than fewer rounds: the best of several is what others' work disturbs least
PROBING = 0.1  # share of the budget that may go into finding out how many events it allows
WARM_SUBSCRIPTIONS, WARM_EVENTS = 1024, 16  # enough that a planner plans: every kernel is compiled, or read from disk


@dataclass(frozen=True)
class Measurement:
    """Measured costs of one matcher on one workload.

    `events` is how many it saw: fewer than the workload has where it is slow, and then spread evenly over them.
    `matches` is their number for those events. `seconds_per_event` is that of the best round over them, in batches.
    Seconds are the processor's, so that what else runs on the machine disturbs them little; one thread is at work.
    Predicates, nodes and candidates are averages per event; what an algorithm has none of is 0. `bytes_held` counts
    neither ids nor texts. `build_seconds` is from texts to an index that can match. `algorithm` is the matcher at work:
    another name than `matcher` where that was left to be chosen.
    """

    matcher: str
    workload: str
    subscriptions: int
    events: int
    matches: int
    build_seconds: float
    seconds_per_event: float
    predicates_evaluated: float
    nodes_visited: float
    candidates_touched: float
    bytes_held: int
    rounds: int
    batch_rows: int
    algorithm: str

    @property
    def matches_per_event(self) -> float:
        return self.matches / self.events

    def to_row(self) -> dict[str, Any]:
        """Plain values by name: for JSON, or for a row of a table."""
        return asdict(self)


def measure(
    matcher: str,
    workload: Workload,
    *,
    budget_seconds: float = 10.0,
    warm: bool = True,
    options: Mapping[str, Any] | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Measurement:
    """Builds the matcher and matches for about `seconds` of processor time, building and warming not counted.

    A slow matcher sees fewer events, at least one; a fast one sees all of them several times. `warm=False` leaves
    compilation of kernels in the measured times. `options` are the matcher's own (see `tamis.compile`).
    """
    if not len(workload.events):
        raise TamisError(f"the workload {workload.name} has no events to measure with")
    if warm:
        warm_up(matcher, workload, options)
    index, build_seconds = built(matcher, workload, options)
    events = workload.schema.to_arrow(workload.events)
    with uncollected():
        begun = time.process_time()
        count = _affordable(index, events, budget_seconds, batch_rows)
        batches = _batches(events, count, batch_rows)
        first = _Round(index, batches)
        _check(first, workload, matcher)
        times = [first.seconds]
        while len(times) < MOST_ROUNDS and _spent(begun) + times[-1] < budget_seconds:
            times.append(_Round(index, batches).seconds)
    predicates, nodes, candidates = first.work / count
    return Measurement(
        matcher=matcher,
        workload=workload.name,
        subscriptions=len(index),
        events=count,
        matches=int(first.counts.sum()),
        build_seconds=build_seconds,
        seconds_per_event=min(times) / count,
        predicates_evaluated=float(predicates),
        nodes_visited=float(nodes),
        candidates_touched=float(candidates),
        bytes_held=index.matcher.bytes_held,
        rounds=len(times),
        batch_rows=batch_rows,
        algorithm=index.matcher.name,
    )


def built(matcher: str, workload: Workload, options: Mapping[str, Any] | None) -> tuple[Index, float]:
    """Index, and the seconds it took to build."""
    made: list[Index] = []
    taken = seconds(lambda: made.append(compile(workload.subscriptions, workload.schema, matcher, options=options)))
    return made[0], taken


def warm_up(matcher: str, workload: Workload, options: Mapping[str, Any] | None) -> Index:
    """Compiles every kernel, with a few of the subscriptions and events; returns the index of those few."""
    some = compile(workload.subscriptions.slice(0, WARM_SUBSCRIPTIONS), workload.schema, matcher, options=options)
    some.match(workload.events.slice(0, WARM_EVENTS))
    return some


class _Round:
    """Pass over all batches: the seconds, each event's matches, and the work (predicates, nodes, candidates)."""

    def __init__(self, index: Index, batches: list[pa.RecordBatch]) -> None:
        self.seconds = 0.0
        self.work: npt.NDArray[np.int64] = np.zeros(3, np.int64)
        counts = []
        for batch in batches:
            start = time.process_time()
            matches = index.match(batch)
            self.seconds += time.process_time() - start
            counts.append(matches.counts)
            work = matches.work
            self.work += work.predicates, work.nodes, work.candidates
        self.counts = np.concatenate(counts)


def _affordable(index: Index, events: pa.RecordBatch, budget: float, batch_rows: int) -> int:
    """Number of events that can be matched in several rounds, found by trying one event, then ever more.

    The last and largest attempt says how long an event takes; the earlier ones also pay for what a call costs.
    """
    begun, count = time.process_time(), 1
    while True:
        taken = _Round(index, _batches(events, count, batch_rows)).seconds
        if count == len(events) or _spent(begun) + 4 * taken > PROBING * budget:
            return int(max(1, min(len(events), (budget - _spent(begun)) / FEWEST_ROUNDS * count / taken)))
        count = min(4 * count, len(events))


def _batches(events: pa.RecordBatch, count: int, rows: int) -> list[pa.RecordBatch]:
    """First events of the workload, in batches."""
    if count < len(events):
        events = events.take(pa.array(_spread(count, len(events))))
    return [events.slice(start, rows) for start in range(0, count, rows)]


def _spread(count: int, events: int) -> npt.NDArray[np.int64]:
    """Rows of `count` events, evenly spread among all: a file of events may be in some order."""
    return np.arange(count) * events // count


def _check(seen: _Round, workload: Workload, matcher: str) -> None:
    """Checks matches against the workload's own counts, where it has them."""
    if workload.expected is None:
        return
    rows = _spread(len(seen.counts), len(workload.events))
    wrong = np.flatnonzero(seen.counts != workload.expected[rows])
    if len(wrong):
        row, found = int(rows[wrong[0]]), int(seen.counts[wrong[0]])
        raise TamisError(
            f"{matcher} is wrong on {len(wrong):,} of {len(rows):,} events of {workload.name}: the first is event "
            f"{row}, where it finds {found:,} matches and there are {workload.expected[row]:,}"
        )


def _spent(begun: float) -> float:
    return time.process_time() - begun


# Cost of adding a subscription to an index, whenever it is paid: in the call or in the next match.


@dataclass(frozen=True)
class Adding:
    """Cost of adding subscriptions one by one to `present` others, with a match after every `between` of them.

    `seconds_per_add` is the mean over all that were added: the calls, and what they put off to the next match (its
    time, less that of matching the same event once more). `seconds_per_call` is the calls alone. `worst_seconds` is
    the dearest single call, or call and match together where every one is followed by a match.
    """

    matcher: str
    workload: str
    present: int
    added: int
    seconds_per_add: float
    seconds_per_call: float
    worst_seconds: float
    between: int

    def to_row(self) -> dict[str, Any]:
        """Plain values by name: for JSON, or for a row of a table."""
        return asdict(self)


def measure_adding(
    matcher: str,
    workload: Workload,
    extra: pa.Table,
    *,
    budget_seconds: float = 10.0,
    warm: bool = True,
    options: Mapping[str, Any] | None = None,
    between: int = 1,
) -> Adding:
    """Adds the rows of `extra` (columns `id` and `filter`) one by one, for about `seconds`, at least one.

    `between=1`: the next event meets each of them at once. More is how a stream of changes goes, and cheaper where a
    matcher puts work off.
    """
    if not len(extra):
        raise TamisError("there is nothing to add")
    if not len(workload.events):
        raise TamisError(f"the workload {workload.name} has no events to measure with")
    event = workload.schema.to_arrow(workload.events.slice(0, 1))
    if warm:
        small = warm_up(matcher, workload, options)
        small.add(extra.slice(0, 1))
        small.match(event)
    index, _ = built(matcher, workload, options)
    index.match(event)
    present, added = len(index), 0
    calls = put_off = worst = 0.0
    with uncollected():
        begun = time.process_time()
        for row in extra.to_pylist():
            call = seconds(partial(index.add, {row["id"]: row["filter"]}))
            added, calls = added + 1, calls + call
            late = added == len(extra) or time.process_time() - begun > budget_seconds
            if added % between == 0 or late:
                left = seconds(lambda: index.match(event)) - seconds(lambda: index.match(event))
                put_off += left
                call += left if between == 1 else 0
            worst = max(worst, call)
            if late:
                break
    return Adding(matcher, workload.name, present, added, (calls + put_off) / added, calls / added, worst, between)
