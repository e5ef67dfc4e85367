"""Turns at matching: one service of a store has the right to, and the others stand by until it is theirs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Final

from tamis.errors import TamisError
from tamis.service.base.configuration import Settings
from tamis.service.store import Store, StoreAwayError, StoreLock
from tamis.service.worker.lifeline import Lock
from tamis.service.worker.messages import Alive, Message, Turn

if TYPE_CHECKING:
    from tamis.service.worker.process import Running, Standby

Say = Callable[[Message], None]

_IDLE: Final = 0.5
_PULSE: Final = 2.0


def take_turns(settings: Settings, lock: Lock, say: Say, stopped: threading.Event) -> None:
    """Matches whenever the store's lock is to be had, until `stopped`. `lock` is the state folder's, and taken."""
    store = _opened(settings, say, stopped)
    if store is None:
        return
    turns = _Turns(settings, lock, store, say, stopped)
    turns.take()
    turns.close()
    store.close()


def _opened(settings: Settings, say: Say, stopped: threading.Event) -> Store | None:
    """The store, as soon as it answers; None if `stopped` first."""
    told = False
    while True:
        try:
            return Store.open(settings.store)
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
    """The pipeline process between matching and standing by.

    Where store or log are away, what took long to have is kept: the query ends, Spark and the table stay, and matching
    goes on when both are back. Anything else that goes wrong is an exception, and the end of the process.
    """

    def __init__(self, settings: Settings, lock: Lock, store: Store, say: Say, stopped: threading.Event) -> None:
        self._settings, self._lock, self._store, self._say, self._stopped = settings, lock, store, say, stopped
        # The folder's lock is this host's: another may have a folder of its own, and the same store.
        self._sole: StoreLock = store.lock("pipeline")
        self._standby: Standby | None = None
        self._running: Running | None = None
        self._log_away = False

    def take(self) -> None:
        """Until the process is to stop."""
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
        """Stands by until the lock is held; False if the process is to stop."""
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
        """Starts what matching needs if it is not there."""
        if self._standby is None:
            # What is imported takes seconds, and is of no use where Spark is not to be started.
            from tamis.service.worker.process import Standby

            self._standby = Standby(self._settings, self._lock, self._store, self._say)
            # Looking after things may take long, where very many subscriptions change; signs of life do not wait.
            threading.Thread(target=self._pulse, args=(self._standby,), name="pulse", daemon=True).start()
        return self._standby

    def _match(self) -> bool:
        """Matches until the process is to stop, or store or log are gone; whether the lock is still held then."""
        from tamis.service.worker.process import LockLostError, Running

        if self._standby is None:
            self._say(Turn("starting"))
        try:
            self._running = Running(self._ready(), self._sole)
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
        """False while the log is away that a query ended for."""
        if self._log_away and self._standby is not None:
            self._log_away = not self._standby.log_answers()
        return not self._log_away

    def _pulse(self, standby: Standby) -> None:
        """Says that the process lives, until it is to stop, or Spark is gone, which the process finds out by itself."""
        for beat in count(1):
            if self._stopped.wait(_PULSE):
                return
            standby.ask_spark()
            running = self._running
            self._say(Alive(beat, 0.0 if running is None else running.busy()))
