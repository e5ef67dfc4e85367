"""100,000 subscriptions, a steady stream of events, and readers who note when each event reaches them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet
import yaml

from benchmarks.service.server import Server
from benchmarks.service.wire import Publisher, read_stream
from tamis.workloads import Workload, le_subscribe

LANES = 1_000


@dataclass
class Load:
    """P2's workload at p=1 (about twelve matches an event at 100,000), whose events also say when they were sent and
    in which lane: a reader of a lane gets every thousandth event, `lane >= 0` would get all.
    """

    workload: Workload
    rows: list[dict[str, object]] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = self.workload.events.to_pylist()

    @classmethod
    def of(cls, subscriptions: int) -> Load:
        return cls(le_subscribe(subscriptions, 20_000, seed=1, p=1.0))

    def write(self, folder: Path) -> tuple[Path, Path]:
        """The schema and the subscriptions as files."""
        form: dict[str, Any] = self.workload.schema.to_dict()
        form["attributes"] |= {"sent": "float", "lane": "integer"}
        for attributes in form["event_types"].values():
            attributes |= {"sent": "optional", "lane": "optional"}
        schema, subscriptions = folder / "schema.yaml", folder / "subscriptions.parquet"
        schema.write_text(yaml.safe_dump(form), encoding="utf-8")
        pyarrow.parquet.write_table(pa.table(self.workload.subscriptions), subscriptions)
        return schema, subscriptions

    def event(self, number: int) -> dict[str, object]:
        return {**self.rows[number % len(self.rows)], "sent": time.time(), "lane": number % LANES}

    def body(self, first: int, count: int) -> bytes:
        """Events as JSON lines."""
        return b"\n".join(orjson.dumps(self.event(number)) for number in range(first, first + count))


def subscribe(server: Server, filters: Sequence[str], **more: object) -> list[tuple[str, str]]:
    """(id, ticket) of new subscriptions."""
    made = []
    with httpx.Client(base_url=server.url, timeout=30.0) as http:
        for filter in filters:
            answer = http.post("/v1/subscriptions", json={"filter": filter, **more}).raise_for_status().json()
            made.append((answer["id"], answer["ticket"]))
    return made


async def latencies(
    server: Server,
    load: Load,
    readers: Sequence[tuple[str, str]],
    *,
    rate: float,
    a_request: int,
    seconds: float,
    idle: Sequence[tuple[str, str]] = (),
) -> list[float]:
    """Seconds from just before an event was posted to its notification at a reader; the first fifth is not counted."""
    seen: list[tuple[float, float]] = []

    def note(now: float, notification: dict[str, object]) -> None:
        event = notification["event"]
        assert isinstance(event, dict)
        seen.append((event["sent"], now - event["sent"]))

    connected = asyncio.Semaphore(0)

    def follow(id: str, ticket: str, seen: Callable[[float, dict[str, object]], None]) -> asyncio.Task[None]:
        path = f"/v1/subscriptions/{id}/stream?cursor=latest"
        return asyncio.create_task(read_stream(server.port, path, ticket, seen, connected))

    tasks = [follow(*reader, note) for reader in readers]
    tasks += [follow(*reader, lambda *_: None) for reader in idle]
    for _ in tasks:
        await connected.acquire()
    start = time.time()
    await publish_steadily(server, load, rate=rate, a_request=a_request, seconds=seconds)
    expected = start + seconds
    for _ in range(100):
        await asyncio.sleep(0.1)
        if seen and max(sent for sent, _ in seen) > expected - 0.5:
            break
    await asyncio.sleep(2.0)
    for task in tasks:
        task.cancel()
    failures = [each for each in await asyncio.gather(*tasks, return_exceptions=True) if isinstance(each, Exception)]
    if failures:
        raise failures[0]
    return [took for sent, took in seen if sent > start + seconds / 5]


async def publish_steadily(server: Server, load: Load, *, rate: float, a_request: int, seconds: float) -> None:
    """Posts at fixed moments, whether or not earlier posts were answered: a slow server is not spared."""
    free: asyncio.Queue[Publisher] = asyncio.Queue()
    for _ in range(32):
        free.put_nowait(Publisher(server.port))
    under_way: set[asyncio.Task[None]] = set()

    async def post(number: int, publisher: Publisher) -> None:
        status = await publisher.post(load.body(number * a_request, a_request), b"application/x-ndjson")
        if status != 202:
            raise RuntimeError(f"a publish was answered {status}")
        free.put_nowait(publisher)

    start, requests = time.monotonic(), int(seconds * rate / a_request)
    for number in range(requests):
        wait = start + number * a_request / rate - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        task = asyncio.create_task(post(number, await free.get()))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
    await asyncio.gather(*under_way)
    while not free.empty():
        free.get_nowait().close()


def lanes(count: int) -> list[str]:
    """Filters of readers who get every thousandth event each."""
    return [f"lane = {lane}" for lane in np.linspace(0, LANES - 1, count).astype(int).tolist()]
