"""Operator health: statistics, suspension after time-outs (circuit breaker), and time limits on calls by threads."""

from __future__ import annotations

import ctypes
import os
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from tamis.operators.registry import Operator

PATIENCE = 3
"""Time-outs in a row after which an operator is suspended."""
SUSPENSION = 60.0
"""Seconds that the first suspension lasts; each that follows without a call in time lasts twice as long."""
LONGEST = 3600.0


@dataclass(slots=True)
class Tally:
    """Call statistics of one operator, which add up over processes.

    `calls` of the function; `evaluations`: events it was asked about; of these, `held`, `unknown` for any reason, and
    among the unknown those by reason: `failures` (exceptions and returns that make no sense), `timeouts`, `suspended`,
    `absent` (not called, for the event lacks an input). `too_large`: its bindings made so many combinations with
    others' that an alternative was given up. `seconds` is time spent in calls.
    """

    calls: int = 0
    evaluations: int = 0
    held: int = 0
    unknown: int = 0
    failures: int = 0
    timeouts: int = 0
    suspended: int = 0
    absent: int = 0
    too_large: int = 0
    seconds: float = 0.0
    last_failure: str = ""

    def include(self, other: Tally) -> None:
        """Adds the counts of another tally."""
        for name in _COUNTS:
            if more := getattr(other, name):
                setattr(self, name, getattr(self, name) + more)
        self.last_failure = other.last_failure or self.last_failure

    def __add__(self, other: Tally) -> Tally:
        counts = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        return Tally(**counts, last_failure=other.last_failure or self.last_failure)

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*_COUNTS, "last_failure")}


_COUNTS = (
    "calls",
    "evaluations",
    "held",
    "unknown",
    "failures",
    "timeouts",
    "suspended",
    "absent",
    "too_large",
    "seconds",
)


@dataclass(slots=True)
class _Breaker:
    in_a_row: int = 0
    until: float = 0.0
    lasts: float = SUSPENSION


@dataclass
class Health:
    """Tallies and suspensions of all operators of an index, by name. Thread-safe."""

    clock: Callable[[], float] = time.monotonic
    tallies: dict[str, Tally] = field(default_factory=dict)
    _fresh: dict[str, Tally] = field(default_factory=dict)
    _breakers: dict[str, _Breaker] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, tally: Tally) -> None:
        """Adds counts of an operator."""
        with self._lock:
            self.tallies.setdefault(name, Tally()).include(tally)
            self._fresh.setdefault(name, Tally()).include(tally)

    def fresh(self) -> dict[str, Tally]:
        """Observations since the last call of this."""
        with self._lock:
            added, self._fresh = self._fresh, {}
            return added

    def is_suspended(self, name: str) -> bool:
        if name not in self._breakers:
            return False
        with self._lock:
            breaker = self._breakers.get(name)
            return breaker is not None and self.clock() < breaker.until

    def came_late(self, name: str) -> None:
        """Notes a call that was abandoned; the operator may be suspended for it."""
        with self._lock:
            breaker = self._breakers.setdefault(name, _Breaker())
            breaker.in_a_row += 1
            # One that has been suspended is on probation: the next time-out suspends it again.
            if breaker.in_a_row >= PATIENCE or breaker.until:
                breaker.until = self.clock() + breaker.lasts
                breaker.lasts = min(LONGEST, 2 * breaker.lasts)
                breaker.in_a_row = 0

    def came_in_time(self, name: str) -> None:
        if name in self._breakers:
            with self._lock:
                self._breakers.pop(name, None)

    def of(self, operators: Iterable[Operator]) -> dict[str, Tally]:
        """Copy of the tallies, also of operators that were never asked."""
        with self._lock:
            return {each.name: self.tallies.get(each.name, Tally()) + Tally() for each in operators}


# Statistics of the operators of an index, to be shown: to users of the library, and in the service's console.


