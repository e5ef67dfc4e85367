"""Nothing is lost and nothing is told twice, however often the server, Spark or a worker is killed."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarks.findings import Finding, Options
from benchmarks.service.server import Server, kill_process
from benchmarks.service.siege import Siege, Toll

SERVICE_KILLS = 200
SPARK_KILLS = 30
SHORTEST, LONGEST = 0.3, 6.0  # seconds a server lives before it is killed: Spark is rarely up by then
EVERY, FULL_LIFE = 10, 40.0  # every tenth lives until events were matched


def run(options: Options) -> Iterator[Finding]:
    service, spark = (max(1, int(kills * options.scale)) for kills in (SERVICE_KILLS, SPARK_KILLS))
    yield _finding("the service process", service, *kills_of_the_service(service))
    yield _finding("Spark's driver or a worker", spark, *kills_of_spark(spark))


def kills_of_the_service(kills: int, seed: int = 1) -> tuple[Toll, int]:
    """Kills the service process at random moments; returns what it cost, and how many processes were left behind."""
    drawn = random.Random(seed)
    left: set[int] = set()

    def attack(server: Server, siege: Siege) -> None:
        for kill in range(kills):
            if kill % EVERY == EVERY - 1:
                _live_on(server, siege)
            time.sleep(drawn.uniform(SHORTEST, LONGEST))
            under = {pid for pid, _ in server.descendants()}
            server.kill()
            left.update(under)
            server.start()

    return _besieged(attack, left)


def kills_of_spark(kills: int, seed: int = 2) -> tuple[Toll, int]:
    """Kills the pipeline process, its JVM, or a Python worker in turn, at random moments."""
    drawn = random.Random(seed)
    marks = ("java", "tamis.service.worker", "pyspark")

    def attack(server: Server, siege: Siege) -> None:
        done = 0
        while done < kills:
            _live_on(server, siege)
            time.sleep(drawn.uniform(0, 3))
            wanted = marks[done % len(marks)]
            found = [pid for pid, command in server.descendants() if wanted in command.split(" -cp ")[0]]
            if found:
                kill_process(drawn.choice(found))
                done += 1

    return _besieged(attack, set())


def _besieged(attack: Callable[[Server, Siege], None], left: set[int]) -> tuple[Toll, int]:
    """What an attack on a server under load cost, and how many of the processes that are to be `left` behind live."""
    with tempfile.TemporaryDirectory() as name:
        server = Server(Path(name) / "state", Siege.write_schema(Path(name)))
        with server:
            server.wait_until_ready()
            siege = Siege(server)
            threads = siege.begin()
            attack(server, siege)
            server.wait_until_ready()
            toll = siege.settle(threads)
            return toll, len(left & _alive())


def _live_on(server: Server, siege: Siege) -> None:
    """Until something published from now on was told, or half a minute is over."""
    told, deadline = siege.acknowledged, time.monotonic() + FULL_LIFE
    while time.monotonic() < deadline:
        if any(each and each[-1].event["number"] >= told for each in list(siege.live.values())):
            return
        time.sleep(0.05)


def _alive() -> set[int]:
    """Processes that are there and no zombies."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if state != "Z":
                found.add(int(folder.name))
    return found


def _finding(what: str, kills: int, toll: Toll, survivors: int) -> Finding:
    good = toll.nothing and survivors == 0
    return Finding(
        what=f"kill -9 of {what}, {kills} times",
        workload=f"{toll.published:,} events acknowledged, {toll.subscribed} subscriptions made meanwhile",
        measured="nothing lost, nothing twice" if good else "see the details",
        bar="nothing",
        reached=good,
        details={**asdict(toll), "processes_left": survivors},
    )
