"""Fair use of matching: suspends the most expensive subscriptions of owners whose slow conditions delay everybody."""

from __future__ import annotations

import shutil
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tamis.pipeline.workers.charging import Desk, write_left_out
from tamis.service.store import Store
from tamis.service.worker.messages import Suspended

# Cost of slow conditions in matching, by owner and subscription, over a sliding window.


class Overspent(NamedTuple):
    """Subscription to be suspended, with its cost and that of all its owner's subscriptions."""

    number: int
    seconds: float
    owners_seconds: float


class Expenses:
    """Costs charged in the last `window` seconds. An owner may use `budget` seconds of them.

    All subscriptions without a key have one owner, the empty one, and share a budget. Of an owner over budget, the most
    expensive subscriptions are suspended, as few as bring the rest within it. Their charges are forgotten: once
    suspended they cost nothing more.
    """

    def __init__(self, budget: float, window: float) -> None:
        self._budget = budget
        self._window = window
        self._charges: deque[tuple[float, dict[int, float]]] = deque()
        self._owners: dict[int, str] = {}

    def charge(self, now: float, seconds: Mapping[int, float], owners: Mapping[int, str]) -> None:
        """Charges costs to subscriptions and their owners; those of removed subscriptions are dropped."""
        charged = {number: took for number, took in seconds.items() if number in owners}
        if charged:
            self._owners |= owners
            self._charges.append((now, charged))

    def overspent(self, now: float) -> list[Overspent]:
        """Subscriptions that are too expensive, the most expensive first by owner."""
        while self._charges and self._charges[0][0] <= now - self._window:
            self._charges.popleft()
        totals: dict[int, float] = defaultdict(float)
        for _, seconds in self._charges:
            for number, took in seconds.items():
                totals[number] += took
        self._owners = {number: self._owners[number] for number in totals}
        by_owner: dict[str, list[int]] = defaultdict(list)
        for number in totals:
            by_owner[self._owners[number]].append(number)
        found = []
        for numbers in by_owner.values():
            left = whole = sum(totals[number] for number in numbers)
            for number in sorted(numbers, key=lambda one: (-totals[one], one)):
                if left <= self._budget:
                    break
                left -= totals[number]
                found.append(Overspent(number, totals[number], whole))
        gone = {one.number for one in found}
        for _, seconds in self._charges:
            for number in gone & seconds.keys():
                del seconds[number]
        return found


_WINDOW: Final = 60.0
# Seconds: a shorter batch delays nobody, whatever is in it.
_PATIENCE: Final = 1.0


class Fairness:
    """Suspends expensive subscriptions while a batch runs, and excludes them from that batch already.

    The exclusion is all or nothing: the batch records no match of theirs, also where they were matched before. So the
    recorded matches do not depend on the moment of the suspension, and those of other subscriptions are recorded once
    as ever. Thread-safe.
    """

    def __init__(
        self,
        store: Store,
        desk: Path,
        told: Callable[[Suspended], None],
        budget: float,
        patience: float = _PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        shutil.rmtree(desk, ignore_errors=True)
        desk.mkdir(parents=True)
        self.folder = desk
        self._store = store
        self._desk = Desk(desk)
        self._told = told
        self._budget = budget
        self._patience = patience
        self._clock = clock
        self._expenses = Expenses(budget, _WINDOW)
        self._left_out: set[int] = set()
        self._began: float | None = None
        self._first = True
        self._entered = threading.Lock()

    def begin(self) -> None:
        """Begins a batch, with a table that lacks the suspended subscriptions.

        Only the first batch of a process may be run again, with an older table: they are excluded from that.
        """
        with self._entered:
            left_out = set(self._store.subscriptions.suspended()) if self._first else set[int]()
            if left_out or self._left_out:
                write_left_out(self.folder, map(str, left_out))
            self._left_out, self._first = left_out, False
            self._began = self._clock()

    def end(self) -> None:
        """Ends a batch: it is recorded, and until the next one nobody waits."""
        with self._entered:
            self._began = None

    def look(self) -> None:
        """Collects charges, and suspends expensive subscriptions while the batch is late. Called periodically."""
        with self._entered:
            self._take(self._desk_charges())

    def charge(self, seconds: Mapping[int, float]) -> frozenset[int]:
        """Charges the costs in this process itself; returns the excluded subscriptions so far."""
        with self._entered:
            self._take(seconds)
            return frozenset(self._left_out)

    def left_out(self) -> frozenset[int]:
        """Subscriptions excluded from the batch under way, with all reports so far."""
        with self._entered:
            self._take(self._desk_charges())
            return frozenset(self._left_out)

    def _desk_charges(self) -> dict[int, float]:
        return {int(id): seconds for id, seconds in self._desk.taken().items()}

    def _take(self, charges: Mapping[int, float]) -> None:
        now = self._clock()
        if charges:
            known = self._store.subscriptions.by_number(sorted(charges))
            self._expenses.charge(now, charges, {number: one.owner for number, one in known.items()})
        if self._began is None or now - self._began < self._patience:
            return
        overspent = self._expenses.overspent(now)
        if overspent:
            self._suspend(overspent)

    def _suspend(self, overspent: list[Overspent]) -> None:
        reasons = {one.number: self._reason(one) for one in overspent}
        suspended = self._store.subscriptions.suspend(reasons)
        # One that somebody paused, changed or ended a moment ago is in this batch's table still.
        self._left_out |= reasons.keys()
        write_left_out(self.folder, map(str, self._left_out))
        for one in suspended:
            self._told(Suspended(one.number, one.id, reasons[one.number]))

    def _reason(self, one: Overspent) -> str:
        took = f"its conditions took {one.seconds:.1f} s of matching within {_WINDOW:.0f} s, while others waited"
        if one.owners_seconds > 1.01 * one.seconds:
            took += f"; together with others of its owner {one.owners_seconds:.1f} s"
        return (
            f"{took}. At most {self._budget:g} s are allowed. Look for shorter or plainer LIKE and RLIKE patterns, "
            "then resume it: what matched meanwhile is not made up for"
        )
