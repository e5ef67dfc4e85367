"""What slow conditions took of matching lately, by owner and subscription, and who took too much."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from typing import NamedTuple


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
        """Those that are too much, the most expensive first by owner."""
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
