"""Events published to a real server in large requests, and the time until what they match is recorded and read."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet
import yaml

import tamis
from benchmarks.findings import LineSkipped
from benchmarks.service.readers import Crowd, Reading
from benchmarks.service.server import Server, environment
from benchmarks.service.wire import Publisher
from tamis.arrays import Int64s
from tamis.workloads import Workload

A_REQUEST = 5_000
CONNECTIONS = 2
PATIENCE = 900.0  # seconds until all must be recorded or read
# A thousand readers come at once here; a server lets in 25 a second by default.
SETTINGS = {"TAMIS_LIMITS_LISTENERS_PER_SECOND": "100000", "TAMIS_LIMITS_LISTENER_BURST": "100000"}
_BATCH = 4096
_POLL = 0.05


@dataclass(frozen=True)
class Recorded:
    """Seconds from the first publish until all was acknowledged, and until all was recorded; and how many matches."""

    accepted: float
    seconds: float
    matches: int


def write_schema(workload: Workload, folder: Path) -> Path:
    schema = folder / "schema.yaml"
    schema.write_text(yaml.safe_dump(workload.schema.to_dict()), encoding="utf-8")
    return schema


def bodies(events: pa.Table, a_request: int = A_REQUEST) -> list[bytes]:
    """Events as JSON lines without the attributes that they lack, one body a request."""
    return [
        b"\n".join(
            orjson.dumps({name: value for name, value in event.items() if value is not None})
            for event in events.slice(start, a_request).to_pylist()
        )
        for start in range(0, len(events), a_request)
    ]


def import_subscriptions(
    subscriptions: pa.Table, schema: Path, state: Path, tree: Path | None = None
) -> Iterator[tuple[str, str, str]]:
    """Through `tamis import`; gives the label, id and ticket of each as they come to be read."""
    file, tickets = state.parent / f"{state.name}.parquet", state.parent / f"{state.name}.tickets.jsonl"
    pyarrow.parquet.write_table(subscriptions, file)
    where = ["--state", str(state), "--schema", str(schema), "--tickets", str(tickets)]
    command = [sys.executable, "-m", "tamis.cli", "import", str(file), *where]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(tree))
    if done.returncode != 0:
        raise LineSkipped(f"the subscriptions could not be imported: {done.stderr[-1000:]}")
    with tickets.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield row["id"], row["subscription"], row["ticket"]


class IndexAlone:
    """The index of a workload in this process, one thread, no service: matching time, and each subscription's matches.

    `matches_by_label` counts among the first `counted` events, of the labels given.
    """

    def __init__(self, workload: Workload, labels: Sequence[str], counted: int) -> None:
        index = tamis.compile(workload.subscriptions, workload.schema)
        batches = list(workload.batches(_BATCH))
        index.match(batches[0])
        self.matches, self.seconds, left = 0, 0.0, counted
        totals: Int64s = np.zeros(0, np.int64)
        names: pa.ChunkedArray | None = None
        for batch in batches:
            started = time.perf_counter()
            found = index.match(batch)
            self.matches += len(found)
            self.seconds += time.perf_counter() - started
            if left > 0:
                names = found.names
                numbers = found.numbers[: found.offsets[min(left, batch.num_rows)]]
                counts = np.bincount(numbers, minlength=len(names))
                totals = counts if not len(totals) else totals + counts
                left -= batch.num_rows
        wanted = set(labels)
        pairs = zip([] if names is None else names.to_pylist(), totals.tolist(), strict=True)
        self.matches_by_label = {name: count for name, count in pairs if name in wanted}


async def record(server: Server, requests: Sequence[bytes], events: int) -> Recorded:
    """Publishes all requests, and waits until the service says that so many events more are matched and recorded."""
    async with httpx.AsyncClient(
        base_url=server.url, headers={"Authorization": f"Bearer {server.key}"}, timeout=60.0
    ) as http:
        before = await _pipeline(http)
        started = time.perf_counter()
        publishing = asyncio.create_task(_publish(server.port, requests))
        while True:
            now = await _pipeline(http)
            seconds = time.perf_counter() - started
            if now["events"] - before["events"] >= events:
                break
            if now["restarts"] != before["restarts"]:
                raise RuntimeError(f"the pipeline was started again: {now['error']}")
            if publishing.done():
                publishing.result()
            if seconds > PATIENCE:
                raise LineSkipped(f"{now['events'] - before['events']:,} of {events:,} events in {PATIENCE:.0f} s")
            await asyncio.sleep(_POLL)
        return Recorded(await publishing, seconds, now["matches"] - before["matches"])


async def read(
    server: Server, requests: Sequence[bytes], events: int, readings: Mapping[int, Reading]
) -> tuple[Recorded, float]:
    """What `record` gives, and the seconds until each reader has all that it expects."""
    crowd = Crowd(server.port, readings)
    await crowd.connect()
    await asyncio.sleep(1.0)
    started = time.perf_counter()
    try:
        async with asyncio.timeout(PATIENCE):
            recorded, ended = await asyncio.gather(record(server, requests, events), _ended(crowd))
    except TimeoutError:
        raise LineSkipped(f"{crowd.missing:,} notifications were not read in {PATIENCE:.0f} s") from None
    finally:
        crowd.close()
    return recorded, ended - started


async def _ended(crowd: Crowd) -> float:
    await crowd.complete()
    return time.perf_counter()


async def _pipeline(http: httpx.AsyncClient) -> dict[str, Any]:
    answer = (await http.get("/v1/status")).raise_for_status().json()
    pipeline: dict[str, Any] = answer["pipeline"]
    return pipeline


async def _publish(port: int, requests: Sequence[bytes]) -> float:
    """Seconds until the last request was acknowledged."""
    started, left = time.perf_counter(), iter(requests)

    async def connection() -> None:
        publisher = Publisher(port)
        for body in left:
            status = await publisher.post(body, b"application/x-ndjson")
            if status != 202:
                raise RuntimeError(f"a publish was answered {status}")
        publisher.close()

    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))
    return time.perf_counter() - started
