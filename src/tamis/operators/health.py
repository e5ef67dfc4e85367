"""Health and statistics of operators: calls, failures with their reasons, and suspensions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tamis.operators.definition import Operator

PATIENCE = 3
"""Time-outs in a row after which an operator is suspended."""
SUSPENSION = 60.0
"""Seconds that the first suspension lasts; each that follows without a call in time lasts twice as long."""
LONGEST = 3600.0


@dataclass(slots=True)
class Tally:
    """Counts of one operator, which add up over processes.

    `calls` of the function; `evaluations`: events it was asked about; of these, `held`, `unknown` for any reason, and
    among the unknown those by reason: `failures` (exceptions and returns that make no sense), `timeouts`, `suspended`,
    `absent` (not called, for the event lacks what it reads). `too_large`: its bindings made so many combinations with
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
        """Adds another one up."""
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
    """The tallies and suspensions of all operators of an index, by name. Safe from any thread."""

    clock: Callable[[], float] = time.monotonic
    tallies: dict[str, Tally] = field(default_factory=dict)
    _fresh: dict[str, Tally] = field(default_factory=dict)
    _breakers: dict[str, _Breaker] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, tally: Tally) -> None:
        """More of an operator."""
        with self._lock:
            self.tallies.setdefault(name, Tally()).include(tally)
            self._fresh.setdefault(name, Tally()).include(tally)

    def fresh(self) -> dict[str, Tally]:
        """Observations since this was last asked."""
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
        """A call was given up; the operator may be suspended for it."""
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
        """A copy of the tallies, also of operators that were never asked."""
        with self._lock:
            return {each.name: self.tallies.get(each.name, Tally()) + Tally() for each in operators}


# What is known of the operators of an index: for people, and for the service's console.


@dataclass(frozen=True, slots=True)
class OperatorStatistics:
    """One operator: what it takes and costs, how it fared so far, how often it held.

    `cost` is what an evaluation costs, as declared, or learned in milliseconds (`learned`); None as long as it was
    never called. `selectivity`: the share of evaluations that held, lately (`observed`), or as declared; None where
    neither is known. `predicates`: how many different ones the subscriptions have. `suspended`: it is left alone for
    now, after too many time-outs.
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
    """The operators of an index at one moment, by position or by name."""

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
