"""Failover of matching: locks of the state folder and the store, turns of matching and standby, and the end of a
process whose service is gone.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn

from tamis.durable import replace_durably
from tamis.errors import TamisError
from tamis.service.base.configuration import Settings
from tamis.service.store import Store, StoreAwayError, StoreLock
from tamis.service.worker.messages import Heartbeat, Message, Turn

if TYPE_CHECKING:
    from tamis.service.worker.process import ActivePipeline, Standby


_PR_SET_PDEATHSIG: Final = 1
_POLL: Final = 0.02


def watch(file: int, stop: Callable[[], None], grace: float) -> None:
    """Calls `stop` when the other end of the pipe `file` closes, and kills the process group `grace` seconds later.

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
    """Kills this process and its descendants: the JVM is in the same process group, Spark's workers go with the JVM."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


class Lock:
    """Right to run the pipeline over a state folder: one process at a time has it.

    The system frees the lock when its holder dies, and then the holder's JVM may still live for a moment and use the
    checkpoint: the file `pipeline.jvm` names that process, and the next holder kills it.
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
        """Waits for the lock, and for the predecessor's JVM to be gone; returns False if `stopped` first."""
        while not self.try_to_take():
            if stopped.wait(_POLL):
                return False
        self._end_predecessor()
        return True

    def note_jvm(self, pid: int) -> None:
        """Records the JVM that belongs to the lock from here on."""
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
    """Start time of a process, in clock ticks since boot; None if it does not exist, or is a zombie."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    after_name = told[told.rindex(")") + 2 :].split()
    return None if after_name[0] in "ZX" else int(after_name[19])


# Turns at matching: one service of a store is active, and the others stand by until the lock is theirs.

Say = Callable[[Message], None]

_IDLE: Final = 0.5
_PULSE: Final = 2.0


def take_turns(settings: Settings, lock: Lock, say: Say, stopped: threading.Event) -> None:
    """Matches whenever the store's lock can be had, until `stopped`. `lock` is the state folder's, and held."""
    store = _opened(settings, say, stopped)
    if store is None:
        return
    turns = _Turns(settings, lock, store, say, stopped)
    turns.take()
    turns.close()
    store.close()


def _opened(settings: Settings, say: Say, stopped: threading.Event) -> Store | None:
    """Store, as soon as it answers; None if `stopped` first."""
    told = False
    while True:
        try:
            return Store.open(settings.store, settings.matches)
        except StoreAwayError as error:
            # A file is not away for a while: what is wrong with it has to be mended.
            if settings.store.startswith("sqlite"):
                raise
            if not told:
                say(Turn("starting", error=str(error)))
                told = True
        if stopped.wait(_IDLE):
            return None


class _Turns:
    """Pipeline process between matching and standby.

    While store or log are unreachable, everything slow to start is kept: the query ends, Spark and the table stay, and
    matching resumes when both answer. Any other failure is an exception, and ends the process.
    """

    def __init__(self, settings: Settings, lock: Lock, store: Store, say: Say, stopped: threading.Event) -> None:
        self._settings, self._lock, self._store, self._say, self._stopped = settings, lock, store, say, stopped
        # The folder's lock is this host's: another may have a folder of its own, and the same store.
        self._sole: StoreLock = store.lock("pipeline")
        self._standby: Standby | None = None
        self._running: ActivePipeline | None = None
        self._log_away = False

    def take(self) -> None:
        """Runs until the process is to stop."""
        held = self._holds()
        while not self._stopped.is_set():
            held = self._match() if held else self._wait()

    def close(self) -> None:
        if self._running is not None:
            self._running.stop()
        if self._standby is not None:
            self._standby.stop()
        self._sole.release()

    def _holds(self) -> bool:
        # A store that is away for a while is no reason to give up waiting.
        try:
            return self._sole.hold()
        except StoreAwayError:
            return False

    def _wait(self) -> bool:
        """Stands by until the lock is held; returns False if the process is to stop."""
        told = False
        while not self._stopped.is_set():
            try:
                if self._log_answers() and self._sole.hold():
                    return True
            except StoreAwayError:
                pass
            else:
                if not (told or self._log_away):
                    self._say(Turn("waiting"))
                    told = True
                # With a log of its own, whoever has the lock sees other events than this one: it has no place to take.
                if self._settings.standby == "warm" and self._settings.log.startswith("kafka:"):
                    self._ready()
            if self._standby is not None:
                self._standby.keep_up()
            self._stopped.wait(_IDLE)
        return False

    def _ready(self) -> Standby:
        """Starts the standby if it is not running."""
        if self._standby is None:
            # What is imported takes seconds, and is of no use where Spark is not to be started.
            from tamis.service.worker.process import Standby

            self._standby = Standby(self._settings, self._lock, self._store, self._say)
            # Looking after things may take long, where very many subscriptions change; signs of life do not wait.
            threading.Thread(target=self._pulse, args=(self._standby,), name="pulse", daemon=True).start()
        return self._standby

    def _match(self) -> bool:
        """Matches until the process is to stop, or store or log are unreachable; returns True if the lock is still held
        then.
        """
        from tamis.service.worker.process import ActivePipeline, LockLostError

        if self._standby is None:
            self._say(Turn("starting"))
        try:
            self._running = ActivePipeline(self._ready(), self._sole)
            while not self._stopped.wait(_IDLE):
                self._running.look_after()
            return True
        except LockLostError as error:
            self._pause(error)
            return False
        except TamisError as error:
            # Half a standby is none: Spark may be running by now, and is one a process.
            if self._standby is None:
                raise
            if self._holds():
                if self._standby.log_answers():
                    raise
                self._log_away = True
            self._pause(error)
            # The log may be away from here only.
            self._sole.release()
            return False

    def _pause(self, error: TamisError) -> None:
        self._say(Turn("building", error=str(error)))
        running, self._running = self._running, None
        if running is not None:
            running.stop()

    def _log_answers(self) -> bool:
        """False while the log that ended a query is still unreachable."""
        if self._log_away and self._standby is not None:
            self._log_away = not self._standby.log_answers()
        return not self._log_away

    def _pulse(self, standby: Standby) -> None:
        """Sends heartbeats, until the process is to stop, or Spark is gone, which the process finds out by itself."""
        for beat in count(1):
            if self._stopped.wait(_PULSE):
                return
            standby.ask_spark()
            running = self._running
            self._say(Heartbeat(beat, 0.0 if running is None else running.busy()))
