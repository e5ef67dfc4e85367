"""Nobody outlives the service: the pipeline process goes when its parent goes, and takes its Java process with it."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from tamis.durable import replace_durably

_PR_SET_PDEATHSIG: Final = 1
_POLL: Final = 0.02


def watch(file: int, stop: Callable[[], None], grace: float) -> None:
    """Calls `stop` when the other end of the pipe `file` closes, and ends the process group `grace` seconds later.

    If the parent is gone there is no grace: the process group is killed at once. SIGTERM is taken as a closed pipe.
    """
    parent = os.getppid()

    def reader() -> None:
        while os.read(file, 4096):
            pass
        wind_up()

    def wind_up() -> None:
        stop()
        deadline = time.monotonic() + grace
        # A dying parent closes its pipes a moment before it is seen to be gone.
        while time.monotonic() < deadline and os.getppid() == parent:
            time.sleep(_POLL)
        end_group()

    def parent_died(_number: int, _frame: FrameType | None) -> None:
        # The kernel speaks of the thread that started this process, which may end before the parent does.
        if os.getppid() != parent:
            end_group()

    def asked_to_stop(_number: int, _frame: FrameType | None) -> None:
        threading.Thread(target=wind_up, name="asked to stop", daemon=True).start()

    signal.signal(signal.SIGHUP, parent_died)
    signal.signal(signal.SIGTERM, asked_to_stop)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGHUP)
    threading.Thread(target=reader, name="lifeline", daemon=True).start()


def end_group() -> NoReturn:
    """Kills this process and what it started: the JVM is in the same process group, Spark's workers go with the JVM."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


class Lock:
    """The right to run the pipeline over a state folder: one process at a time has it.

    The system frees the lock when its holder dies, and then the holder's JVM may still be there for a moment, with the
    checkpoint in its hands: the file `pipeline.jvm` says which process that is, and whoever takes the lock ends it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._note = folder / "pipeline.jvm"
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / "pipeline.lock").open("ab")

    def try_to_take(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def take(self, stopped: threading.Event) -> bool:
        """Waits for the lock, and for the predecessor's JVM to be gone; false if `stopped` first."""
        while not self.try_to_take():
            if stopped.wait(_POLL):
                return False
        self._end_predecessor()
        return True

    def note_jvm(self, pid: int) -> None:
        """From here on this JVM belongs to the lock."""
        replace_durably(self._note, json.dumps({"pid": pid, "started": _started(pid)}).encode())

    def release(self) -> None:
        self._file.close()

    def _end_predecessor(self) -> None:
        try:
            noted = json.loads(self._note.read_bytes())
            pid, started = int(noted["pid"]), int(noted["started"])
        except (OSError, ValueError, KeyError, TypeError):
            return
        # A process number is given again; the moment a process started tells which one is meant.
        while _started(pid) == started:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                return
            time.sleep(_POLL)


def _started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if there is no such process, or only its remains."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    after_name = told[told.rindex(")") + 2 :].split()
    return None if after_name[0] in "ZX" else int(after_name[19])
