"""All subscriptions that are pushed to: found, kept, and started when there is something for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Executor
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

from tamis.service.delivery.clock import Clock
from tamis.service.delivery.cursors import Cursors
from tamis.service.delivery.feeds import Source
from tamis.service.delivery.outlet import Outlet
from tamis.service.delivery.sending import Outcome, Sending
from tamis.service.notification import Notification
from tamis.service.store import DeliveryState, Store, Subscription

GRACE_SECONDS: Final = 5.0
_SETTLE_SECONDS: Final = 1.0
_AT_ONCE: Final = 200

_log = logging.getLogger(__name__)
T = TypeVar("T")


class Outlets:
    """An outlet for every subscription with a webhook or a topic that has not ended. Belongs to the event loop."""

    def __init__(
        self,
        store: Store,
        source: Source,
        sending: Sending,
        cursors: Cursors,
        clock: Clock,
        executor: Executor,
        queue: int,
    ) -> None:
        self._store = store
        self._source = source
        self._sending = sending
        self._cursors = cursors
        self._clock = clock
        self._executor = executor
        self._queue = queue
        self._outlets: dict[int, Outlet] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False

    def now(self) -> datetime:
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    async def attempt(self, notification: Notification, failures: int) -> Outcome:
        return await self._sending.attempt(notification, failures)

    def save(self, state: DeliveryState) -> None:
        self._cursors.put(state)

    async def bury(self, notification: Notification, attempts: int, reason: str) -> None:
        """What could not be delivered is kept, with all that sending it again needs."""
        subscription = notification.subscription
        detail = {
            "notification": notification.id,
            "event_id": notification.event_id,
            "cursor": str(notification.position),
            "attempts": attempts,
        }
        body = notification.body.decode()
        add = partial(
            self._store.dead_letters.add, "delivery", subscription.id, subscription.owner, reason, body, detail
        )
        await self._in_thread(add)

    async def add(self, subscriptions: Iterable[Subscription]) -> None:
        """Begins to serve them, each from where it was left."""
        new = [
            one.number for one in subscriptions if one.number not in self._outlets and one.delivery["mode"] != "pull"
        ]
        states = await self._in_thread(partial(self._store.deliveries.get, new)) if new else {}
        for number in new:
            if number not in self._outlets and not self._stopping:
                state = states.get(number) or DeliveryState(number)
                outlet = self._outlets[number] = Outlet(self._source, state, self._queue, self, self._spawn)
                outlet.kick()

    async def settle(self) -> None:
        """Waits a while if much was started, so that a hundred thousand at the start come some at a time."""
        if len(self._tasks) > _AT_ONCE:
            await asyncio.wait(self._tasks, timeout=_SETTLE_SECONDS)

    async def changed(self, subscriptions: Sequence[Subscription]) -> None:
        """Subscriptions that are not as they were: they may be pushed to now, or not any more."""
        for subscription in subscriptions:
            outlet = self._outlets.get(subscription.number)
            if outlet is None:
                continue
            if (
                outlet.ended
                or subscription.delivery["mode"] == "pull"
                or subscription.state in ("expired", "cancelled")
            ):
                outlet.close()
                del self._outlets[subscription.number]
            else:
                outlet.changed()
        await self.add(one for one in subscriptions if one.state in ("active", "paused", "suspended"))

    async def stop(self) -> None:
        """Lets what is under way end, for a few seconds; the rest is for the next start."""
        self._stopping = True
        await self.leave()

    async def leave(self) -> None:
        """The same, for the time being: somebody else pushes."""
        for outlet in self._outlets.values():
            outlet.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=GRACE_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._outlets.clear()

    @property
    def health(self) -> dict[str, int]:
        """How many there are, and how many of them are not well."""
        states = [outlet.state for outlet in self._outlets.values()]
        return {
            "outlets": len(states),
            "failing": sum(state.failures > 0 and not state.disabled for state in states),
            "disabled": sum(state.disabled for state in states),
        }

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("an outlet has failed", exc_info=error)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)
