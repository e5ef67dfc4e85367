"""Join texts compiled and applied, results out as Arrow; beside a database asked one query a subscription (P3)."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from statistics import median

import duckdb
import numpy as np
import pyarrow as pa

import tamis
from benchmarks.findings import Finding, Options
from tamis.schema import Schema
from tamis.workloads.select_joins import R_ROWS, SelectJoins, select_joins

MANY, FEW = 1_000_000, 1_000
OTHERWISE_BAR = 100
BATCH, BATCHES = 50, 6
ASKED = 3  # events after which the database is asked everything

SCHEMA = Schema.from_dict(
    {
        "attributes": {"A": "float", "B": "integer", "C": "float"},
        "event_types": {"R": {"A": "mandatory", "B": "mandatory"}, "S": {"B": "mandatory", "C": "mandatory"}},
        "tables": {"R": {"join": ["B"], "retention": {"count": R_ROWS}}, "S": {"join": ["B"]}},
    }
)


def run(options: Options) -> Iterator[Finding]:
    yield from _applied(options.subscriptions(MANY))
    yield _otherwise(FEW)


def _applied(size: int) -> Iterator[Finding]:
    workload = select_joins(size, BATCH * (BATCHES + 1))
    texts = workload.texts()
    index = tamis.compile({}, SCHEMA)
    index.apply(_r(workload, 0, R_ROWS))
    index.apply(_s(workload))
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    refused = index.add(texts)
    seconds, after = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert not refused
    yield Finding(
        what=f"{size:,} join texts compiled",
        workload="select_joins",
        measured=f"{seconds:.1f} s",
        details={"MB more at most": (after - before) // 1024, "bytes of texts, MB": texts.nbytes >> 20},
    )
    rates, results = [], 0
    index.apply(_r(workload, R_ROWS, R_ROWS + BATCH))
    for number in range(1, BATCHES + 1):
        events = _r(workload, R_ROWS + number * BATCH, R_ROWS + (number + 1) * BATCH)
        start = time.process_time()
        results += sum(table.num_rows for table in index.apply(events).to_arrow())
        rates.append(BATCH / (time.process_time() - start))
    each = results / (BATCH * BATCHES)
    yield Finding(
        what=f"index.apply, {size:,} joins, results as Arrow",
        workload="select_joins",
        measured=f"{median(rates):,.0f} events/s",
        details={"results an event": round(each), "results a second": round(each * median(rates))},
    )


def _otherwise(size: int) -> Finding:
    """Contents kept after every event: ours, against as many queries as there are subscriptions."""
    workload = select_joins(size, 4_000)
    index = tamis.compile(workload.texts(), SCHEMA)
    index.apply(_s(workload))
    index.apply(_r(workload, 0, R_ROWS))
    index.apply(_r(workload, R_ROWS, R_ROWS + 1_000))
    start = time.process_time()
    index.apply(_r(workload, R_ROWS + 1_000, R_ROWS + 3_000))
    ours = (time.process_time() - start) / 2_000
    now = R_ROWS + 3_000
    single = []
    for number in range(50):
        event = _r(workload, now + number, now + number + 1)
        start = time.process_time()
        index.apply(event)
        single.append(time.process_time() - start)
    now += 50
    with duckdb.connect() as database:
        database.execute("SET threads = 1")
        r, s = _r(workload, now - R_ROWS, now), _s(workload)
        database.execute("CREATE TABLE R AS SELECT A, B FROM r")
        database.execute("CREATE TABLE S AS SELECT B, C FROM s")
        del r, s
        queries = [text.replace("SELECT *", "SELECT count(*)") for text in workload.texts()["filter"].to_pylist()]
        ids = workload.texts()["id"].to_pylist()
        for place in range(0, size, max(1, size // 50)):
            (found,) = database.execute(queries[place]).fetchone() or (None,)
            assert found == len(index.joins.content(ids[place]))
        start = time.process_time()
        for _ in range(ASKED):
            for query in queries:
                database.execute(query).fetchall()
        asked = (time.process_time() - start) / ASKED
    ratio = asked / median(single)
    return Finding(
        what=f"contents after every event, {size:,} joins: a DuckDB query each ÷ index.apply, an event a call",
        workload="select_joins",
        measured=f"{ratio:,.0f} times",
        bar=f"≥ {OTHERWISE_BAR}",
        reached=ratio >= OTHERWISE_BAR,
        details={
            "ms an event, all queries (they count results only)": round(asked * 1e3, 1),
            "ms an event, in batches of 2,000 with results": round(ours * 1e3, 3),
            "ms an event, one a call": round(median(single) * 1e3, 2),
            "in batches, times": round(asked / ours),
        },
    )


def _r(workload: SelectJoins, start: int, stop: int) -> pa.Table:
    values, keys = workload.r_values[start:stop], workload.r_keys[start:stop]
    return pa.table({"event_type": _type("R", len(keys)), "A": values, "B": keys})


def _s(workload: SelectJoins) -> pa.Table:
    return pa.table({"event_type": _type("S", len(workload.s_keys)), "B": workload.s_keys, "C": workload.s_values})


def _type(name: str, count: int) -> pa.Array:
    values = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), [name]).cast(pa.string())
    return pa.ListArray.from_arrays(pa.array(np.arange(count + 1), pa.int32()), values)
