"""How an index grows from ten thousand to ten million subscriptions: matching no faster than the matches do."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import tamis
from benchmarks.findings import Finding, Options
from tamis.lab.timing import best_of, elapsed
from tamis.workloads import le_subscribe

SIZES = (10_000, 32_000, 100_000, 320_000, 1_000_000, 3_200_000, 10_000_000)
ADDED = 1_000
EVENTS = 8192
BATCH = 2048
STEP_TOLERANCE = 1.15  # one step is at the mercy of cache sizes; the whole way is not


@dataclass(frozen=True)
class Point:
    """An index of one size: seconds an event and to build, matches an event, bytes, seconds to add one."""

    matching: float
    matches: float
    building: float
    on_disk: int
    peak: int
    adding: float

    def details(self, size: int) -> dict[str, object]:
        return {
            "us_per_event": round(self.matching * 1e6, 3),
            "matches_per_event": round(self.matches, 1),
            "building_s": round(self.building, 2),
            "bytes_a_subscription": round(self.on_disk / size, 1),
            "peak_gb": round(self.peak / 1e9, 2),
            "adding_ms": round(self.adding * 1e3, 3),
        }


def run(options: Options) -> Iterator[Finding]:
    sizes = [options.subscriptions(size) for size in SIZES]
    points = []
    for size in sizes:
        points.append(_point(size, options.repetitions))
        yield Finding(
            what="time per event",
            workload=f"le_subscribe p=0.5, {size:,} subscriptions",
            measured=f"{points[-1].matching * 1e6:.2f} µs",
            details=points[-1].details(size),
        )
    steps = [(two.matching / one.matching) / (two.matches / one.matches) for one, two in pairwise(points)]
    whole = (points[-1].matching / points[0].matching) / (points[-1].matches / points[0].matches)
    yield Finding(
        what="growth of time / growth of matches",
        workload=f"le_subscribe p=0.5, {sizes[0]:,} to {sizes[-1]:,} subscriptions",
        measured=f"{whole:.2f}× (worst step {max(steps):.2f}×)",
        bar="≤ 1×",
        reached=whole <= 1 and max(steps) <= STEP_TOLERANCE,
        details={"whole": round(whole, 3), "steps": [round(step, 3) for step in steps]},
    )


def _point(size: int, repetitions: int) -> Point:
    workload = le_subscribe(size + ADDED, EVENTS, seed=1, p=0.5)
    made: list[tamis.Index] = []
    texts = workload.subscriptions.slice(0, size)
    building = elapsed(lambda: made.append(tamis.compile(texts, workload.schema)))
    index = made[0]
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "index")
        on_disk = sum(path.stat().st_size for path in (Path(folder) / "index").rglob("*") if path.is_file())
    batches = list(workload.batches(BATCH))

    def match() -> int:
        return sum(len(index.match(batch)) for batch in batches)

    matches = match()
    matching = best_of(repetitions, match)[0]
    new = workload.subscriptions.slice(size).to_pylist()
    # What an addition leaves to the next match is its own all the same.
    adding = elapsed(lambda: [index.add({row["id"]: row["filter"]}) for row in new])
    adding += max(0.0, elapsed(match) - matching)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Point(matching / EVENTS, matches / EVENTS, building, on_disk, peak, adding / ADDED)