@dataclass(frozen=True, slots=True)
class OperatorStatistics:
    """Statistics of one operator: signature and cost, calls and failures so far, how often it held.

    `cost` is that of an evaluation, as declared, or learned in milliseconds (`learned`); None as long as it was never
    called. `selectivity`: the share of evaluations that held, lately (`observed`), or as declared; None where neither
    is known. `predicates`: how many distinct ones the subscriptions have. `suspended`: it is not called for now, after
    too many time-outs.
    """

    name: str
    version: str
    signature: str
    about: str
    cost: float | None
    learned: bool
    selectivity: float | None
    observed: bool
    predicates: int
    suspended: bool
    tally: Tally

    def __str__(self) -> str:
        cost = "cost not known yet" if self.cost is None else f"cost {self.cost:.4g}{' ms' * self.learned}"
        held = (
            ""
            if self.selectivity is None
            else f", {'held' if self.observed else 'expected to hold'} {self.selectivity:.0%}"
        )
        failed = self.tally.failures + self.tally.timeouts + self.tally.too_large
        wrong = f", {failed:,} failed (last: {self.tally.last_failure})" if failed else ""
        state = ", suspended" if self.suspended else ""
        asked = f"{self.tally.evaluations:,} evaluation{'s' * (self.tally.evaluations != 1)}"
        return f"{self.signature}: {cost}, {asked}{held}{wrong}{state}"


class OperatorTable(Sequence[OperatorStatistics]):
    """Statistics of an index's operators at one moment, by position or by name."""

    def __init__(self, operators: Sequence[OperatorStatistics]) -> None:
        self._operators = list(operators)

    def __len__(self) -> int:
        return len(self._operators)

    def __getitem__(self, place: int | str) -> OperatorStatistics:  # type: ignore[override]
        if isinstance(place, str):
            found = next((each for each in self._operators if each.name == place), None)
            if found is None:
                raise KeyError(place)
            return found
        return self._operators[place]

    def __iter__(self) -> Iterator[OperatorStatistics]:
        return iter(self._operators)

    def __str__(self) -> str:
        return "\n".join(map(str, self._operators))


# Time limits: courses run on threads of our own, so that a call that takes too long can be abandoned.
#
# A *course* is a generator that yields calls to be made and is sent their outcomes. The thread that runs it makes the
# calls too, so that going from one to the other costs nothing. If a call is late, the thread is left behind within it,
# and another takes the course up where it waits for the outcome.

_NAME = "tamis-operator"
_Result = TypeVar("_Result")


class Late:
    """Outcome of a call that timed out."""


LATE = Late()


LEAVING: list[Callable[[], None]] = []
"""Called by a thread that ends, to close what was opened for it."""


class GivenUp(BaseException):
    """Raised within a call that has passed its limit, at its next step in Python. No operator should catch it."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls to be made one after the other, each within so many seconds; None: no limit. They must not raise."""

    calls: Sequence[Callable[[], Any]]
    limit: float | None


Course: TypeAlias = Generator[Calls, list[Any], _Result]
"""Is sent the outcomes of the calls it yields: of all of them, or up to the first that is `LATE`."""


class _Stretch:
    """Stretch of a course that one thread runs. The holder of the lock may inspect it, or end it."""

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
        """Waits for the end: True if it ended; False if a call is late, and the stretch abandoned for it.

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
        """Marks that nobody waits for it any more."""
        with self._lock:
            self.given_up = True


class _Worker:
    """Thread that runs stretches until one of them is abandoned."""

    def __init__(self) -> None:
        self._stretches: queue.SimpleQueue[_Stretch] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=_NAME, daemon=True)
        self._thread.start()

    def do(self, stretch: _Stretch) -> None:
        self._stretches.put(stretch)

    def leave(self) -> None:
        """Abandons the thread; it ends when its call does, or at the call's next step in Python."""
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
    """Runs courses under time limits. Thread-safe; each caller has a worker thread to itself meanwhile."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        self._process = os.getpid()

    def drive(self, course: Course[_Result], patience: float | None) -> _Result:
        """Drives a course to its result, or its error. `patience` is the shortest limit of its calls; None: none."""
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
