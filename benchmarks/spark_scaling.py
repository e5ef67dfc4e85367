"""Workers and shards: what a second worker saves and a second shard costs, and whether arithmetic foretells it.

An event costs `look` in every shard it is taken to, whatever it matches there, and `write` for its matches, which the
shards share out between them. A job costs `fixed` whatever it is given. So `workers` with `shards` each take
fixed + events · (shards · look + write) / workers. The three are solved from runs of one worker; two are foretold.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.findings import Finding, Options
from benchmarks.spark import drain, local_session, write_parquet
from benchmarks.timing import best_of
from tamis import pipeline
from tamis.workloads import le_subscribe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUBSCRIPTIONS = 1_000_000
EVENTS = 500_000
FEW = 1_000
SHARDS = (1, 2, 4)
BAR = 1.35  # the two cores of a busy machine are not quite two


@dataclass(frozen=True)
class Costs:
    """Seconds: of a job, of taking one event to one shard, of writing the matches of one event."""

    fixed: float
    look: float
    write: float

    def foretold(self, events: int, shards: int, workers: int) -> float:
        return self.fixed + events * (shards * self.look + self.write) / workers


def run(options: Options) -> Iterator[Finding]:
    spark = local_session()
    count = options.subscriptions(SUBSCRIPTIONS)
    measured, fixed = _measured(spark, count, options.repetitions)
    one, most = measured[1, 1] - fixed, measured[1, SHARDS[-1]] - fixed
    look = (most - one) / (SHARDS[-1] - 1) / EVENTS
    costs = Costs(fixed, look, one / EVENTS - look)
    for (workers, shards), seconds in measured.items():
        foretold = costs.foretold(EVENTS, shards, workers)
        ratio = seconds / foretold
        yield Finding(
            what=f"{workers} workers, {shards} shards: measured / foretold",
            workload=f"le_subscribe p=1, {count:,} subscriptions, {EVENTS:,} events",
            measured=f"{ratio:.2f}× ({seconds:.1f} s)",
            bar=f"{1 / BAR:.2f}–{BAR}×" if workers > 1 else "",
            reached=1 / BAR <= ratio <= BAR if workers > 1 else None,
            details={
                "events_per_second": EVENTS / seconds,
                "fixed_s": round(costs.fixed, 2),
                "look_us": round(costs.look * 1e6, 2),
                "write_us": round(costs.write * 1e6, 2),
            },
        )


def _measured(spark: SparkSession, count: int, repetitions: int) -> tuple[dict[tuple[int, int], float], float]:
    """Seconds by workers and shards, and those of a job with hardly any events."""
    workload = le_subscribe(count, EVENTS, seed=1, p=1.0)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        texts = here / "texts"
        write_parquet(pa.table(workload.subscriptions), texts)
        cut = {
            shards: pipeline.shard(spark.read.parquet(str(texts)), here / f"{shards}", shards, workload.schema).shards
            for shards in SHARDS
        }
        # A file a worker: each is read by one task, so the number of files is the number of workers at work.
        events = {workers: write_parquet(workload.events, here / f"by-{workers}", workers) for workers in (1, 2)}
        few = write_parquet(workload.events.slice(0, FEW), here / "few", 1)

        def match(path: Path, shards: int) -> None:
            drain(pipeline.match(spark.read.parquet(str(path)), cut[shards], "numbers", keep=[]))

        fixed = best_of(repetitions, lambda: match(few, 1))[0]
        points = [(workers, shards) for workers in events for shards in SHARDS]
        times = best_of(repetitions, *[lambda w=w, s=s: match(events[w], s) for w, s in points])
        return dict(zip(points, times, strict=True)), fixed
