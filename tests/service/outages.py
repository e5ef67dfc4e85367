"""Two services over one PostgreSQL and one Kafka while processes are killed and both servers go away under load.

    python -m tests.service.outages --kills 30 --outage 60        # a quarter of an hour; prints the verdict

Publishers send each publish under an idempotency key, again at the other service until it is acknowledged; readers poll
or follow by server-sent events and change services; a watcher asks every service whether it is ready. Expected
notifications are computed from events and windows of prices in `expected`, which knows nothing of Tamis.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import tempfile
import time
import uuid
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks.service.server import descendants, kill_process
from scripts.kafka_broker import Broker, spark_connector
from scripts.postgres import Postgres
from scripts.server_process import NotStartedError
from tests.service.scaled import SPARKS_JAVA, Host

BOUND = 5.0  # seconds that an answer may take
LINES = 10  # of all logs, for one kill or outage
_GIVEN_UP = 15.0
_RECOVERY = 5.0  # seconds that services have to be ready again once PostgreSQL and Kafka are back
_STARTUP = 15.0  # seconds from a service's start until it listens
_SETTLED = 240.0

KINDS = ("service", "service", "service", "child", "worker", "java", "postgres", "kafka")
_MARKS = {
    "child": re.compile(r" -m tamis\.service\.worker"),
    "java": SPARKS_JAVA,
    "worker": re.compile(r" tamis\.pipeline\.workers\.daemon"),
}


@dataclass
class Verdict:
    """What a run showed."""

    events: int = 0
    expected: int = 0
    lost: int = 0
    twice: int = 0
    strange: int = 0
    read_twice: int = 0
    unready: list[float] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    latest: dict[str, float] = field(default_factory=dict)
    silences: list[float] = field(default_factory=list)
    lines: dict[str, list[int]] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        rows = {
            "kills": ", ".join(f"{kind} {count}" for kind, count in sorted(self.kills.items())),
            "events acknowledged": f"{self.events:,}",
            "notifications expected": f"{self.expected:,}",
            "lost": self.lost,
            "recorded twice": self.twice,
            "not expected": self.strange,
            "given twice to a reader": self.read_twice,
            "seconds with no service ready, PostgreSQL and Kafka up": [round(each, 1) for each in self.unready] or 0,
            "latest answers (s)": ", ".join(f"{what} {most:.2f}" for what, most in sorted(self.latest.items())),
            f"answers later than {BOUND:g} s": self.late[:5] or 0,
            "longest waits for a match (s)": [round(each, 1) for each in sorted(self.silences, reverse=True)[:8]],
            "log lines, by event": self.lines,
        }
        return "\n".join(f"{name:<56} {value}" for name, value in rows.items())

    @property
    def faults(self) -> dict[str, Any]:
        """All that should be none."""
        chatty = {kind: most for kind, counts in self.lines.items() if (most := max(counts)) > LINES}
        found: dict[str, Any] = {
            "lost": self.lost,
            "twice": self.twice,
            "strange": self.strange,
            "read twice": self.read_twice,
        }
        found |= {"unready": self.unready, "late": self.late, "log lines": chatty}
        return {name: value for name, value in found.items() if value}


def expected(published: list[dict[str, Any]], windows: list[tuple[float, float]]) -> Counter[tuple[int, int]]:
    """Pairs of a window's place and an event's number: those whose price is in the window."""
    return Counter(
        (place, event["n"])
        for event in published
        for place, (low, high) in enumerate(windows)
        if low <= event["price"] < high
    )


class Outages:
    """One run, in one event loop; processes are started and killed in threads."""

    def __init__(self, hosts: list[Host], postgres: Postgres, broker: Broker, seed: int) -> None:
        self.hosts, self.postgres, self.broker = hosts, postgres, broker
        self.drawn = random.Random(seed)
        self.windows = [
            (low, low + self.drawn.uniform(2, 20)) for low in (self.drawn.uniform(0, 95) for _ in range(40))
        ]
        self.subscriptions: list[dict[str, Any]] = []
        self.published: list[dict[str, Any]] = []
        self.read: dict[tuple[str, int], list[str]] = {}
        self.verdict = Verdict()
        self.events: list[tuple[float, str]] = []  # what was done, and when
        self.away: list[tuple[float, float]] = []  # when PostgreSQL or Kafka was
        self.ready: list[tuple[float, bool]] = []
        self.over = asyncio.Event()
        self.quiet = asyncio.Event()
        self.client = httpx.AsyncClient(timeout=_GIVEN_UP, limits=httpx.Limits(max_connections=None))

    async def run(self, kills: int, outage: float) -> Verdict:
        for host in self.hosts:
            host.start()
            await asyncio.to_thread(
                host.wait_until_it_says, "Spark is " if host is self.hosts[0] else "another service"
            )
        await asyncio.to_thread(self.hosts[0].wait_until_it_says)
        for low, high in self.windows:
            told = await self.client.post(
                f"{self.hosts[0].address}/v1/subscriptions", json={"filter": f"price >= {low!r} AND price < {high!r}"}
            )
            self.subscriptions.append(told.raise_for_status().json())
        readers = [asyncio.create_task(self._follow(place)) for place in range(20)]
        readers += [asyncio.create_task(self._poll(place)) for place in range(20, 40)]
        watching = [asyncio.create_task(self._watch()), asyncio.create_task(self._ask_status())]
        publishing = [asyncio.create_task(self._publish(publisher)) for publisher in range(2)]
        await self._do_harm(kills, outage)
        self.over.set()
        await asyncio.gather(*publishing)
        await self._settle()
        self.quiet.set()
        await asyncio.wait(readers, timeout=30)
        for task in (*readers, *watching):
            task.cancel()
        await asyncio.gather(*readers, *watching, return_exceptions=True)
        self._judge()
        return self.verdict

    async def _ask(self, what: str, host: Host, method: str, path: str, **how: Any) -> httpx.Response | None:
        """An answer, or None where the service died or did not listen; notes how long it took."""
        process, began = host.process, time.monotonic()
        answer = None
        try:
            answer = await self.client.request(method, f"{host.address}{path}", **how)
        except httpx.TimeoutException:
            pass
        except httpx.TransportError:
            return None
        took = time.monotonic() - began
        if process is host.process and process is not None and process.poll() is None:
            self.verdict.latest[what] = max(took, self.verdict.latest.get(what, 0.0))
            if took > BOUND:
                status = answer.status_code if answer is not None else "no answer"
                self.verdict.late.append(f"{what} {took:.1f} s ({status}) {self._after(began)}")
        return answer

    def _after(self, moment: float) -> str:
        """Which event a moment came after."""
        before = [(when, what) for when, what in self.events if when <= moment]
        return f"{moment - before[-1][0]:.1f} s after {before[-1][1]}" if before else "before all"

    async def _publish(self, publisher: int) -> None:
        drawn = random.Random(publisher)
        for number in range(1_000_000):
            if self.over.is_set():
                return
            first = publisher * 10_000_000 + number * 25
            events = [{"n": first + place, "price": drawn.uniform(0, 100)} for place in range(25)]
            headers, began = {"Idempotency-Key": f"{publisher}.{number}"}, time.monotonic()
            for attempt in range(10_000):
                host = self.hosts[(publisher + number + attempt) % 2]
                answer = await self._ask("publish", host, "POST", "/v1/events", json=events, headers=headers)
                if answer is not None and answer.status_code == 202:
                    break
                assert answer is None or answer.status_code in (429, 503), answer.text
                await asyncio.sleep(0.2)
            self.published += events
            await asyncio.sleep(max(0.0, 0.2 - (time.monotonic() - began)))

    async def _poll(self, place: int) -> None:
        drawn, cursor = random.Random(place), ""
        path, found = f"/v1/subscriptions/{self.subscriptions[place]['id']}/notifications", self._found("poll", place)
        while True:
            done = self.quiet.is_set()
            how: dict[str, Any] = {"params": {"cursor": cursor, "limit": 1000}, "headers": self._ticket(place)}
            answer = await self._ask("poll", drawn.choice(self.hosts), "GET", path, **how)
            if answer is not None and answer.is_success:
                page = answer.json()
                found += [one["id"] for one in page["notifications"]]
                cursor = page["cursor"]
                if done and not page["more"]:
                    return
            await asyncio.sleep(1.0)

    async def _follow(self, place: int) -> None:
        drawn, headers, found = random.Random(place), self._ticket(place), self._found("stream", place)
        path, heard = f"/v1/subscriptions/{self.subscriptions[place]['id']}/stream", time.monotonic()
        while not self.quiet.is_set():
            url = f"{drawn.choice(self.hosts).address}{path}"
            with suppress(httpx.TransportError, TimeoutError):
                async with (
                    asyncio.timeout(drawn.uniform(10, 60)),
                    self.client.stream("GET", url, headers=headers) as told,
                ):
                    async for line in told.aiter_lines():
                        name, _, value = line.partition(": ")
                        if name == "data":
                            found.append(json.loads(value)["id"])
                            if (silence := time.monotonic() - heard) > 2.0 and place == 0:
                                self.verdict.silences.append(silence)
                            heard = time.monotonic()
                        elif name == "id":
                            headers["Last-Event-ID"] = value
            await asyncio.sleep(0.2)

    def _found(self, how: str, place: int) -> list[str]:
        return self.read.setdefault((how, place), [])

    def _ticket(self, place: int) -> dict[str, str]:
        return {"Tamis-Ticket": self.subscriptions[place]["ticket"]}

    async def _watch(self) -> None:
        while True:
            asked = await asyncio.gather(*(self._ask("ready", host, "GET", "/ready") for host in self.hosts))
            self.ready.append((time.monotonic(), any(one is not None and one.status_code == 200 for one in asked)))
            await asyncio.sleep(0.25)

    async def _ask_status(self) -> None:
        while True:
            await asyncio.gather(*(self._ask("status", host, "GET", "/v1/status") for host in self.hosts))
            await asyncio.sleep(1.0)

    async def _do_harm(self, kills: int, outage: float) -> None:
        """Kills what is drawn; a third of the way and two thirds of it a server stays away for long."""
        outages = {kills // 3: "kafka", kills * 2 // 3: "postgres"}
        await asyncio.sleep(8)
        for kill in range(kills + 1):
            if kill in outages:
                await self._without(outages[kill], outage, f"{outages[kill]} away")
                await asyncio.sleep(20)
            if kill == kills:
                return
            # Every kind comes as often as any other, in an order that is drawn.
            if kill % len(KINDS) == 0:
                bag = self.drawn.sample(KINDS, len(KINDS))
            kind = bag[kill % len(KINDS)]
            if kind in ("postgres", "kafka"):
                await self._without(kind, 1.0, kind)
            elif kind == "service":
                await self._kill_service()
            else:
                await self._kill_part(kind)
            self.verdict.kills[kind] += 1
            await asyncio.sleep(self.drawn.uniform(6, 20))

    async def _without(self, kind: str, seconds: float, what: str) -> None:
        server = self.postgres if kind == "postgres" else self.broker
        began = time.monotonic()
        self.events.append((began, what))
        await asyncio.to_thread(server.kill)
        await asyncio.sleep(seconds)
        while True:
            try:
                await asyncio.to_thread(server.start)
                break
            except NotStartedError:
                await asyncio.sleep(0.5)
        self.away.append((began, time.monotonic() + _RECOVERY))

    async def _kill_service(self) -> None:
        host = self.drawn.choice(self.hosts)
        other = self.hosts[self.hosts[0] is host]
        deadline = time.monotonic() + _STARTUP
        # Behind a balancer nobody takes one down while the other is not up.
        while (answer := await self._ask("ready", other, "GET", "/ready")) is None or not answer.is_success:
            assert time.monotonic() < deadline, f"{other.address} does not come up: {other.said[-5:]}"
            await asyncio.sleep(0.2)
        self.events.append((time.monotonic(), "service"))
        await asyncio.to_thread(host.kill)
        await asyncio.sleep(1)
        host.start()

    async def _kill_part(self, kind: str) -> None:
        """One of those that do the work, if there is any: else the next one that there is."""
        deadline = time.monotonic() + _SETTLED
        while time.monotonic() < deadline:
            found = [
                pid
                for host in self.hosts
                if host.process is not None
                for pid, command in descendants(host.process.pid)
                if _MARKS[kind].search(command) is not None
            ]
            if found:
                self.events.append((time.monotonic(), kind))
                kill_process(self.drawn.choice(found))
                return
            await asyncio.sleep(0.2)
        raise AssertionError(f"there is no {kind} to kill: {[host.said[-5:] for host in self.hosts]}")

    async def _settle(self) -> None:
        """Waits until the store has what it should, or has had long enough, and reads it."""
        wanted = expected(self.published, self.windows)
        deadline = time.monotonic() + _SETTLED
        while True:
            stored = Counter[tuple[int, int]]()
            for place in range(len(self.windows)):
                stored.update((place, one["event"]["n"]) for one in await self._stored(place))
            if not wanted - stored or time.monotonic() > deadline:
                break
            await asyncio.sleep(2)
        verdict = self.verdict
        verdict.events, verdict.expected = len(self.published), wanted.total()
        verdict.lost = (wanted - stored).total()
        verdict.twice = sum(count - 1 for count in stored.values())
        verdict.strange = len(stored.keys() - wanted.keys())

    async def _stored(self, place: int) -> list[dict[str, Any]]:
        path, cursor, found = (
            f"/v1/subscriptions/{self.subscriptions[place]['id']}/notifications",
            "",
            list[dict[str, Any]](),
        )
        while True:
            how: dict[str, Any] = {"params": {"cursor": cursor, "limit": 1000}, "headers": self._ticket(place)}
            answer = await self._ask("poll", self.hosts[place % 2], "GET", path, **how)
            if answer is None or not answer.is_success:
                await asyncio.sleep(0.5)
                continue
            page = answer.json()
            found += page["notifications"]
            cursor = page["cursor"]
            if not page["more"]:
                return found

    def _judge(self) -> None:
        verdict = self.verdict
        verdict.read_twice = sum(len(ids) - len(set(ids)) for ids in self.read.values())
        since: float | None = None
        for when, is_ready in self.ready:
            if is_ready or any(began <= when <= back for began, back in self.away):
                if since is not None:
                    verdict.unready.append(when - since)
                since = None
            elif since is None:
                since = when
        ends = [when for when, _ in self.events[1:]] + [time.monotonic()]
        for (began, what), ended in zip(self.events, ends, strict=True):
            lines = sum(began <= when < ended for host in self.hosts for when, _ in host.log)
            verdict.lines.setdefault(what, []).append(lines)


def run(kills: int, outage: float, seed: int, folder: Path, keep: Path | None = None) -> Verdict:
    """A run on servers of its own; logs go to `keep`."""
    with Postgres(fsync=True) as postgres, Broker() as broker:
        store, topic = postgres.new_database(), f"events-{uuid.uuid4().hex}"
        jars = spark_connector()
        hosts = [Host(folder / name, store, broker.servers, topic, jars) for name in ("a", "b")]

        async def whole() -> Verdict:
            return await Outages(hosts, postgres, broker, seed).run(kills, outage)

        try:
            return asyncio.run(whole())
        finally:
            for host in hosts:
                host.kill()
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{host.folder.name}.log").write_text(
                        "".join(f"{at:.2f} {said}\n" for at, said in host.log)
                    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--outage", type=float, default=60.0, help="seconds that Kafka, and PostgreSQL, stays away")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logs", type=Path, help="a folder for what the services say")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tamis-outages-") as folder:
        verdict = run(given.kills, given.outage, given.seed, Path(folder), given.logs)
    sys.stdout.write(f"{verdict}\nfaults: {verdict.faults or 'none'}\n")
    return bool(verdict.faults)


if __name__ == "__main__":
    sys.exit(main())
