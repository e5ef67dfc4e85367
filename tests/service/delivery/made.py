"""What the tests of delivery share: a clock that stands still, a channel that does as it is told, a store's filling."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pyarrow as pa

from tamis.service.base.configuration import DeliverySettings, LimitSettings, Settings
from tamis.service.base.events import Notification
from tamis.service.delivery import Delivery
from tamis.service.delivery.channels import CallLimits, Undelivered
from tamis.service.delivery.delivery import CHANGES_SECONDS
from tamis.service.delivery.outlets import SAVE_SECONDS
from tamis.service.delivery.sending import Backoff
from tamis.service.store import NewSubscription, Store, Subscription

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
LATER = datetime(2100, 1, 1, tzinfo=UTC)
SCHEMA = {
    "attributes": {"price": "float", "n": "integer", "title": "string", "tags": "string", "opened": "timestamp"},
    "event_types": {
        "antiques": {
            "price": "optional",
            "n": "optional",
            "title": "optional",
            "tags": ["optional", "multiple"],
            "opened": "optional",
        }
    },
}
SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
WEBHOOK = {"mode": "webhook", "url": "https://hooks.example.org/a", "secret": SECRET}
T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs a test's coroutine; a test that hangs fails."""

    async def limited() -> T:
        async with asyncio.timeout(30):
            return await work

    return asyncio.run(limited())


class StillClock:
    """Time passes when a test says so. `waits` has every wait that somebody began: how long, and how to end it.

    Saving is not waited for. The store's changes are looked for only when a test calls `notice_changes`.
    """

    def __init__(self) -> None:
        self.time = NOON
        self.waits: asyncio.Queue[tuple[float, asyncio.Future[None]]] = asyncio.Queue()

    def now(self) -> datetime:
        return self.time

    async def sleep(self, seconds: float) -> None:
        if seconds == SAVE_SECONDS:
            await asyncio.sleep(0)
            return
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if seconds != CHANGES_SECONDS:
            self.waits.put_nowait((seconds, over))
        await over

    async def pass_next(self) -> float:
        """Lets the next wait be over; how long it was."""
        while True:
            seconds, over = await self.waits.get()
            if not over.done():
                self.time += timedelta(seconds=seconds)
                over.set_result(None)
                return seconds


class Told:
    """A channel that notes what it is given. `answers` are taken one a call, then everything is well."""

    most_at_once = 8

    def __init__(self, *answers: Undelivered | None) -> None:
        self.answers = deque(answers)
        self.sent: asyncio.Queue[Notification] = asyncio.Queue()
        self.all: list[tuple[str, int]] = []
        self.calls: list[list[int]] = []
        self.before: Callable[[Notification], Awaitable[None]] | None = None

    def endpoint(self, subscription: Subscription) -> Hashable:
        return subscription.delivery.get("url", "kafka")

    def limits(self, subscription: Subscription) -> CallLimits:
        return CallLimits(subscription.delivery.get("parallel", 1), subscription.delivery.get("batch", 1))

    async def send(self, notifications: Sequence[Notification]) -> None:
        if self.before is not None:
            await self.before(notifications[0])
        answer = self.answers.popleft() if self.answers else None
        self.calls.append([one.position for one in notifications])
        for notification in notifications:
            self.all.append((notification.subscription.id, notification.position))
            self.sent.put_nowait(notification)
        if answer is not None:
            raise answer

    async def close(self) -> None:
        return None

    async def next(self) -> Notification:
        return await self.sent.get()


def subscribed(store: Store, filter: str = "price < 10", **fields: Any) -> Subscription:
    new = NewSubscription(owner="", text=filter, filter=filter, expires=LATER)
    return store.subscriptions.create(replace(new, **fields))[0]


def record(
    store: Store,
    batch: int,
    matches: Sequence[tuple[Mapping[str, Any] | str, Sequence[int]]],
    time: datetime = NOON,
    bindings: str | None = None,
) -> list[int]:
    """A batch of events, each with the numbers of the subscriptions it matched; their positions."""
    positions = [batch << 24 | rank for rank in range(1, len(matches) + 1)]
    events = pa.table(
        {
            "position": pa.array(positions, pa.int64()),
            "id": pa.array([f"evt_{position}" for position in positions], pa.string()),
            "time": pa.array([time] * len(matches), pa.timestamp("us", "UTC")),
            "body": pa.array([one if isinstance(one, str) else json.dumps(one) for one, _ in matches], pa.string()),
        }
    )
    pairs = [(at, number) for at, (_, numbers) in zip(positions, matches, strict=True) for number in numbers]
    store.notifications.record(
        "stream",
        batch,
        events,
        pa.table(
            {
                "position": pa.array([pair[0] for pair in pairs], pa.int64()),
                "subscription": pa.array([pair[1] for pair in pairs], pa.int64()),
                "bindings": pa.array([bindings] * len(pairs), pa.string()),
            }
        ),
    )
    return positions


def cheap(count: int = 1) -> list[dict[str, float]]:
    return [{"price": 9.5 - k / 100} for k in range(count)]


class Running:
    """A delivery at work over a store, with a clock that stands still and a channel that does as it is told."""

    def __init__(self, store: Store, channel: Told | None = None, **settings: Any) -> None:
        self.store = store
        self.channel = channel or Told()
        self.clock = StillClock()
        limits = settings.pop("limits", LimitSettings())
        self.settings = Settings(delivery=DeliverySettings(**settings), limits=limits)
        self.delivery = self._made()

    def _made(self) -> Delivery:
        channels = {"webhook": self.channel, "kafka": self.channel}
        backoff = Backoff(self.settings.delivery.first_delay, self.settings.delivery.longest_delay, lambda: 1.0)
        return Delivery(self.store, self.settings, clock=self.clock, channels=channels, backoff=backoff)

    async def __aenter__(self) -> Running:
        if self.store.schemas.current() is None:
            self.store.schemas.add(SCHEMA)
        await self.delivery.start()
        await self.delivery.notice_changes()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.delivery.stop()

    def record(
        self,
        batch: int,
        matches: Sequence[tuple[Mapping[str, Any] | str, Sequence[int]]],
        bindings: str | None = None,
    ) -> list[int]:
        """A batch that matched, of which delivery is told."""
        positions = record(self.store, batch, matches, self.clock.now(), bindings)
        self.delivery.wake(self.store.notifications.head())
        return positions
