"""Joins on Spark beside the same server in the process: a history of two tables, 64 keys, batches of 10,000."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet

import tamis
from benchmarks.findings import Finding, Options
from benchmarks.join_history import KEYS, SCHEMA, history, subscriptions
from benchmarks.spark import CORES, local_session
from tamis import pipeline
from tamis.pipeline.joining.cell import row_changes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUBSCRIPTIONS = 1_000
BATCH, WARMING, BATCHES = 10_000, 6, 6  # the JVM takes some batches to compile its part
BAR = 0.3
HOT = 0.5


def run(options: Options) -> Iterator[Finding]:
    spark = local_session()
    count = options.subscriptions(SUBSCRIPTIONS)
    index = tamis.compile(subscriptions(count), SCHEMA)
    even, hot = (history((WARMING + BATCHES) * BATCH, hot=share) for share in (0.0, HOT))
    ours, results = _in_process(index, even)
    theirs = _on_spark(spark, index, even)
    ratio = ours / theirs
    yield Finding(
        what="pipeline.join_stream / the server in the process, events per second",
        workload=f"{KEYS} keys, {count:,} subscriptions, batches of {BATCH:,}, {CORES} cores",
        measured=f"{ratio:.2f}",
        bar=f"≥ {BAR}",
        reached=ratio >= BAR,
        details={
            "events_per_second": round(BATCH / theirs),
            "in_process_events_per_second": round(BATCH / ours),
            "changes_per_event": round(results / BATCH, 1),
        },
    )
    skewed = _on_spark(spark, index, hot)
    own, _ = _in_process(index, hot)
    yield Finding(
        what=f"the same with one key in {HOT:.0%} of the events",
        workload=f"{KEYS} keys, {count:,} subscriptions, batches of {BATCH:,}, {CORES} cores",
        measured=f"{own / skewed:.2f}",
        bar="",
        reached=None,
        details={"events_per_second": round(BATCH / skewed), "in_process_events_per_second": round(BATCH / own)},
    )


def _in_process(index: tamis.Index, events: pa.Table) -> tuple[float, float]:
    """Seconds a batch, and changes a batch; rows as on Spark."""
    server = tamis.compile({id: index.text(id) for id in index.ids().to_pylist()}, SCHEMA).joins
    times, told = [], []
    for number in range(WARMING + BATCHES):
        part = events.slice(number * BATCH, BATCH)
        start = time.perf_counter()
        applied = server.apply(part.drop_columns(["n"]))
        told.append(row_changes(server, applied, part["n"].to_numpy(), {}).num_rows)
        times.append(time.perf_counter() - start)
    return median(times[WARMING:]), median(told[WARMING:])


def _on_spark(spark: SparkSession, index: tamis.Index, events: pa.Table) -> float:
    """Seconds a micro-batch of a running stream: reading, state and sink included."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(WARMING + BATCHES):
            for half in (0, 1):
                part = events.slice(number * BATCH + half * BATCH // 2, BATCH // 2)
                path = Path(folder) / "events" / f"{number:03}-{half}.parquet"
                path.parent.mkdir(exist_ok=True)
                pyarrow.parquet.write_table(part, path)
        stream = (
            spark.readStream.schema(spark.read.parquet(f"{folder}/events").schema)
            .option("maxFilesPerTrigger", 2)
            .parquet(f"{folder}/events")
        )
        query = pipeline.join_stream(
            stream, index, changes=_drain, dead_letters=_drain, checkpoint=f"{folder}/checkpoint", order="n",
            parts=CORES, trigger={"availableNow": True},
        )  # fmt: skip
        query.awaitTermination()
        took = [progress["batchDuration"] / 1000 for progress in query.recentProgress if progress["numInputRows"]]
    if len(took) != WARMING + BATCHES:
        raise AssertionError(f"{len(took)} micro-batches instead of {WARMING + BATCHES}")
    return median(took[WARMING:])


def _drain(frame: DataFrame, _: int) -> None:
    frame.write.format("noop").mode("overwrite").save()
