"""index.match on Arrow batches, strings as strings, one thread, beside a kernel hand-made for this workload."""

from __future__ import annotations

from collections.abc import Iterator

import tamis
from benchmarks.findings import Finding, Options
from benchmarks.yardsticks import HandMadeKernel
from tamis.lab.timing import best_of
from tamis.workloads import le_subscribe

SUBSCRIPTIONS = 1_000_000
EVENTS = 10_000
BATCH = 2048
BARS = {0.5: 0.8, 1.0: 1.0}


def run(options: Options) -> Iterator[Finding]:
    for p, bar in BARS.items():
        yield _beside(options, p, bar)


def _beside(options: Options, p: float, bar: float) -> Finding:
    count = options.subscriptions(SUBSCRIPTIONS)
    yardstick = HandMadeKernel(options.reference, count, EVENTS, seed=1, p=p)
    workload = le_subscribe(count, EVENTS, seed=1, p=p)
    index = tamis.compile(workload.subscriptions, workload.schema)
    batches = list(workload.batches(BATCH))

    def match() -> int:
        return sum(len(index.match(batch)) for batch in batches)

    matches = match()
    if matches != yardstick.match():
        raise AssertionError(f"Tamis finds {matches} matches, the yardstick {yardstick.match()}")
    ours, theirs = best_of(options.repetitions, match, yardstick.match)
    ratio = theirs / ours
    return Finding(
        what="index.match / hand-made kernel, events per second",
        workload=f"le_subscribe p={p:g}, {count:,} subscriptions",
        measured=f"{ratio:.2f}×",
        bar=f"≥ {bar:.1f}×",
        reached=ratio >= bar,
        details={
            "events_per_second": round(EVENTS / ours),
            "yardstick_events_per_second": round(EVENTS / theirs),
            "matches_per_event": round(matches / EVENTS, 1),
            "ns_per_match": round(ours / max(1, matches) * 1e9, 2),
        },
    )
