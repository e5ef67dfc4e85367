"""pipeline.match beside the join that a Spark user would write."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import tamis
from benchmarks.findings import Finding, Options
from benchmarks.spark import drain, local_session, write_parquet
from tamis import pipeline
from tamis.lab.timing import best_of
from tamis.workloads import le_subscribe
from tamis.workloads.papers import NUMBERS, STRINGS

if TYPE_CHECKING:
    from pyspark.sql import Column

SUBSCRIPTIONS = 100_000
EVENTS = 200_000
JOINED_EVENTS = 400  # the join takes a second for them
BAR = 100


def run(options: Options) -> Iterator[Finding]:
    spark = local_session()
    count = options.subscriptions(SUBSCRIPTIONS)
    workload = le_subscribe(count, EVENTS, seed=1, p=0.5)
    index = tamis.compile(workload.subscriptions, workload.schema)
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "index")
        events = write_parquet(workload.events, Path(folder) / "events")
        few = write_parquet(workload.events.slice(0, JOINED_EVENTS), Path(folder) / "few")
        subscriptions = write_parquet(_as_columns(workload.subscriptions), Path(folder) / "subscriptions")
        small = len(index.match(workload.events.slice(0, JOINED_EVENTS)))
        joined = (
            spark.read.parquet(str(few))
            .alias("e")
            .join(spark.read.parquet(str(subscriptions)).alias("s"), on=_condition())
        )
        if (found := joined.count()) != small:
            raise AssertionError(f"the join finds {found} matches, Tamis {small}")

        def match() -> None:
            drain(pipeline.match(spark.read.parquet(str(events)), Path(folder) / "index", keep=[]))

        ours, theirs = best_of(min(3, options.repetitions), match, lambda: drain(joined.select("id")))
    ratio = (EVENTS / ours) / (JOINED_EVENTS / theirs)
    yield Finding(
        what="pipeline.match / join in Spark, events per second",
        workload=f"le_subscribe p=0.5, {count:,} subscriptions",
        measured=f"{ratio:.0f}×",
        bar=f"≥ {BAR}×",
        reached=ratio >= BAR,
        details={
            "events_per_second": round(EVENTS / ours),
            "join_events_per_second": round(JOINED_EVENTS / theirs),
            "matches_per_event": round(small / JOINED_EVENTS, 1),
        },
    )


def _condition() -> Column:
    from pyspark.sql import functions

    terms = [f"(s.{name} IS NULL OR e.{name} = s.{name})" for name in STRINGS]
    terms += [f"(s.{name}_lo IS NULL OR e.{name} BETWEEN s.{name}_lo AND s.{name}_hi)" for name in NUMBERS]
    return functions.expr(" AND ".join(terms))


def _as_columns(subscriptions: pa.Table) -> pa.Table:
    """What a user would keep: a column a string, two columns a number, null where nothing is asked."""
    texts = subscriptions["filter"].combine_chunks()
    columns = {"id": subscriptions["id"].combine_chunks()}
    for name in STRINGS:
        columns[name] = pc.struct_field(pc.extract_regex(texts, f"{name} = '(?P<value>[^']*)'"), "value")
    for name in NUMBERS:
        found = pc.extract_regex(texts, f"{name} (?P<sign>[<>=]) (?P<value>[0-9]+)")
        sign, value = pc.struct_field(found, "sign"), pc.cast(pc.struct_field(found, "value"), pa.int64())
        less, greater = pc.equal(sign, "<"), pc.equal(sign, ">")
        columns[f"{name}_lo"] = pc.if_else(less, np.iinfo(np.int64).min, pc.if_else(greater, pc.add(value, 1), value))
        columns[f"{name}_hi"] = pc.if_else(
            greater, np.iinfo(np.int64).max, pc.if_else(less, pc.subtract(value, 1), value)
        )
    return pa.table(columns)
