"""Services on PostgreSQL and Kafka, as processes of their own, and those who use them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import yaml
from aiokafka import AIOKafkaConsumer

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = {
    "attributes": {"price": "float", "n": "integer"},
    "event_types": {"lot": {"price": "optional", "n": "optional"}},
}
PATIENCE = 180.0

_STARTED = "Spark is running"

# Spark is started by other Java processes, and by shells.
SPARKS_JAVA = re.compile(r"^\S*/java -cp (?!.*launcher\.Main).* org\.apache\.spark\.deploy\.SparkSubmit")


@dataclass
class Host:
    """One service with a folder and a port of its own; the store, the log and the topics are shared with others.

    `said` are the lines since it was last started, `log` are all of them with their moments.
    """

    folder: Path
    store: str
    servers: str
    topic: str
    jars: str
    more: dict[str, Any] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    log: list[tuple[float, str]] = field(default_factory=list)
    process: subprocess.Popen[str] | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self._port}"
        (self.folder / "schema.yaml").write_text(yaml.safe_dump(SCHEMA), encoding="utf-8")
        settings = {
            "store_url": self.store,
            "log_url": f"kafka://{self.servers}/{self.topic}",
            "spark_master": "local[1]",
            "spark_config": {"spark.jars": self.jars},
            "delivery": {"kafka": self.servers},
            **self.more,
        }
        (self.folder / "settings.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")

    def start(self) -> None:
        options = ["--state", "state", "--schema", "schema.yaml", "--settings", "settings.yaml"]
        self.said = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tamis.cli", "serve", *options, "--port", str(self._port)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stderr=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._listen, args=(self.process,), daemon=True).start()

    def wait_until_it_says(self, words: str = _STARTED) -> None:
        until(lambda: any(words in line for line in self.said), f"{words!r}", self.said)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """Ends it as its user would; what it ended with."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def subscribe(self, filter: str, **more: Any) -> Any:
        return httpx.post(f"{self.address}/v1/subscriptions", json={"filter": filter, **more}).raise_for_status().json()

    def publish(self, events: list[dict[str, Any]], key: str) -> None:
        """Until they are acknowledged, also by the service that comes after this one."""

        def published() -> bool:
            try:
                answer = httpx.post(f"{self.address}/v1/events", json=events, headers={"Idempotency-Key": key})
            except httpx.TransportError:
                return False
            return answer.status_code == 202

        until(published, "an acknowledgement", self.said)

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            self.said.append(line.rstrip())
            self.log.append((time.monotonic(), line.rstrip()))


def read_stream(host: Host, subscription: Any, count: int) -> list[dict[str, Any]]:
    """A subscription's notifications by server-sent events, resumed as a browser would, until there are so many."""
    found: list[dict[str, Any]] = []
    last = {"Tamis-Ticket": subscription["ticket"]}
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            path = f"{host.address}/v1/subscriptions/{subscription['id']}/stream"
            with httpx.stream("GET", path, headers=last, timeout=httpx.Timeout(5, read=30)) as answer:
                for line in answer.iter_lines():
                    name, _, value = line.partition(": ")
                    if name == "id":
                        last["Last-Event-ID"] = value
                    elif name == "data":
                        found.append(json.loads(value))
                        if len({one["id"] for one in found}) >= count:
                            return found
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(f"{len(found)} of {count} came; the service said {host.said[-5:]}")


def read_topic(servers: str, topic: str, subscription: str, count: int) -> list[dict[str, Any]]:
    """The notifications of a subscription on a topic, repeats and all, from the beginning until there are so many."""

    async def read() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        consumer = AIOKafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest")
        await consumer.start()
        try:
            async with asyncio.timeout(PATIENCE):
                while len({one["id"] for one in found}) < count:
                    read = await consumer.getmany(timeout_ms=500)
                    messages = [message for some in read.values() for message in some]
                    found += (json.loads(one.value or b"") for one in messages if one.key == subscription.encode())
        finally:
            await consumer.stop()
        return found

    return asyncio.run(read())


def until(holds: Any, what: str, said: list[str]) -> None:
    """Waits for something to hold."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain for {what}; the service said {said[-5:]}"
        time.sleep(0.1)
