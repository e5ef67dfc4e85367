"""What Spark adds to matching: pipeline.match over index.match in two threads, per event and per match."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tamis
from benchmarks.findings import Finding, Options
from benchmarks.spark import CORES, drain, local_session, write_parquet
from tamis import pipeline
from tamis.lab.timing import best_of
from tamis.workloads import le_subscribe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES = (100_000, 1_000_000)
EVENTS = 1_000_000
BATCH = 20_000
BAR_EVENT = 1.5e-6
BAR_MATCH = 15e-9

Output = Literal["numbers", "arrays"]


def run(options: Options) -> Iterator[Finding]:
    spark = local_session()
    points: dict[Output, list[tuple[float, float]]] = {"numbers": [], "arrays": []}
    for size in SIZES:
        count = options.subscriptions(size)
        added, matches, details = _added(spark, count, options.repetitions)
        for output, seconds in added.items():
            points[output].append((seconds, matches))
            yield Finding(
                what=f"time that Spark adds, {output}",
                workload=f"le_subscribe p=1, {count:,} subscriptions, {EVENTS:,} events",
                measured=f"{seconds * 1e6:.2f} µs an event",
                details={"matches_per_event": round(matches, 1), **details},
            )
    for output, ((few_added, few), (many_added, many)) in points.items():
        per_match = (many_added - few_added) / (many - few)
        per_event = few_added - few * per_match
        # Numbers are what crosses over by default where speed counts; ids are strings, and cost what strings cost.
        reached = per_event <= BAR_EVENT and per_match <= BAR_MATCH if output == "numbers" else None
        yield Finding(
            what=f"time that Spark adds, {output}: an event, a match",
            workload=f"le_subscribe p=1, {few:.0f} and {many:.0f} matches an event",
            measured=f"{per_event * 1e6:.2f} µs, {per_match * 1e9:.1f} ns",
            bar=f"≤ {BAR_EVENT * 1e6:.1f} µs, ≤ {BAR_MATCH * 1e9:.0f} ns",
            reached=reached,
            details={"us_per_event": per_event * 1e6, "ns_per_match": per_match * 1e9},
        )


def _added(spark: SparkSession, count: int, repetitions: int) -> tuple[dict[Output, float], float, dict[str, float]]:
    """Seconds that Spark adds to an event, and matches an event."""
    workload = le_subscribe(count, EVENTS, seed=1, p=1.0)
    index = tamis.compile(workload.subscriptions, workload.schema)
    batches = list(workload.batches(BATCH))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(CORES) as pool:
        index.save(Path(folder) / "index")
        path = write_parquet(workload.events, Path(folder) / "events")

        def threads() -> int:
            return sum(pool.map(lambda batch: len(index.match(batch)), batches))

        def on_spark(output: Output) -> None:
            events = spark.read.parquet(str(path))
            drain(pipeline.match(events, Path(folder) / "index", output, keep=[]))

        alone, numbers, arrays = best_of(repetitions, threads, lambda: on_spark("numbers"), lambda: on_spark("arrays"))
        matches = threads()
    details = {"threads_us_per_event": alone / EVENTS * 1e6, "spark_us_per_event": numbers / EVENTS * 1e6}
    return {"numbers": (numbers - alone) / EVENTS, "arrays": (arrays - alone) / EVENTS}, matches / EVENTS, details
