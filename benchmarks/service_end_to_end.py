"""Published until recorded, and until read by 1,000 readers, beside an empty pipeline, the index and a bare fsync."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.findings import Finding, LineSkipped, Options
from benchmarks.service.footprint import PeakMemory, bytes_on_disk, grown
from benchmarks.service.readers import Reading
from benchmarks.service.recording import (
    SETTINGS,
    IndexAlone,
    Recorded,
    bodies,
    import_subscriptions,
    read,
    record,
    write_schema,
)
from benchmarks.service.server import Server
from tamis.workloads import Workload, le_subscribe

READERS = 1_000
READ_EVENTS = 20_000
WARMING = 4_096
CORES = 2  # that Spark's workers match on, of the machine that the bars are for
_MIB = 1 << 20


@dataclass(frozen=True)
class Case:
    """A size of Le Subscribe's workload, how many events are published, and what is asked of it."""

    p: float
    subscriptions: int
    events: int
    events_a_second: int | None = None
    bytes_a_pair: float | None = None

    @property
    def name(self) -> str:
        return f"le_subscribe p={self.p:g}, {self.subscriptions:,} subscriptions"


CASES = (
    Case(0.5, 100_000, 100_000, events_a_second=20_000, bytes_a_pair=3.0),
    Case(1.0, 100_000, 400_000, events_a_second=60_000, bytes_a_pair=5.0),
    Case(0.5, 1_000_000, 20_000, events_a_second=2_000, bytes_a_pair=3.0),
    Case(1.0, 1_000_000, 100_000, bytes_a_pair=5.0),
)


@dataclass(frozen=True)
class Measured:
    """One case, run. `empty` is the pipeline in which nothing matches; sizes are in bytes, times in seconds."""

    case: Case
    recorded: Recorded
    pairs_bytes: int
    bodies_bytes: int
    peak: int
    peak_by_process: dict[str, int]
    read_events: int
    notifications: int
    read_seconds: float
    read_recorded_seconds: float
    empty: Recorded
    index_seconds: float
    fsync_seconds: float

    @property
    def bytes_a_pair(self) -> float:
        return self.pairs_bytes / max(1, self.recorded.matches)

    @property
    def limit_seconds(self) -> float:
        """What the parts take by themselves, one after the other: no service of these parts is faster on this log."""
        return self.empty.seconds + self.index_seconds / CORES + self.fsync_seconds


def run(options: Options) -> Iterator[Finding]:
    chosen = cases(options)
    if not chosen:
        raise LineSkipped(f"no workload has {options.only!r} in its name; there are {', '.join(c.name for c in CASES)}")
    judged = options.events is None
    for case in chosen:
        yield from findings(measured(case, options.tree), judged)


def cases(options: Options) -> list[Case]:
    """The workloads of these options, at their sizes."""
    return [
        Case(
            case.p,
            options.subscriptions(case.subscriptions),
            options.events or max(1, int(case.events * min(1.0, options.scale))),
            case.events_a_second,
            case.bytes_a_pair,
        )
        for case in CASES
        if options.only in case.name
    ]


def measured(case: Case, tree: Path | None = None) -> Measured:
    workload = le_subscribe(case.subscriptions, WARMING + case.events, seed=1, p=case.p)
    warming, timed = (bodies(part) for part in (workload.events.slice(0, WARMING), workload.events.slice(WARMING)))
    published = Workload(workload.name, workload.schema, workload.subscriptions, workload.events.slice(WARMING))
    read_events = min(READ_EVENTS, case.events)
    rows = np.unique(np.linspace(0, case.subscriptions - 1, READERS).astype(np.int64))
    labels = workload.subscriptions["id"].take(pa.array(rows)).to_pylist()
    alone = IndexAlone(published, labels, read_events)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        schema = write_schema(workload, folder)
        empty = _empty(folder, schema, warming, timed, case.events, tree)
        imported = import_subscriptions(workload.subscriptions, schema, folder / "state", tree)
        readings = {
            place: Reading(id, ticket, alone.matches_by_label[label])
            for place, (label, id, ticket) in enumerate(imported)
            if label in alone.matches_by_label
        }
        reading = bodies(published.events.slice(0, read_events))
        with Server(folder / "state", schema, tree=tree, settings=SETTINGS) as server, PeakMemory(server) as memory:
            server.wait_until_ready()
            asyncio.run(record(server, warming, WARMING))
            before = bytes_on_disk(folder / "state")
            recorded = asyncio.run(record(server, timed, case.events))
            if recorded.matches != alone.matches:
                raise AssertionError(f"{recorded.matches:,} matches are recorded, the index has {alone.matches:,}")
            bodies_bytes, pairs_bytes = grown(before, bytes_on_disk(folder / "state"))
            while_read, read_seconds = asyncio.run(read(server, reading, read_events, readings))
        fsync_seconds = min(_written(folder / "bare", pairs_bytes + bodies_bytes) for _ in range(3))
    return Measured(
        case=case,
        recorded=recorded,
        pairs_bytes=pairs_bytes,
        bodies_bytes=bodies_bytes,
        peak=memory.peak,
        peak_by_process=memory.by_process,
        read_events=read_events,
        notifications=sum(one.expected for one in readings.values()),
        read_seconds=read_seconds,
        read_recorded_seconds=while_read.seconds,
        empty=empty,
        index_seconds=alone.seconds,
        fsync_seconds=fsync_seconds,
    )


