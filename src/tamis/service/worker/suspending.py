"""Suspends the most expensive subscriptions of owners whose slow conditions hold everybody up."""

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

# What slow conditions took of matching lately, by owner and subscription, and who took too much.


class Overspent(NamedTuple):
    """A subscription that is to be suspended: what it took, and its owner's subscriptions together."""

    number: int
    seconds: float
    owners_seconds: float


class Expenses:
    """Charges of the last `window` seconds. An owner may take `budget` seconds of them.

    Without a key there is one owner, the empty one, whom all who have none share a budget with. Of an owner who took
    more, the most expensive subscriptions are too much, the fewest of them that leave what is within the budget. They
    are forgotten with all their charges: once suspended they cost nothing more.
    """

    def __init__(self, budget: float, window: float) -> None:
        self._budget = budget
        self._window = window
        self._charges: deque[tuple[float, dict[int, float]]] = deque()
        self._owners: dict[int, str] = {}

    def charge(self, now: float, seconds: Mapping[int, float], owners: Mapping[int, str]) -> None:
        """Of each subscription, and whose it is; those of nobody, since they are gone, are nobody's charge."""
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
# A batch that takes no longer than this holds nobody up, whatever is in it.
_PATIENCE: Final = 1.0


class Fairness:
    """Charges come in while a batch is under way, and whoever is suspended is left out of that batch already.

    That is all or nothing: the batch records no match of theirs, also where they were matched before. So what is
    recorded does not hang on the moment of the suspension, and of the others each match is recorded once as ever.
    Any thread may call.
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
        """A batch begins, with a table that lacks whoever was suspended before.

        Only the first one of a process may be run again, with a table from before: they are left out of that.
        """
        with self._entered:
            left_out = set(self._store.subscriptions.suspended()) if self._first else set[int]()
            if left_out or self._left_out:
                write_left_out(self.folder, map(str, left_out))
            self._left_out, self._first = left_out, False
            self._began = self._clock()

    def end(self) -> None:
        """The batch is recorded: until the next one, nobody waits."""
        with self._entered:
            self._began = None

    def look(self) -> None:
        """Now and then: takes charges, and suspends whoever took too much while the batch is late."""
        with self._entered:
            self._take(self._desk_charges())

    def charge(self, seconds: Mapping[int, float]) -> frozenset[int]:
        """What subscriptions took in this process itself; those left out by now."""
        with self._entered:
            self._take(seconds)
            return frozenset(self._left_out)

    def left_out(self) -> frozenset[int]:
        """The subscriptions that have no match in the batch under way, with all that was told of it by now."""
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
