"""A fan-out over a store of pairs whose reads can be taken apart, step by step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from tamis.service.base.events import Cursor, Notification
from tamis.service.delivery.fanout import Fanout
from tamis.service.delivery.store_reader import Gathered, Page, Reading, WidePage
from tamis.service.store import Subscription, Wanted
from tests.service.delivery.made import LATER, NOON

QUEUE = 4
NUMBERS = (1, 2, 3)


def _subscription(number: int) -> Subscription:
    return Subscription(
        number, f"sub_{number}", "a" if number < 3 else "b", "", "filter", "TRUE", "tamis", "TRUE", None,
        {"mode": "pull"}, "active", NOON, LATER, number,
    )  # fmt: skip


SUBSCRIPTIONS = {number: _subscription(number) for number in NUMBERS}


def _notification(position: int, number: int) -> Notification:
    body = b'{"cursor":"%d"}' % position
    return Notification(f"{position}/{number}", SUBSCRIPTIONS[number], position, "", NOON, "", body)


class StoreOfPairs:
    """What the store would say, in a set of pairs; read as `Reading` reads it."""

    def __init__(self) -> None:
        self.pairs: list[tuple[int, int]] = []
        self.standing: dict[int, str] = dict.fromkeys(NUMBERS, "active")
        self.reads = 0

    def head(self) -> int:
        return self.pairs[-1][0] if self.pairs else 0

    def page(self, number: int, after: int, upto: int, limit: int) -> Page:
        self.reads += 1
        standing: Any = self.standing[number]
        if standing != "active":
            return Page((), False, standing)
        found = [at for at, whose in self.pairs if whose == number and after < at <= upto]
        return Page([_notification(at, number) for at in found[:limit]], len(found) <= limit, standing)

    def wide_page(self, owner: str | None, cursor: Cursor, upto: int, limit: int) -> WidePage:
        self.reads += 1
        found = [
            pair
            for pair in self.pairs
            if cursor < pair and pair[0] <= upto and owner in (None, SUBSCRIPTIONS[pair[1]].owner)
        ]
        some = [pair for pair in found if pair[0] <= found[min(limit, len(found)) - 1][0]]
        reached = max(cursor, Cursor(some[-1][0] if len(some) < len(found) else upto))
        return WidePage([_notification(*pair) for pair in some], reached, len(some) == len(found))

    def gather(self, after: int, upto: int, limit: int, live: Wanted) -> Gathered:
        found = [pair for pair in self.pairs if after < pair[0] <= upto and pair[1] in live]
        reached = upto
        if len(found) > limit:
            reached = found[limit - 1][0]
            found = [pair for pair in found if pair[0] <= reached]
        inactive = {number for _, number in found if self.standing[number] != "active"}
        return Gathered(reached, [_notification(*pair) for pair in found if pair[1] not in inactive], inactive)


class Stepped(Fanout):
    """A fan-out whose reads are done and answered when the test says so, in two steps: what is read may be old news."""

    def __init__(self, store: StoreOfPairs) -> None:
        super().__init__(cast(Reading, store), cast(Any, "follower"), cast(Any, "readers"))
        self.waiting: list[tuple[asyncio.Future[None], Callable[[], Any], list[Any]]] = []

    async def _run(self, executor: Any, work: Any) -> Any:
        gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        result: list[Any] = []
        self.waiting.append((gate, work, result))
        await gate
        return result[0]

    def step(self, choose: Callable[[int], int]) -> None:
        """One of the reads under way is done, or if it is done already, answered."""
        self.waiting = [one for one in self.waiting if not one[0].done()]
        if self.waiting:
            gate, work, result = self.waiting[choose(len(self.waiting))]
            if result:
                gate.set_result(None)
            else:
                result.append(work())

    async def steps(self, count: int, choose: Callable[[int], int]) -> None:
        for _ in range(count):
            for _ in range(3):
                await asyncio.sleep(0)
            self.step(choose)
        for _ in range(3):
            await asyncio.sleep(0)


class Prompt(Stepped):
    """A fan-out whose reads are done at once."""

    async def _run(self, executor: Any, work: Any) -> Any:
        return work()
