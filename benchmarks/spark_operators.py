"""Subscriptions that call operators, on Spark and in this process: what the pipeline adds, and what it learns."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import tamis
from benchmarks.findings import Finding, Options
from benchmarks.spark import CORES, drain, local_session, write_parquet
from tamis import pipeline
from tamis.lab.timing import best_of

SUBSCRIPTIONS = 1_000
EVENTS = 40_000
BATCH = 20_000
PLACES = 50
SCHEMA = tamis.Schema.from_dict(
    {
        "attributes": {"place": "integer", "load": "float", "price": "float"},
        "event_types": {"shot": {"place": "mandatory", "load": "mandatory", "price": "mandatory"}},
    }
)


@tamis.operator(batch=True, cost=1.0)
def within(place: pa.Array, which: int) -> Any:
    """One place in fifty."""
    return pc.equal(place, which)


@tamis.operator(batch=True, cost=1.0)
def crowd(load: pa.Array, people: int = tamis.Var) -> Any:
    """How many there are."""
    return pa.table({"row": np.arange(len(load)), "people": pc.floor(load).cast(pa.int64())})


def run(options: Options) -> Iterator[Finding]:
    spark = local_session()
    count = options.subscriptions(SUBSCRIPTIONS)
    random = np.random.default_rng(1)
    events = pa.table(
        {
            "place": random.integers(0, PLACES, EVENTS),
            "load": random.uniform(0, 100, EVENTS),
            "price": random.uniform(0, 1000, EVENTS),
        }
    )
    filters = {
        f"s{number}": f"price < {random.integers(1, 200)} AND within({random.integers(0, PLACES)}) "
        f"AND crowd(?people) AND ?people > {random.integers(50, 100)}"
        for number in range(count)
    }
    index = tamis.compile(filters, SCHEMA, operators=[within, crowd])
    batches = events.to_batches(max_chunksize=BATCH)
    with tempfile.TemporaryDirectory() as folder:
        path = write_parquet(events, Path(folder) / "events")

        def alone() -> None:
            for batch in batches:
                index.match(batch).bindings()

        def on_spark() -> None:
            drain(pipeline.match(spark.read.parquet(str(path)), index, "arrays", keep=[], folder=folder))

        on_spark()
        here, there = best_of(options.repetitions, alone, on_spark)
    yield Finding(
        what=f"events a second on Spark ({CORES} cores) / in this process (1 thread)",
        workload=f"{count:,} subscriptions that call operators, {EVENTS:,} events, bindings included",
        measured=f"{EVENTS / there:,.0f} / {EVENTS / here:,.0f} = {here / there:.2f}×",
        details={"spark_s": there, "process_s": here, "operators": str(index.operators)},
    )
