"""Select-joins on one core: Ref-SJ-Clu and Ref-SJ-Clu⁺ at a million subscriptions, and how they grow (P3)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

import numpy as np

from benchmarks.findings import Finding, Options
from tamis.joins.index.messages import Form
from tamis.lab.simulation.joins import SHAPE, Trial
from tamis.lab.timing import percentile
from tamis.workloads.select_joins import select_joins

SMALL, LARGE = 100_000, 1_000_000
BARS = {"ref-sj-clu": 50_000, "ref-sj-clu+": 10_000}  # events a second
GROWTH_BAR = 1.5
RATIO_BARS = (10, 35)
WARMING, BATCH, BATCHES, SINGLE = 4_000, 2_000, 12, 2_000
COUNTED, SEEDS = 200, 11


def run(options: Options) -> Iterator[Finding]:
    small, large = options.subscriptions(SMALL), options.subscriptions(LARGE)
    times = {}
    for name in BARS:
        for size in (small, large):
            times[name, size], details = _timed(name, size)
            if size == large:
                yield _rate(name, large, times[name, size], details)
    growth = times["ref-sj-clu+", large] / times["ref-sj-clu+", small]
    yield Finding(
        what=f"time of Ref-SJ-Clu⁺, {large:,} ÷ {small:,} subscriptions",
        workload="select_joins",
        measured=f"{growth:.2f} times",
        bar=f"≤ {GROWTH_BAR}",
        reached=growth <= GROWTH_BAR,
        details={"µs an event": {f"{name}, {size:,}": round(value, 2) for (name, size), value in times.items()}},
    )
    yield _enumerated(small)


def _timed(name: str, size: int) -> tuple[float, dict[str, object]]:
    """µs an event (a row of R that comes, the oldest that goes), messages made: the median of batches, and details."""
    trial = Trial(name, select_joins(size, WARMING + BATCH * BATCHES + SINGLE, seed=1))
    trial.play(WARMING)
    batches = []
    exposed = 0
    for _ in range(BATCHES):
        changes = trial.next(BATCH)
        start = time.process_time()
        messages = trial.scheme.change(changes)
        batches.append((time.process_time() - start) / BATCH * 1e6)
        exposed += len(np.unique(messages.event[messages.form == Form.EXPOSED]))
    single, hot = [], []
    rows = np.bincount(trial.workload.s_keys, minlength=100)
    for _ in range(SINGLE):
        key = trial.workload.r_keys[trial.workload.r_rows + trial.played]
        changes = trial.next(1)
        start = time.perf_counter()
        trial.scheme.change(changes)
        single.append((time.perf_counter() - start) * 1e6)
        if rows[key] >= np.sort(rows)[-5]:
            hot.append(single[-1])
    details: dict[str, object] = {
        "µs an event, each batch": [round(batch, 2) for batch in batches],
        "events with exposed rows": f"{exposed / (BATCH * BATCHES):.2%}",
        "one event a call, wall clock, µs": {
            "p50": round(percentile(single, 0.5)), "p99": round(percentile(single, 0.99)),
            "p50 of the five keys with most rows": round(percentile(hot, 0.5)) if hot else None,
        },
    }  # fmt: skip
    return median(batches), details


def _rate(name: str, size: int, microseconds: float, details: dict[str, object]) -> Finding:
    rate = 1e6 / microseconds
    return Finding(
        what=f"{name}, {size:,} subscriptions, one core, messages made",
        workload="select_joins",
        measured=f"{rate:,.0f} events/s",
        bar=f"≥ {BARS[name]:,}",
        reached=rate >= BARS[name],
        details=details,
    )


def _enumerated(size: int) -> Finding:
    """Bytes of Enum-J over those of Enum-SJ: the median of seeds."""
    ratios = []
    for seed in range(SEEDS):
        sizes = []
        for name in ("enum-j", "enum-sj"):
            trial = Trial(name, select_joins(size // 5, COUNTED, seed))
            sizes.append(sum(int(trial.play(20).sizes(SHAPE).sum()) for _ in range(COUNTED // 20)))
        ratios.append(sizes[0] / sizes[1])
    middle = median(ratios)
    return Finding(
        what="bytes of Enum-J ÷ Enum-SJ, median of seeds",
        workload="select_joins",
        measured=f"{middle:.1f} times",
        bar=f"{RATIO_BARS[0]} to {RATIO_BARS[1]}",
        reached=RATIO_BARS[0] <= middle <= RATIO_BARS[1],
        details={"ratios": [round(ratio, 1) for ratio in ratios]},
    )
