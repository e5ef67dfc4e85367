"""A bystander of attacks, who publishes and reads at a steady rate, and the memory of the service that is attacked."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from benchmarks.service.server import Server, descendants

_HERE = "127.0.0.2"  # where the bystander's requests come from
_PERIOD = 0.1  # seconds between two publishes
_SETTLED = 90.0  # seconds that a notification is waited for
_FIRST = 1_000_000  # the bystander's numbers begin here, and nobody else's are so large


class Bystander:
    """Somebody who publishes ten events a second, and reads them."""

    def __init__(self, server: Server) -> None:
        transport = httpx.AsyncHTTPTransport(local_address=_HERE, limits=httpx.Limits(max_connections=None))
        self._client = httpx.AsyncClient(
            base_url=server.url,
            timeout=_SETTLED,
            transport=transport,
            headers={"Authorization": f"Bearer {server.key}"},
        )
        self.published: dict[int, float] = {}
        self.answered: dict[int, float] = {}
        self.read: dict[int, float] = {}
        self.refused: list[int] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        made = (await self._client.post("/v1/subscriptions", json={"filter": f"qty >= {_FIRST}"})).raise_for_status()
        listening = asyncio.Event()
        self._tasks = [asyncio.create_task(self._follow(made.json(), listening))]
        await listening.wait()
        self._tasks.append(asyncio.create_task(self._publish()))

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.aclose()

    async def over(self, seconds: float) -> range:
        """The numbers of the events that are published in the seconds to come."""
        first = _FIRST + len(self.published)
        await asyncio.sleep(seconds)
        return range(first, _FIRST + len(self.published))

    async def settled(self, numbers: range) -> None:
        """Waits until all of them have been read."""
        deadline = time.monotonic() + _SETTLED
        while time.monotonic() < deadline and not all(n in self.read or n in self.refused for n in numbers):
            await asyncio.sleep(0.1)

    def waited(self, numbers: range) -> list[float]:
        """Seconds from each publish to its notification; infinite where none has come."""
        return [self.read.get(n, math.inf) - self.published[n] for n in numbers if n not in self.refused]

    def answers(self, numbers: range) -> list[float]:
        """Seconds from each publish to its acknowledgement."""
        return [self.answered.get(n, math.inf) - self.published[n] for n in numbers]

    async def _publish(self) -> None:
        begun, under_way = time.monotonic(), set[asyncio.Task[None]]()
        for turn in range(10_000_000):
            # By the clock, however long the answers take: a slow service is not asked less.
            await asyncio.sleep(max(0.0, begun + turn * _PERIOD - time.monotonic()))
            number = _FIRST + turn
            self.published[number] = time.monotonic()
            task = asyncio.create_task(self._publish_one(number))
            under_way.add(task)
            task.add_done_callback(under_way.discard)

    async def _publish_one(self, number: int) -> None:
        try:
            answer = await self._client.post("/v1/events", json=[{"event_type": "sale", "qty": number}])
        except httpx.TransportError:
            self.refused.append(number)
            return
        self.answered[number] = time.monotonic()
        if answer.status_code != 202:
            self.refused.append(number)

    async def _follow(self, made: Any, listening: asyncio.Event) -> None:
        headers, path = {"Tamis-Ticket": made["ticket"]}, f"/v1/subscriptions/{made['id']}/stream"
        while True:
            with suppress(httpx.TransportError):
                async with self._client.stream("GET", path, headers=headers) as told:
                    listening.set()
                    async for line in told.aiter_lines():
                        name, _, value = line.partition(": ")
                        if name == "data":
                            self.read.setdefault(int(json.loads(value)["event"]["qty"]), time.monotonic())
                        elif name == "id":
                            headers["Last-Event-ID"] = value
            await asyncio.sleep(0.2)


class Memory:
    """Megabytes that a service and what it started have resident, by part, and the most there was at a time."""

    def __init__(self, root: int) -> None:
        self._root = root
        self.most: dict[str, float] = {}
        self.total = 0.0

    def look(self) -> None:
        parts: dict[str, float] = {"service": resident(self._root)}
        for pid, command in descendants(self._root):
            part = next((name for mark, name in _PARTS.items() if mark in command), "workers")
            parts[part] = parts.get(part, 0.0) + resident(pid)
        self.total = max(self.total, sum(parts.values()))
        self.most = {name: max(parts.get(name, 0.0), self.most.get(name, 0.0)) for name in {*parts, *self.most}}

    async def watch(self) -> None:
        while True:
            await asyncio.to_thread(self.look)
            await asyncio.sleep(0.25)


_PARTS = {"tamis.service.examining": "examiners", "tamis.service.worker": "matching", "java ": "java"}


def resident(pid: int) -> float:
    """By what each process has of shared pages: nothing is counted twice."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


def p99(seconds: Sequence[float]) -> float:
    """The 99th percentile, the next larger value."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, math.ceil(len(ordered) * 0.99) - 1)] if ordered else math.nan
