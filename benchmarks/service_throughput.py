"""How many events a second are accepted, each on disk before it is acknowledged."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.findings import Finding, Options
from benchmarks.service.load import Load
from benchmarks.service.server import Server
from benchmarks.service.wire import Publisher

A_REQUEST = 1_000
REQUESTS = 400
CONNECTIONS = 4
BAR = 20_000


def run(options: Options) -> Iterator[Finding]:
    load = Load.of(1_000)
    bodies = [load.body(number * A_REQUEST, A_REQUEST) for number in range(20)]
    with tempfile.TemporaryDirectory() as name:
        schema, _ = load.write(Path(name))
        with Server(Path(name) / "state", schema) as server:
            server.wait_until_ready()
            asyncio.run(_publish(server.port, bodies, 20))
            best = 0.0
            for _ in range(min(3, options.repetitions)):
                started = time.perf_counter()
                asyncio.run(_publish(server.port, bodies, REQUESTS))
                best = max(best, REQUESTS * A_REQUEST / (time.perf_counter() - started))
    yield Finding(
        what="events accepted a second, fsynced",
        workload=f"batches of {A_REQUEST:,} as JSON lines, {CONNECTIONS} connections, matching going on",
        measured=f"{best:,.0f}",
        bar=f"≥ {BAR:,}",
        reached=best >= BAR,
        details={"bytes_a_request": len(bodies[0])},
    )


async def _publish(port: int, bodies: list[bytes], requests: int) -> None:
    left = iter(range(requests))

    async def connection() -> None:
        publisher = Publisher(port)
        for number in left:
            status = await publisher.post(bodies[number % len(bodies)], b"application/x-ndjson")
            if status != 202:
                raise RuntimeError(f"a publish was answered {status}")
        publisher.close()

    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))
