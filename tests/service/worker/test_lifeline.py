"""Nobody outlives the service, and no two run over one state folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tamis.service.worker.turns import Lock

SECONDS = 20.0

# A stand-in for the pipeline process: watches, starts a child (as it would Java), tells its number, and goes on.
WATCHING = """
import contextlib, subprocess, sys, threading
from tamis.service.worker.turns import watch
stopped = threading.Event()
watch(0, stopped.set, float(sys.argv[1]))
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(1000)"], stdin=subprocess.PIPE)
print(child.pid, flush=True)
stopped.wait()
with contextlib.suppress(BrokenPipeError):  # a parent that was killed does not listen
    print("stopped", flush=True)
if sys.argv[2] == "go":
    child.kill()
else:
    threading.Event().wait()
"""

# A stand-in for the service, which starts it.
SERVING = """
import subprocess, sys, time
command = [sys.executable, "-c", sys.argv[1], "1000", "stay"]
child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, text=True)
print(child.pid, child.stdout.readline().strip(), flush=True)
if sys.argv[2] == "leak":
    # Somebody else holds the pipe open: only the kernel's signal tells.
    subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(15)"], pass_fds=[child.stdin.fileno()])
    print("leaked", flush=True)
time.sleep(1000)
"""


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return state.rpartition(")")[2].split()[0] == "Z"


def soon(holds: Callable[[], bool], seconds: float = SECONDS) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("pipe", ["close", "leak"])
def test_when_the_service_is_killed_the_process_and_its_children_go_at_once(pipe: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVING, WATCHING, pipe], stdout=subprocess.PIPE, text=True
    ) as serving:
        assert serving.stdout is not None
        process, child = map(int, serving.stdout.readline().split())
        if pipe == "leak":
            assert serving.stdout.readline() == "leaked\n"
        serving.kill()
        serving.wait()
        assert soon(lambda: gone(process) and gone(child))


def watching(grace: float, how: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WATCHING, str(grace), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )


@pytest.mark.parametrize("ask", ["close", "signal"])
def test_asked_to_stop_it_may_put_things_in_order(ask: str) -> None:
    process = watching(1_000, "go")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.readline()
    if ask == "close":
        process.stdin.close()
    else:
        process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "stopped\n"
    assert process.wait(SECONDS) == 0
    process.stdout.close()
    process.stdin.close()


def test_after_the_grace_period_it_is_over(tmp_path: Path) -> None:
    process = watching(0.1, "stay")
    assert process.stdin is not None
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.stdin.close()
    assert process.wait(SECONDS) == -signal.SIGKILL
    assert soon(lambda: gone(child))
    process.stdout.close()


def test_one_at_a_time_has_the_lock(tmp_path: Path) -> None:
    first, second = Lock(tmp_path), Lock(tmp_path)
    assert first.try_to_take()
    assert not second.try_to_take()
    taken = threading.Event()

    def take() -> None:
        assert second.take(threading.Event())
        taken.set()

    waiting = threading.Thread(target=take)
    waiting.start()
    assert not taken.wait(0.1)
    first.release()
    assert taken.wait(SECONDS)
    waiting.join()
    second.release()


def test_waiting_for_the_lock_ends_when_the_process_is_stopped(tmp_path: Path) -> None:
    first, stopped = Lock(tmp_path), threading.Event()
    assert first.try_to_take()
    stopped.set()
    assert not Lock(tmp_path).take(stopped)
    first.release()


def test_a_jvm_that_outlived_its_process_is_ended_before_the_next_begins(tmp_path: Path) -> None:
    first = Lock(tmp_path)
    assert first.take(threading.Event())
    with subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(1000)"]) as jvm:
        first.note_jvm(jvm.pid)
        first.release()
        second = Lock(tmp_path)
        assert second.take(threading.Event())
        assert gone(jvm.pid)
        second.release()


@pytest.mark.parametrize("note", [b"", b"{", b"[]", b'{"pid": "x", "started": null}', b'{"pid": %d, "started": 1}'])
def test_a_process_that_only_has_the_same_number_is_left_alone(tmp_path: Path, note: bytes) -> None:
    (tmp_path / "pipeline.jvm").write_bytes(note.replace(b"%d", str(os.getpid()).encode()))
    lock = Lock(tmp_path)
    assert lock.take(threading.Event())
    lock.release()
