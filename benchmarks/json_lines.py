"""JSON lines in, matches out, one thread, beside what engines in use were measured to do on the same workload."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.json

import tamis
from benchmarks.findings import Finding, Options
from tamis.lab.timing import best_of
from tamis.workloads import le_subscribe

EVENTS = 50_000
BAR = 20
# Events per second on two cores, each engine's own parsing of JSON included, measured by us on the same workload.
EQUALITY_RIVALS = {"event-ruler": 12_200, "quamina": 300}  # a million subscriptions; event-ruler took 3.4 GB of heap
RANGE_RIVALS = {"be-tree": 350}  # a hundred thousand subscriptions; event-ruler could not build its machine


def run(options: Options) -> Iterator[Finding]:
    yield _beside(options, 1_000_000, 1.0, EQUALITY_RIVALS)
    yield _beside(options, 100_000, 0.5, RANGE_RIVALS)


def _beside(options: Options, size: int, p: float, rivals: dict[str, int]) -> Finding:
    count = options.subscriptions(size)
    workload = le_subscribe(count, EVENTS, seed=1, p=p)
    index = tamis.compile(workload.subscriptions, workload.schema)
    lines = _json_lines(workload.events)
    # Attributes that are absent in a block of lines must still get the type that the schema gives them.
    form = pa.schema([workload.schema.arrow_schema.field(name) for name in workload.events.column_names])
    parsing = pyarrow.json.ParseOptions(explicit_schema=form, unexpected_field_behavior="error")
    reading = pyarrow.json.ReadOptions(use_threads=False)

    def parse() -> pa.Table:
        return pyarrow.json.read_json(io.BytesIO(lines), read_options=reading, parse_options=parsing)

    def match() -> int:
        return sum(len(index.match(batch)) for batch in parse().to_batches())

    both, parsed = best_of(options.repetitions, match, parse)
    best, speed = max(rivals.items(), key=lambda rival: rival[1])
    rate = EVENTS / both
    return Finding(
        what=f"JSON lines to matches / {best}, events per second",
        workload=f"le_subscribe p={p:g}, {count:,} subscriptions",
        measured=f"{rate / speed:.0f}×",
        bar=f"≥ {BAR}×",
        reached=rate / speed >= BAR,
        details={
            "events_per_second": round(rate),
            "rivals_events_per_second": rivals,
            "parsing_us_per_event": round(parsed / EVENTS * 1e6, 2),
            "all_us_per_event": round(both / EVENTS * 1e6, 2),
            "matches_per_event": round(match() / EVENTS, 1),
        },
    )


def _json_lines(events: pa.Table) -> bytes:
    rows = ({name: value for name, value in row.items() if value is not None} for row in events.to_pylist())
    return "\n".join(map(json.dumps, rows)).encode()
