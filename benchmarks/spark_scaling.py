"""Workers and shards: what a second worker saves and a second shard costs, and whether arithmetic foretells it.

An event costs `look` in every shard it is taken to, whatever it matches there, and `write` for its matches, which the
shards share out between them. Where there are several shards, what they say of an event has to be put together, which
costs `gather`. A job costs `fixed` whatever it is given. So a job takes
fixed + events · (shards · look + write + gather, if there are several shards) / workers.
The four are solved from runs of one worker; two are foretold. A worker is a core: the JVM and Python take turns on it.
With more, a single task would keep two of them busy, and a second worker would find none free.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.findings import Finding, Options
from benchmarks.spark import drain, local_session, write_parquet
from tamis import pipeline
from tamis.lab.timing import best_of
from tamis.workloads import le_subscribe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUBSCRIPTIONS = 1_000_000
EVENTS = 2_000_000
REPETITIONS = 3  # at most
FEW = 1_000
SHARDS = (1, 2, 4)
BAR = 1.35  # the two cores of a busy machine are not quite two


@dataclass(frozen=True)
class Costs:
    """Seconds: of a job, of taking one event to one shard, of writing its matches, of putting them together."""

    fixed: float
    look: float
    write: float
    gather: float

    @classmethod
    def of(cls, fixed: float, one: float, two: float, four: float) -> Costs:
        """From jobs of one worker over one, two and four shards."""
        look = max(0.0, (four - two) / 2 / EVENTS)
        return cls(fixed, look, (one - fixed) / EVENTS - look, (two - one) / EVENTS - look)

    def foretold(self, events: int, shards: int, workers: int) -> float:
        gather = self.gather if shards > 1 else 0.0
        return self.fixed + events * (shards * self.look + self.write + gather) / workers


def run(options: Options) -> Iterator[Finding]:
    spark = local_session()
    count = options.subscriptions(SUBSCRIPTIONS)
    workload = f"le_subscribe p=1, {count:,} subscriptions, {EVENTS:,} events"
    measured, fixed = _measured(spark, count, options.repetitions)
    costs = Costs.of(fixed, *(measured[1, shards] for shards in SHARDS))
    yield Finding(
        what="one worker: 1, 2 and 4 shards",
        workload=workload,
        measured=", ".join(f"{measured[1, shards]:.1f}" for shards in SHARDS) + " s",
        details={
            "fixed_s": round(costs.fixed, 2),
            "look_us": round(costs.look * 1e6, 2),
            "write_us": round(costs.write * 1e6, 2),
            "gather_us": round(costs.gather * 1e6, 2),
        },
    )
    for shards in SHARDS:
        seconds, foretold = measured[2, shards], costs.foretold(EVENTS, shards, 2)
        yield Finding(
            what=f"two workers, shards: {shards}: measured / foretold",
            workload=workload,
            measured=f"{seconds / foretold:.2f}×",
            bar=f"{1 / BAR:.2f}–{BAR}×",
            reached=1 / BAR <= seconds / foretold <= BAR,
            details={
                "measured_s": round(seconds, 2),
                "foretold_s": round(foretold, 2),
                "times_one_worker": round(measured[1, shards] / seconds, 2),
                "events_per_second": round(EVENTS / seconds),
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

        def match(path: Path, shards: int, workers: int) -> None:
            with _confined(workers):
                drain(pipeline.match(spark.read.parquet(str(path)), cut[shards], "numbers", keep=[]))

        repetitions = min(repetitions, REPETITIONS)
        fixed = best_of(repetitions, lambda: match(few, 1, 1))[0]
        points = [(workers, shards) for workers in events for shards in SHARDS]
        times = best_of(repetitions, *[lambda w=w, s=s: match(events[w], s, w) for w, s in points])
        return dict(zip(points, times, strict=True)), fixed


@contextmanager
def _confined(cores: int) -> Iterator[None]:
    """This process, and all that it has started, on so many cores for a while: Spark's JVM, and Python's workers."""
    every = os.sched_getaffinity(0)
    _place(set(sorted(every)[:cores]))
    try:
        yield
    finally:
        _place(every)


def _place(cores: set[int]) -> None:
    for process in _started_by(os.getpid()):
        for thread in _entries(Path(f"/proc/{process}/task")):
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.sched_setaffinity(thread, cores)


def _started_by(process: int) -> Iterator[int]:
    """A process and those below it."""
    yield process
    for thread in _entries(Path(f"/proc/{process}/task")):
        with suppress(OSError):
            for child in Path(f"/proc/{process}/task/{thread}/children").read_text().split():
                yield from _started_by(int(child))


def _entries(folder: Path) -> list[int]:
    with suppress(OSError):
        return [int(entry.name) for entry in folder.iterdir()]
    return []
