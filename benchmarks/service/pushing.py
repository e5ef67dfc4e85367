"""Webhooks: how many notifications a second go to one endpoint that takes 50 ms to answer, by window and batch.

python -m benchmarks.service.pushing [--delay 0.05]

A store is filled with matches of one subscription, then delivery runs over it, in this process; the endpoint is a
process of its own. `cpu` is this process's, per notification: what a machine with a free core has left.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import uvicorn

from tamis.service.base.configuration import DeliverySettings, Settings
from tamis.service.delivery import Delivery
from tamis.service.store import FOREVER, NewSubscription, Store

SCHEMA = {
    "attributes": {"price": "float", "title": "string", "seller": "string"},
    "event_types": {"antiques": {"price": "optional", "title": "optional", "seller": "optional"}},
}
FILTER = "price < 500"
WINDOWS = [(1, 1, 100), (8, 1, 800), (64, 1, 10_000), (1, 100, 10_000), (8, 100, 20_000)]
"""Calls under way, notifications a call, and how many notifications to send."""


class Endpoint(asyncio.Protocol):
    """Answers each POST with 200 after a while, and reads no more of it than its length."""

    delay = 0.05

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._read = bytearray()

    def data_received(self, data: bytes) -> None:
        self._read += data
        while (end := self._read.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._read[:end]).lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
            if len(self._read) < end + 4 + length:
                return
            del self._read[: end + 4 + length]
            answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
            asyncio.get_running_loop().call_later(self.delay, self._transport.write, answer)


def _serve(port: int, delay: float) -> None:
    async def serve() -> None:
        Endpoint.delay = delay
        server = await asyncio.get_running_loop().create_server(Endpoint, "127.0.0.1", port)
        await server.serve_forever()

    asyncio.run(serve())


@contextmanager
def endpoint(delay: float) -> Iterator[str]:
    """The URL of an endpoint that answers after `delay` seconds."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(port, delay), daemon=True)
    process.start()
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/hook"
    finally:
        process.terminate()
        process.join()


def filled(folder: Path, url: str, parallel: int, batch: int, count: int) -> tuple[Store, int]:
    """A store with `count` matches of one subscription; its number."""
    store = Store.open(f"sqlite:///{folder / 'store.sqlite'}")
    store.schemas.add(SCHEMA)
    delivery = {"mode": "webhook", "url": url, "secret": "whsec_" + "A" * 44, "parallel": parallel, "batch": batch}
    new = NewSubscription(owner="", text=FILTER, filter=FILTER, expires=FOREVER, delivery=delivery)
    number = store.subscriptions.create(new)[0].number
    for batch_number, first in enumerate(range(0, count, 5_000), 1):
        size = min(5_000, count - first)
        positions = pa.array([batch_number << 24 | rank for rank in range(1, size + 1)], pa.int64())
        bodies = [
            json.dumps({"price": 100.0 + rank % 300, "title": f"Writing desk {rank}", "seller": f"seller {rank % 97}"})
            for rank in range(size)
        ]
        events = {
            "position": positions,
            "id": pa.array([f"evt_{first + rank:032x}" for rank in range(size)]),
            "time": pa.array([datetime.now(UTC)] * size, pa.timestamp("us", "UTC")),
            "body": pa.array(bodies),
        }
        pairs = {
            "position": positions,
            "subscription": pa.array([number] * size, pa.int64()),
            "bindings": pa.nulls(size, pa.string()),
        }
        store.notifications.record("stream", batch_number, pa.table(events), pa.table(pairs))
    return store, number


async def pushed(store: Store, number: int, count: int) -> tuple[float, float]:
    """Seconds of the clock and of this process until the endpoint has acknowledged everything."""
    settings = Settings(delivery=DeliverySettings(allow_private=True))
    delivery = Delivery(store, settings)
    used, begun = _cpu(), time.perf_counter()
    await delivery.start()
    while delivery.status()["delivered"] < count:
        await asyncio.sleep(0.005)
    seconds, cpu = time.perf_counter() - begun, _cpu() - used
    await delivery.stop()
    head = store.notifications.head()
    assert store.deliveries.get([number])[number].cursor == head
    return seconds, cpu


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds that the endpoint takes")
    given = parser.parse_args()
    print(f"one endpoint on loopback that answers in {given.delay * 1000:.0f} ms")
    print(f"{'parallel':>8} {'batch':>6} {'notifications/s':>16} {'cpu ms each':>12}")
    with endpoint(given.delay) as url:
        for parallel, batch, count in WINDOWS:
            with tempfile.TemporaryDirectory() as folder:
                store, number = filled(Path(folder), url, parallel, batch, count)
                seconds, cpu = _run(store, number, count)
                store.close()
            print(f"{parallel:>8} {batch:>6} {count / seconds:>16,.0f} {1000 * cpu / count:>12.3f}", flush=True)


def _run(store: Store, number: int, count: int) -> tuple[float, float]:
    """On the event loop that the service runs on."""
    loop = uvicorn.Config(lambda: None).get_loop_factory()
    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(pushed(store, number, count))


if __name__ == "__main__":
    main()
