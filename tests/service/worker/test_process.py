"""The pipeline process for real, killed wherever it can be: the store has every match once, and no process is left."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tamis.service.base.configuration import Settings
from tamis.service.worker import Supervisor
from tests.service.worker.auction_house import AuctionHouse

pytestmark = pytest.mark.spark

LONGEST = 180.0
SOURCE = Path(__file__).resolve().parents[3] / "src"

# A stand-in for the service that holds nothing but the supervisor.
SERVING = """
import asyncio, sys
from tamis.service.base.configuration import Settings
from tamis.service.worker import Supervisor

async def serve():
    supervisor = Supervisor(Settings.from_json(sys.argv[1]))
    await supervisor.start()
    said = None
    while True:
        status = supervisor.status()
        if (status.state, status.pid) != said:
            said = (status.state, status.pid)
            print(*said, flush=True)
        await asyncio.sleep(0.01)

asyncio.run(serve())
"""


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="the Spark extra is not installed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[AuctionHouse]:
    opened = AuctionHouse(tmp_path / "state", subscriptions=50)
    yield opened
    opened.close()


def settings(house: AuctionHouse) -> Settings:
    return Settings(state=house.settings.state, spark_master="local[2]", spark_config={"spark.driver.memory": "512m"})


async def until(supervising: Supervisor, holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + LONGEST
    while not holds():
        assert time.monotonic() < deadline, supervising.status()
        await asyncio.sleep(0.05)


def descendants(pid: int) -> dict[int, str]:
    """The processes below a process, and their command lines."""
    parents, commands = dict[int, int](), dict[int, str]()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                stat, command = (entry / "stat").read_text(), (entry / "cmdline").read_bytes()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
            commands[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace")

    def below(process: int) -> bool:
        while process in parents and process != pid:
            process = parents[process]
        return process == pid

    return {process: commands[process] for process in parents if process != pid and below(process)}


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def jvm_of(pid: int) -> int:
    return next(process for process, command in descendants(pid).items() if "org.apache.spark.deploy" in command)


def workers_of(pid: int) -> list[int]:
    """Spark's Python workers: those that a daemon forked."""
    below = descendants(pid)
    daemons = {process for process, command in below.items() if "workers.daemon pyspark.worker" in command}
    return [process for daemon in daemons for process in descendants(daemon)]


def test_it_matches_what_is_published_and_leaves_no_process(house: AuctionHouse) -> None:
    async def run() -> None:
        supervising = Supervisor(settings(house))
        house.publish(20)
        await supervising.start()
        await until(supervising, lambda: house.notified == house.due)
        house.subscribe("price > 0")
        house.publish(20)
        # The store has a batch before the process tells of it.
        await until(supervising, lambda: house.notified == house.due and supervising.status().events == 40)
        status = supervising.status()
        assert (status.state, status.restarts) == ("running", 0)
        assert status.pid is not None
        left = [status.pid, *descendants(status.pid)]
        assert len(left) > 3
        await supervising.stop()
        # Workers end by themselves when the JVM has.
        await until(supervising, lambda: not any(map(alive, left)))

    asyncio.run(run())


@pytest.mark.slow
def test_killing_the_jvm_a_worker_or_the_process_loses_and_doubles_nothing(house: AuctionHouse) -> None:
    chance = random.Random(7)

    async def run() -> None:
        supervising = Supervisor(settings(house))
        await supervising.start()
        for victim in ("worker", "process", "jvm", "worker", "jvm", "process", "worker"):
            house.publish(5)
            await until(supervising, lambda: house.notified == house.due)
            pid = supervising.status().pid
            assert pid is not None
            # Killed somewhere in the batch that this is the beginning of.
            house.publish(20)
            await asyncio.sleep(chance.random() * 0.4)
            killed = {"worker": workers_of(pid), "jvm": [jvm_of(pid)], "process": [pid]}[victim]
            os.kill(chance.choice(killed), signal.SIGKILL)
            house.publish(5)
        await until(supervising, lambda: house.notified == house.due)
        assert supervising.status().restarts >= 4
        await supervising.stop()

    asyncio.run(run())
    assert house.due.total() > 0


@pytest.mark.slow
def test_killed_workers_do_not_end_the_query(house: AuctionHouse) -> None:
    async def run() -> None:
        supervising = Supervisor(settings(house))
        await supervising.start()
        await until(supervising, lambda: supervising.status().state == "running")
        pid = supervising.status().pid
        assert pid is not None
        killed = 0
        while killed < 6:
            # The query hands events to workers for as long as there are any to match.
            house.publish(200)
            before = supervising.status().batches
            for worker in workers_of(pid):
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
                    killed += 1
            await until(supervising, lambda: supervising.status().batches > before)  # noqa: B023 - called at once
            assert supervising.status().pid == pid, supervising.status().error
        await until(supervising, lambda: house.notified == house.due)
        status = supervising.status()
        assert (status.pid, status.restarts, status.error) == (pid, 0, None)
        await supervising.stop()

    asyncio.run(run())


@pytest.mark.slow
def test_when_the_service_is_killed_all_are_gone_and_the_next_goes_on(house: AuctionHouse) -> None:
    def serve() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SERVING, settings(house).to_json()]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def reaches(serving: subprocess.Popen[str], state: str) -> int:
        assert serving.stdout is not None
        for line in serving.stdout:
            if line.split()[0] == state:
                return int(line.split()[1])
        raise AssertionError(f"it ended before it was {state}")

    for _ in range(3):
        with serve() as serving:
            process = reaches(serving, "running")
            house.publish(20)
            left = [process, *descendants(process)]
            with serve() as other:
                # A second one waits for as long as the first is there.
                reaches(other, "waiting")
                serving.kill()
                serving.wait()
                deadline = time.monotonic() + 10.0  # on a busy machine; on an idle one it is a tenth of a second
                while any(map(alive, left)):
                    assert time.monotonic() < deadline, [pid for pid in left if alive(pid)]
                    time.sleep(0.02)
                reaches(other, "running")
                other.kill()
    house.publish(20)

    async def finish() -> None:
        supervising = Supervisor(settings(house))
        await supervising.start()
        await until(supervising, lambda: house.notified == house.due)
        await supervising.stop()

    asyncio.run(finish())
