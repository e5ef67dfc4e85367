"""Courses on threads of our own, so that a call that takes too long within one can be given up.

A *course* is a generator that yields calls to be made and is sent their outcomes. The thread that runs it makes the
calls too, so that going from one to the other costs nothing. If a call is late, the thread is left behind within it,
and another takes the course up where it waits for the outcome.
"""

from __future__ import annotations

import ctypes
import os
import queue
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

_NAME = "tamis-operator"
_Result = TypeVar("_Result")


class Late:
    """The outcome of a call that was given up, or that says so itself."""


LATE = Late()


LEAVING: list[Callable[[], None]] = []
"""Called by a thread that ends, to close what was opened for it."""


class GivenUp(BaseException):
    """Raised within a call that has passed its limit, at its next step in Python. No operator should catch it."""


@dataclass(frozen=True, slots=True)
class Calls:
    """To be made one after the other, each within so many seconds; None: any. They must not raise."""

    calls: Sequence[Callable[[], Any]]
    limit: float | None


Course: TypeAlias = Generator[Calls, list[Any], _Result]
"""Is sent the outcomes of the calls it yields: of all of them, or up to the first that is `LATE`."""


class _Stretch:
    """A course as far as one thread takes it. Whoever holds the lock may look, or put an end to it."""

    def __init__(self, course: Course[Any], sent: list[Any] | None) -> None:
        self.finished = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None
        self.given_up = False
        self.outcomes: list[Any] = []
        self._course = course
        self._sent = sent
        self._lock = threading.Lock()
        self._deadline: float | None = None  # of the call that is being made

    def run(self) -> None:
        try:
            while True:
                asked = self._course.send(self._sent)  # type: ignore[arg-type]  # None begins it
                self.outcomes = []
                for call in asked.calls:
                    self._deadline = None if asked.limit is None else time.monotonic() + asked.limit
                    outcome = call()
                    with self._lock:
                        if self.given_up:
                            return
                        self._deadline = None
                        self.outcomes.append(outcome)
                    if outcome is LATE:
                        break  # its own end; whether the others are to be made, the course says
                self._sent = self.outcomes
        except StopIteration as stop:
            self.result = stop.value
        except GivenUp:
            return
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            self.error = error
        self.finished.set()

    def wait(self, patience: float | None) -> bool:
        """True if it came to its end; false if a call is late, and the stretch given up for it.

        No call can be late sooner than `patience` seconds after it began.
        """
        while True:
            deadline = self._deadline
            if self.finished.wait(patience if deadline is None else max(0.0, deadline - time.monotonic())):
                return True
            with self._lock:
                if self._deadline is not None and time.monotonic() >= self._deadline:
                    self.given_up = True
                    return False

    def stop(self) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            self.given_up = True


class _Worker:
    """A thread that takes stretches until one of them is given up."""

    def __init__(self) -> None:
        self._stretches: queue.SimpleQueue[_Stretch] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=_NAME, daemon=True)
        self._thread.start()

    def do(self, stretch: _Stretch) -> None:
        self._stretches.put(stretch)

    def leave(self) -> None:
        """Leaves the thread to itself; it ends when its call does, or at the call's next step in Python."""
        if self._thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident), ctypes.py_object(GivenUp))

    def _work(self) -> None:
        try:
            while True:
                stretch = self._stretches.get()
                stretch.run()
                if stretch.given_up:
                    return
                del stretch  # else what it holds would be kept until the next one comes
        except GivenUp:
            return
        finally:
            for leave in LEAVING:
                leave()


class Supervisor:
    """Runs courses under time limits. Any number of threads may use one; each has a worker to itself while it does."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        self._process = os.getpid()

    def drive(self, course: Course[_Result], patience: float | None) -> _Result:
        """Result of the course, or its error. `patience` is the shortest limit of its calls; None: they have none."""
        sent: list[Any] | None = None
        while True:
            worker, stretch = self._worker(), _Stretch(course, sent)
            worker.do(stretch)
            try:
                ended = stretch.wait(patience)
            except BaseException:  # whoever waits is interrupted
                stretch.stop()
                worker.leave()
                raise
            if not ended:
                worker.leave()
                sent = [*stretch.outcomes, LATE]
                continue
            self._idle.append(worker)
            if stretch.error is not None:
                raise stretch.error
            result: _Result = stretch.result
            return result

    def _worker(self) -> _Worker:
        if self._process != os.getpid():  # threads do not survive a fork
            self._idle, self._process = [], os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            return _Worker()


SUPERVISOR = Supervisor()
"""The one of this process."""
