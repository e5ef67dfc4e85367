"""The supervisor keeps one process running, tells what it says, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from tamis.service.base.configuration import Settings
from tamis.service.worker import Batch, Supervisor, supervisor

PRELUDE = """
import json, os, subprocess, sys, time
settings = json.loads(sys.stdin.readline())
def say(**told):
    print(json.dumps(told), flush=True)
"""


def supervised(folder: Path, script: str, grace: float = 10.0, silence: float = 120.0) -> Supervisor:
    """Over a stand-in for the pipeline process."""
    (folder / "stand_in.py").write_text(PRELUDE + dedent(script))
    command = [sys.executable, "-S", str(folder / "stand_in.py")]
    return Supervisor(Settings(state=folder / "state"), command=command, grace=grace, silence=silence)


async def until(holds: Callable[[], object]) -> None:
    """Returns when it holds; the test fails if that takes too long."""
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


@pytest.fixture(autouse=True)
def no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "_FIRST_DELAY", 0.01)


def test_it_tells_what_the_process_says(tmp_path: Path) -> None:
    async def run() -> None:
        supervising = supervised(
            tmp_path,
            """
            say(state="running", head=5)
            say(batch=1, head=9, events=3, matches=2, dead=1, ms=4.0, revision=11)
            print("not a message", flush=True)
            say(batch=2, head=10, events=4, matches=1)
            say(subscription=7, reason="no such attribute")
            say(followed=12)
            sys.stdin.read()
            """,
        )
        heard: list[Batch] = []

        def listen_badly(batch: Batch) -> None:
            heard.append(batch)
            if batch.batch == 1:
                raise ValueError("as asked")

        supervising.on_batch(listen_badly)
        supervising.on_batch(heard.append)
        assert supervising.status().state == "stopped"
        await supervising.start()
        await until(lambda: supervising.status().revision == 12)
        status = supervising.status()
        assert (status.state, status.restarts, status.error) == ("running", 0, None)
        assert (status.batches, status.events, status.matches, status.dead, status.refused) == (2, 7, 3, 1, 1)
        assert status.last == heard[-1]
        assert [batch.head for batch in heard] == [5, 5, 9, 9, 10, 10]
        await supervising.stop()
        assert supervising.status().state == "stopped"
        assert supervising.status().restarts == 0
        assert not alive(status.pid or 0)

    asyncio.run(run())


def test_settings_come_by_standard_input_and_not_by_the_command_line(tmp_path: Path) -> None:
    async def run() -> None:
        script = """
        say(state="failed", error=settings["store_url"] + str(sys.argv[1:]) + str("secret" in str(os.environ)))
        """
        supervising = supervised(tmp_path, script)
        url = "postgresql+psycopg://me:secret@db/tamis"
        told = Supervisor(Settings(state=tmp_path, store_url=url), command=supervising._command)
        await told.start()
        await until(lambda: told.status().error)
        assert told.status().error == f"{url}[]False"
        await told.stop()

    asyncio.run(run())


def test_a_process_that_ends_is_started_again_later_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "_FIRST_DELAY", 0.1)

    async def run() -> None:
        supervising = supervised(
            tmp_path, "say(state='running'); print('the last words', file=sys.stderr); sys.exit(3)"
        )
        began = asyncio.get_running_loop().time()
        await supervising.start()
        await until(lambda: supervising.status().restarts == 3)
        assert asyncio.get_running_loop().time() - began > 0.1 + 0.2 + 0.4
        status = supervising.status()
        assert status.error == "the pipeline process ended with exit code 3"
        assert status.stderr == ("the last words",)
        await supervising.stop()

    asyncio.run(run())


def test_a_process_that_ran_well_starts_the_delays_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "_FIRST_DELAY", 0.02)
    monkeypatch.setattr(supervisor, "_HEALTHY_SECONDS", 0.0)
    monkeypatch.setattr(supervisor, "_LONGEST_DELAY", 1_000.0)

    async def run() -> None:
        supervising = supervised(tmp_path, "sys.exit(1)")
        await supervising.start()
        # If the delay doubled each time this would take twenty minutes.
        await until(lambda: supervising.status().restarts == 16)
        await supervising.stop()

    asyncio.run(run())


def test_what_the_process_says_of_its_failure_is_told(tmp_path: Path) -> None:
    async def run() -> None:
        supervising = supervised(tmp_path, "say(state='failed', error='the disk is full'); os.kill(os.getpid(), 9)")
        await supervising.start()
        await until(lambda: supervising.status().restarts == 1)
        assert supervising.status().error == "the disk is full"
        await supervising.stop()

    asyncio.run(run())


def test_a_command_that_cannot_be_started_is_told_and_tried_again(tmp_path: Path) -> None:
    async def run() -> None:
        supervising = Supervisor(Settings(state=tmp_path), command=[str(tmp_path / "nothing")])
        await supervising.start()
        await until(lambda: supervising.status().restarts == 2)
        assert "cannot be started" in str(supervising.status().error)
        await supervising.stop()

    asyncio.run(run())


GRANDCHILD = """
import signal
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(1000)"])
say(batch=child.pid, head=0)
"""


def test_nothing_that_a_process_started_outlives_it(tmp_path: Path) -> None:
    async def run() -> None:
        supervising = supervised(tmp_path, GRANDCHILD + "os._exit(1)")
        await supervising.start()
        await until(lambda: supervising.status().restarts == 1)
        last = supervising.status().last
        assert last is not None
        assert not alive(last.batch)
        await supervising.stop()

    asyncio.run(run())


@pytest.mark.parametrize("ending", ["signal.pause()", "sys.stdin.read(); time.sleep(1000)"])
def test_a_process_that_does_not_stop_is_killed_with_all_it_started(tmp_path: Path, ending: str) -> None:
    async def run() -> None:
        supervising = supervised(tmp_path, GRANDCHILD + ending, grace=0.2)
        await supervising.start()
        await until(lambda: supervising.status().batches == 1)
        status = supervising.status()
        assert status.last is not None
        assert status.pid is not None
        await supervising.stop()
        assert not alive(status.pid)
        assert not alive(status.last.batch)
        assert supervising.status().state == "stopped"

    asyncio.run(run())


@pytest.mark.parametrize("hung", ["os.kill(os.getpid(), 19)", "time.sleep(1000)"])
def test_a_process_that_stands_still_is_killed_and_started_again(tmp_path: Path, hung: str) -> None:
    async def run() -> None:
        supervising = supervised(tmp_path, GRANDCHILD + f"say(state='running'); {hung}", grace=0.2, silence=0.3)
        await supervising.start()
        await until(lambda: supervising.status().restarts == 1)
        status = supervising.status()
        assert "no sign of life for 0.3 seconds" in str(status.error)
        assert status.last is not None
        assert not alive(status.last.batch)
        await supervising.stop()

    asyncio.run(run())


def test_a_process_that_gives_signs_of_life_or_has_not_begun_to_is_left_alone(tmp_path: Path) -> None:
    async def run() -> None:
        script = """
        time.sleep(1)
        for beat in range(20):
            say(alive=beat)
            time.sleep(0.05)
        say(batch=1, head=0)
        sys.stdin.read()
        """
        supervising = supervised(tmp_path, script, silence=0.5)
        await supervising.start()
        await until(lambda: supervising.status().batches == 1)
        assert supervising.status().restarts == 0
        await supervising.stop()

    asyncio.run(run())


def test_it_stops_while_it_waits_to_start_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "_FIRST_DELAY", 1_000.0)

    async def run() -> None:
        supervising = supervised(tmp_path, "sys.exit(1)")
        await supervising.start()
        await until(lambda: supervising.status().state == "restarting")
        await supervising.stop()
        assert supervising.status().restarts == 0
        await supervising.start()
        await until(lambda: supervising.status().state == "restarting")
        await supervising.stop()

    asyncio.run(run())


def test_lines_of_any_length_do_no_harm(tmp_path: Path) -> None:
    async def run() -> None:
        script = """
        print("x" * 5_000_000, flush=True); print("y" * 5_000_000, file=sys.stderr, flush=True)
        os.write(1, b"\\xff\\xfe\\n"); os.write(2, b"\\xff\\xfe\\n")
        say(batch=1, head=2); sys.stdin.read()
        """
        supervising = supervised(tmp_path, script)
        await supervising.start()
        await until(lambda: supervising.status().batches == 1)
        assert supervising.status().restarts == 0
        await supervising.stop()

    asyncio.run(run())


def test_the_process_has_a_group_of_its_own(tmp_path: Path) -> None:
    async def run() -> None:
        supervising = supervised(tmp_path, "say(batch=os.getpgrp(), head=0); sys.stdin.read()")
        await supervising.start()
        await until(lambda: supervising.status().batches == 1)
        last = supervising.status().last
        assert last is not None
        assert last.batch == supervising.status().pid != os.getpgrp()
        await supervising.stop()

    asyncio.run(run())


def test_a_batch_that_takes_long_is_told_now_and_then(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        supervising = supervised(
            tmp_path,
            """
            say(state="running", head=5)
            for beat, busy in enumerate((0, 59, 61, 63, 121, 124, 0, 60, 62, 3.5)):
                say(alive=beat, busy=busy)
            say(noticed="the checkpoint is damaged")
            say(followed=12)
            sys.stdin.read()
            """,
        )
        await supervising.start()
        await until(lambda: supervising.status().revision == 12)
        assert supervising.status().busy == 3.5
        await supervising.stop()

    asyncio.run(run())
    told = [record.getMessage() for record in caplog.records]
    assert [line.split()[6] for line in told[:-1]] == ["61", "124", "60"]
    assert told[-1] == "the checkpoint is damaged"