def _empty(
    folder: Path, schema: Path, warming: list[bytes], timed: list[bytes], events: int, tree: Path | None
) -> Recorded:
    """The events through a service whose one subscription none of them matches."""
    nothing = pa.table({"id": ["nothing"], "filter": ["a1 = 'nothing'"]})
    list(import_subscriptions(nothing, schema, folder / "empty", tree))
    with Server(folder / "empty", schema, tree=tree) as server:
        server.wait_until_ready()
        asyncio.run(record(server, warming, WARMING))
        found = asyncio.run(record(server, timed, events))
    if found.matches:
        raise AssertionError(f"{found.matches:,} matches of a subscription that nothing matches")
    return found


def _written(file: Path, size: int) -> float:
    """Seconds to write so many bytes to a new file and flush them to the disk."""
    piece = os.urandom(8 * _MIB)
    started = time.perf_counter()
    with file.open("wb", buffering=0) as stream:
        for start in range(0, size, len(piece)):
            stream.write(memoryview(piece)[: size - start])
        os.fsync(stream.fileno())
    return time.perf_counter() - started


def findings(measured: Measured, judged: bool) -> Iterator[Finding]:
    """Rows of one case; with another number of events than its own, none is judged."""
    case, recorded, workload = measured.case, measured.recorded, measured.case.name
    rate, pairs = case.events / recorded.seconds, recorded.matches / recorded.seconds
    bar, least = case.events_a_second, case.bytes_a_pair
    yield Finding(
        what="published until recorded",
        workload=f"{workload}, {case.events:,} events",
        measured=f"{rate:,.0f} events/s, {pairs / 1e6:.2f} M pairs/s",
        bar="" if bar is None else f"≥ {bar:,} events/s",
        reached=None if bar is None or not judged else rate >= bar,
        details={
            "matches_per_event": round(recorded.matches / case.events, 1),
            "seconds": round(recorded.seconds, 2),
            "accepted_seconds": round(recorded.accepted, 2),
            "pairs": recorded.matches,
        },
    )
    yield Finding(
        what="on disk for a recorded pair, both orders, events aside",
        workload=workload,
        measured=f"{measured.bytes_a_pair:.2f} bytes",
        bar="" if least is None else f"≤ {least:g}",
        reached=None if least is None or not judged else measured.bytes_a_pair <= least,
        details={
            "pairs_mib": round(measured.pairs_bytes / _MIB, 1),
            "bodies_mib": round(measured.bodies_bytes / _MIB, 1),
        },
    )
    yield Finding(
        what=f"published until read by {READERS:,} readers",
        workload=f"{workload}, {measured.read_events:,} events",
        measured=f"{measured.read_events / measured.read_seconds:,.0f} events/s, "
        f"{measured.notifications / measured.read_seconds:,.0f} notifications/s",
        details={
            "seconds": round(measured.read_seconds, 2),
            "recorded_seconds": round(measured.read_recorded_seconds, 2),
            "notifications": measured.notifications,
        },
    )
    yield Finding(
        what="greatest memory of all processes of the service",
        workload=workload,
        measured=f"{measured.peak / _MIB:,.0f} MiB",
        details={f"{kind}_mib": size // _MIB for kind, size in sorted(measured.peak_by_process.items())},
    )
    limit = measured.limit_seconds
    yield Finding(
        what="recorded / the limit: empty pipeline, index on two cores and a bare fsync after one another",
        workload=workload,
        measured=f"{limit / recorded.seconds:.3f}×",
        details={
            "of_the_empty_pipeline": round(measured.empty.seconds / recorded.seconds, 3),
            "of_the_index_alone": round(measured.index_seconds / recorded.seconds, 4),
            "of_a_bare_fsync": round(measured.fsync_seconds / recorded.seconds, 4),
            "empty_events_per_second": round(case.events / measured.empty.seconds),
            "index_million_pairs_per_second": round(recorded.matches / measured.index_seconds / 1e6, 1),
            "fsync_mib_per_second": round(
                (measured.pairs_bytes + measured.bodies_bytes) / _MIB / measured.fsync_seconds
            ),
        },
    )
