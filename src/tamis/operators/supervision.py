"""Calls on threads of our own, so that one that takes too long can be given up."""

from __future__ import annotations

import ctypes
import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_NAME = "tamis-operator"


class Late:
    """The outcome of a step that was given up."""


LATE = Late()


class GivenUp(BaseException):
    """Raised within a call that has passed its limit, at its next step in Python. No operator should catch it."""


@dataclass(slots=True)
class Task:
    """Steps done one after the other by a thread. Whoever waits reads, the thread writes.

    `done` counts the finished steps and `begun` is when the present one began; a step's outcome is in `outcomes` once
    it is finished. Steps must not raise.
    """

    steps: list[Callable[[], Any]]
    outcomes: list[Any] = field(default_factory=list)
    begun: float = 0.0
    finished: threading.Event = field(default_factory=threading.Event)
    given_up: bool = False

    def run(self) -> None:
        for step in self.steps[len(self.outcomes) :]:
            if self.given_up:
                return
            self.begun = time.monotonic()
            self.outcomes.append(step())
        self.finished.set()


class _Worker:
    """A thread that does tasks until one of them is given up."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=_NAME, daemon=True)
        self._thread.start()

    def do(self, task: Task) -> None:
        self._tasks.put(task)

    def give_up(self, task: Task) -> None:
        """Leaves the thread to itself; it ends when the call does, or at the call's next step in Python."""
        task.given_up = True
        if self._thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident), ctypes.py_object(GivenUp))

    def _work(self) -> None:
        try:
            while True:
                task = self._tasks.get()
                task.run()
                if task.given_up:
                    return
        except GivenUp:
            return


class Supervisor:
    """Runs tasks under time limits. Any number of threads may use one; each has a worker to itself while it does."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        self._process = os.getpid()

    def run(self, steps: list[Callable[[], Any]], limit: float) -> list[Any]:
        """The outcomes of the steps, in order, up to the first that takes longer than `limit` seconds: `LATE`."""
        worker, task = self._worker(), Task(steps, begun=time.monotonic())
        worker.do(task)
        if self._wait(task, limit):
            self._idle.append(worker)
            return task.outcomes
        worker.give_up(task)
        outcomes = list(task.outcomes)  # the thread may still add to its own
        return outcomes if len(outcomes) == len(steps) else [*outcomes, LATE]

    def _wait(self, task: Task, limit: float) -> bool:
        """Whether the task came to its end with every step within the limit."""
        while True:
            done, left = len(task.outcomes), task.begun + limit - time.monotonic()
            if task.finished.wait(max(left, 0.0)):
                return True
            if len(task.outcomes) == done and time.monotonic() >= task.begun + limit:
                return False

    def _worker(self) -> _Worker:
        if self._process != os.getpid():  # threads do not survive a fork
            self._idle, self._process = [], os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            return _Worker()


SUPERVISOR = Supervisor()
"""The one of this process."""
