"""How the time per event grows with the number of subscriptions: no faster than the matches do."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import tamis
from benchmarks.findings import Finding, Options
from benchmarks.timing import best_of
from tamis.workloads import le_subscribe

SIZES = (10_000, 32_000, 100_000, 320_000, 1_000_000, 3_200_000)
EVENTS = 8192
BATCH = 2048
STEP_TOLERANCE = 1.15  # one step is at the mercy of cache sizes; the whole way is not


def run(options: Options) -> Iterator[Finding]:
    sizes = [options.subscriptions(size) for size in SIZES]
    rows = []
    for size in sizes:
        time, matches = _point(size, options.repetitions)
        rows.append((time, matches))
        yield Finding(
            what="time per event",
            workload=f"le_subscribe p=0.5, {size:,} subscriptions",
            measured=f"{time * 1e6:.2f} µs",
            details={"us_per_event": round(time * 1e6, 3), "matches_per_event": round(matches, 1)},
        )
    steps = [(later[0] / earlier[0]) / (later[1] / earlier[1]) for earlier, later in pairwise(rows)]
    whole = (rows[-1][0] / rows[0][0]) / (rows[-1][1] / rows[0][1])
    yield Finding(
        what="growth of time / growth of matches",
        workload=f"le_subscribe p=0.5, {sizes[0]:,} to {sizes[-1]:,} subscriptions",
        measured=f"{whole:.2f}× (worst step {max(steps):.2f}×)",
        bar="≤ 1×",
        reached=whole <= 1 and max(steps) <= STEP_TOLERANCE,
        details={"whole": round(whole, 3), "steps": [round(step, 3) for step in steps]},
    )


def _point(size: int, repetitions: int) -> tuple[float, float]:
    workload = le_subscribe(size, EVENTS, seed=1, p=0.5)
    index = tamis.compile(workload.subscriptions, workload.schema)
    batches = list(workload.batches(BATCH))

    def match() -> int:
        return sum(len(index.match(batch)) for batch in batches)

    return best_of(repetitions, match)[0] / EVENTS, match() / EVENTS
