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
from tamis.lab.timing import elapsed
from tamis.workloads import Workload

A_REQUEST = 5_000
CONNECTIONS = 2
PATIENCE = 900.0  # seconds until all must be recorded or read
# A thousand readers come at once here; a server lets in 25 a second by default.
SETTINGS = {"TAMIS_LIMITS_LISTENERS_PER_SECOND": "100000", "TAMIS_LIMITS_LISTENER_BURST": "100000"}
_BATCH = 4096
_POLL = 0.05
_STILL = 2.0  # seconds in which delivery's position does not move, once it has come to the end


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

    `seconds` is the best of three passes over all events; `matches_by_label` counts among the first `counted` events,
    of the labels given.
    """

    def __init__(self, workload: Workload, labels: Sequence[str], counted: int) -> None:
        index = tamis.compile(workload.subscriptions, workload.schema)
        batches = list(workload.batches(_BATCH))

        def match() -> int:
            return sum(len(index.match(batch)) for batch in batches)

        self.matches = match()
        self.seconds = min(elapsed(match) for _ in range(3))
        names = index.match(batches[0]).names
        totals: Int64s = np.zeros(len(names), np.int64)
        for batch in workload.events.slice(0, counted).combine_chunks().to_batches(max_chunksize=_BATCH):
            totals += np.bincount(index.match(batch).numbers, minlength=len(names))
        wanted = set(labels)
        pairs = zip(names.to_pylist(), totals.tolist(), strict=True)
        self.matches_by_label = {name: count for name, count in pairs if name in wanted}


async def record(server: Server, requests: Sequence[bytes], events: int) -> Recorded:
    """Publishes all requests, and waits until the service says that so many events more are matched and recorded."""
    async with _administrator(server) as http:
        before = (await _status(http))["pipeline"]
        started = time.perf_counter()
        publishing = asyncio.create_task(_publish(server.port, requests))
        while True:
            now = (await _status(http))["pipeline"]
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
    # `latest` is where delivery is: a reader who connects while it goes through earlier matches is told of them.
    await _delivered(server)
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


async def _delivered(server: Server) -> None:
    """Returns when delivery has gone through all matches that are recorded."""
    async with _administrator(server) as http:
        position, since = None, time.monotonic()
        while time.monotonic() - since < _STILL:
            now = (await _status(http))["delivery"]["position"]
            if now != position:
                position, since = now, time.monotonic()
            await asyncio.sleep(_POLL)


def _administrator(server: Server) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=server.url, headers={"Authorization": f"Bearer {server.key}"}, timeout=60.0)


async def _status(http: httpx.AsyncClient) -> dict[str, Any]:
    while (answer := await http.get("/v1/status")).status_code == httpx.codes.SERVICE_UNAVAILABLE:
        await asyncio.sleep(_POLL)  # the store is too busy to be counted
    found: dict[str, Any] = answer.raise_for_status().json()
    return found


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
