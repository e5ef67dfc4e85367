"""The cost of one subscription more or less among millions, and of matching in between (P2: 32.2 ms)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from statistics import mean, median
from typing import Any

import pyarrow as pa

import tamis
from benchmarks.findings import Finding, Options
from tamis.lab.timing import best_of, elapsed
from tamis.workloads import le_subscribe

PRESENT = 3_200_000
CHANGES = 10_000
BETWEEN = 100  # changes from one match to the next
EVENTS = 512
BAR_MILLISECONDS = 0.5
MATCHING_BAR = 1.3
PAPER_MILLISECONDS = 32.2  # Fabret et al.: adding one subscription to 3,200,000


def run(options: Options) -> Iterator[Finding]:
    present = options.subscriptions(PRESENT)
    workload = le_subscribe(present + CHANGES, EVENTS, seed=1, p=0.5)
    index = tamis.compile(workload.subscriptions.slice(0, present), workload.schema)
    batch = next(workload.batches(EVENTS))
    new = workload.subscriptions.slice(present).to_pylist()
    yield from _findings(options, index, batch, "add", (partial(index.add, {row["id"]: row["filter"]}) for row in new))
    yield from _findings(options, index, batch, "remove", (partial(index.remove, [row["id"]]) for row in new))


def _findings(
    options: Options, index: tamis.Index, batch: pa.RecordBatch, what: str, changes: Iterable[Callable[[], Any]]
) -> Iterator[Finding]:
    where = f"le_subscribe p=0.5, {len(index):,} present"
    before = best_of(options.repetitions, lambda: index.match(batch))[0]
    times, between, put_off = [], [], []
    for number, change in enumerate(changes, 1):
        times.append(elapsed(change))
        if number % BETWEEN == 0:
            first, second = elapsed(lambda: index.match(batch)), elapsed(lambda: index.match(batch))
            between.append(second)
            put_off.append(max(0.0, first - second))
    # Work that a change leaves to the next match is the change's all the same.
    whole = (sum(times) + sum(put_off)) / len(times)
    yield Finding(
        what=f"{what} one subscription, mean over {len(times):,}",
        workload=where,
        measured=f"{whole * 1e3:.3f} ms",
        bar=f"≤ {BAR_MILLISECONDS} ms",
        reached=whole * 1e3 <= BAR_MILLISECONDS,
        details={
            "call_ms": mean(times) * 1e3,
            "worst_call_ms": max(times) * 1e3,
            "put_off_to_a_match_ms": mean(put_off) * 1e3,
            "paper_ms": PAPER_MILLISECONDS,
        },
    )
    ratio = median(between) / before
    yield Finding(
        what=f"matching between changes ({what}) / before them",
        workload=f"{where}, every {BETWEEN} changes",
        measured=f"{ratio:.2f}×",
        bar=f"≤ {MATCHING_BAR}×",
        reached=ratio <= MATCHING_BAR,
        details={
            "before_us_per_event": before / EVENTS * 1e6,
            "between_us_per_event": median(between) / EVENTS * 1e6,
            "worst_us_per_event": max(between) / EVENTS * 1e6,
        },
    )
