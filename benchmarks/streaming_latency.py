"""From event written to match written, through a running stream."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import tamis
from benchmarks.findings import Finding, Options
from benchmarks.spark import local_session
from tamis import pipeline
from tamis.lab.timing import percentile
from tamis.workloads import le_subscribe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SUBSCRIPTIONS = 100_000
WRITES = 150
EVENTS_A_WRITE = 20
INTERVAL = 0.2  # seconds from one write to the next
WARM_UP = 25  # writes whose latency is not counted
BAR_SECONDS = 0.7
PATIENCE = 120.0


def run(options: Options) -> Iterator[Finding]:
    spark = local_session()
    count = options.subscriptions(SUBSCRIPTIONS)
    workload = le_subscribe(count, WRITES * EVENTS_A_WRITE, seed=1, p=0.5)
    index = tamis.compile(workload.subscriptions, workload.schema)
    events = workload.events.combine_chunks()
    matching = events.filter(pa.array(index.match(events).counts > 0))  # an event without matches is never written out
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        index.save(folder / "index")
        (folder / "events").mkdir()
        _write(folder / "events", 0, matching.slice(0, 1), 0)
        written: dict[int, float] = {}
        done: dict[int, float] = {}
        to_files = pipeline.to_files(folder / "matches")

        def sink(rows: DataFrame, batch: int) -> None:
            to_files(rows, batch)
            done[batch] = time.time()

        query = pipeline.stream(
            pipeline.read_parquet(spark, folder / "events", stream=True),
            folder / "index",
            matches=sink,
            dead_letters=pipeline.to_files(folder / "dead"),
            checkpoint=folder / "checkpoint",
            keep=["write"],
        )
        try:
            _wait_for(lambda: bool(done), "the first batch")
            for number in range(1, WRITES):
                piece = matching.slice(number * EVENTS_A_WRITE % (len(matching) - EVENTS_A_WRITE), EVENTS_A_WRITE)
                _write(folder / "events", number, piece, number)
                written[number] = time.time()
                time.sleep(INTERVAL)
            latencies = _latencies(folder / "matches", written, done)
        finally:
            query.stop()
    counted = [latency for number, latency in latencies.items() if number >= WARM_UP]
    p50, p95 = percentile(counted, 0.5), percentile(counted, 0.95)
    yield Finding(
        what="event written to match written, p50",
        workload=f"le_subscribe p=0.5, {count:,} subscriptions, {EVENTS_A_WRITE} events every {INTERVAL:g} s",
        measured=f"{p50:.2f} s (p95 {p95:.2f} s)",
        bar=f"≤ {BAR_SECONDS} s",
        reached=p50 <= BAR_SECONDS,
        details={"p50_s": p50, "p95_s": p95, "worst_s": max(counted), "batches": len(done), "writes": len(counted)},
    )


def _write(folder: Path, number: int, rows: pa.Table, mark: int) -> None:
    """A new file, seen whole or not at all: Spark passes over names that begin with a dot."""
    marked = rows.append_column("write", pa.array(np.full(len(rows), mark)))
    hidden = folder / f".{number}.parquet"
    pyarrow.parquet.write_table(marked, hidden)
    hidden.rename(folder / f"{number:05}.parquet")


def _latencies(matches: Path, written: dict[int, float], done: dict[int, float]) -> dict[int, float]:
    """Seconds from each write to the end of the batch that has its matches, once all have been seen."""
    seen: dict[int, int] = {}

    def all_seen() -> bool:
        seen.update({mark: batch for batch in sorted(done) for mark in _marks(matches / f"batch={batch}")})
        return written.keys() <= seen.keys()

    _wait_for(all_seen, "the last write")
    return {mark: done[seen[mark]] - at for mark, at in written.items()}


def _wait_for(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come through within {PATIENCE:.0f} s")
        time.sleep(0.2)


def _marks(folder: Path) -> set[int]:
    marks: set[int] = set()
    for file in folder.glob("*.parquet"):
        marks.update(pyarrow.parquet.read_table(file, columns=["write"], partitioning=None)["write"].to_pylist())
    return marks
