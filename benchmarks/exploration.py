"""index.match beside the exploration engine on its ten workloads: no cliff anywhere."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import tamis
from benchmarks.findings import Finding, Options
from benchmarks.yardsticks import SAMPLE, ExplorationEngine, timed_events
from tamis.lab.timing import best_of
from tamis.matching.base.statistics import Statistics
from tamis.workloads import named

NAMES = ("w1", "w1p1", "w2", "w2z", "w3", "w4", "w5", "w5s", "w6", "w6a")
SIZES = (100_000, 1_000_000)
BAR = 0.5
OUTPUT_BAR = 0.35  # where most of the time goes into output, which the yardstick overwrites
OUTPUT_BOUND = ("w1", "w5")
BATCH = 4096  # as many at a time as the yardstick takes


def run(options: Options) -> Iterator[Finding]:
    for size in SIZES:
        for name in NAMES:
            yield _beside(options, name, options.subscriptions(size))
            gc.collect()


def _beside(options: Options, name: str, count: int) -> Finding:
    events = timed_events(name)
    yardstick = ExplorationEngine(options.reference, name, count, seed=1)
    workload = named(name)(count, events + SAMPLE, seed=1)
    statistics = Statistics.from_events(workload.events.slice(0, SAMPLE))
    index = tamis.compile(workload.subscriptions, workload.schema, statistics=statistics)
    timed = workload.events.slice(SAMPLE).combine_chunks()
    batches = timed.to_batches(max_chunksize=BATCH)

    def match() -> int:
        return sum(len(index.match(batch)) for batch in batches)

    matches = match()
    candidates = sum(index.match(batch).work.candidates for batch in batches)
    if matches != yardstick.match():
        raise AssertionError(f"{name}: Tamis finds {matches} matches, the yardstick {yardstick.match()}")
    ours, theirs = best_of(options.repetitions, match, yardstick.match)
    bar = OUTPUT_BAR if name in OUTPUT_BOUND else BAR
    ratio = theirs / ours
    return Finding(
        what="index.match / exploration engine, events per second",
        workload=f"{name}, {count:,} subscriptions",
        measured=f"{ratio:.2f}×",
        bar=f"≥ {bar:.2f}×",
        reached=ratio >= bar,
        details={
            "us_per_event": round(ours / events * 1e6, 2),
            "yardstick_us_per_event": round(theirs / events * 1e6, 2),
            "matches_per_event": round(matches / events, 1),
            "candidates_per_event": round(candidates / events, 1),
            "yardstick_candidates_per_event": round(yardstick.candidates(), 1),
        },
    )
