"""Subscriptions that are pushed to: an outlet for each, their changes followed in the store, and their cursors on the
way into it.

A notification is sent until it is acknowledged or given up; only then does its subscription's cursor pass it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Final, TypeVar

from tamis.errors import TamisError
from tamis.service.base.events import Notification
from tamis.service.delivery.channels import Clock
from tamis.service.delivery.fanout import Source
from tamis.service.delivery.outlet import Outlet
from tamis.service.delivery.sending import Sending
from tamis.service.store import DeliveryState, Store, Subscription
from tamis.service.store.database import warn

SAVE_SECONDS: Final = 0.1
_PAGE: Final = 1_000
_CHANGES: Final = 20_000

_log = logging.getLogger(__name__)


class Cursors:
    """Delivery states that are not saved yet, the newest of each subscription. Belongs to the event loop.

    Many are saved in one transaction, at most every `SAVE_SECONDS`, so that webhooks do not keep the pipeline from
    writing. Whoever is killed repeats what was acknowledged in that time; a notification's id tells the subscriber.
    """

    def __init__(self, store: Store, clock: Clock, executor: Executor) -> None:
        self._store = store
        self._clock = clock
        self._executor = executor
        self._waiting: dict[int, DeliveryState] = {}
        self._some = asyncio.Event()

    def put(self, state: DeliveryState) -> None:
        """Queues a state to be saved soon."""
        self._waiting[state.subscription] = state
        self._some.set()

    async def follow(self) -> None:
        """Saves queued states, until it is cancelled."""
        while True:
            await self._some.wait()
            await self._clock.sleep(SAVE_SECONDS)
            await self.save()

    async def save(self) -> None:
        """Saves the queued states; those that cannot be saved stay queued."""
        self._some.clear()
        states, self._waiting = self._waiting, {}
        if not states:
            return
        work: Callable[[], None] = partial(self._store.deliveries.save, list(states.values()))
        try:
            await asyncio.get_running_loop().run_in_executor(self._executor, work)
        except TamisError as error:
            warn(_log, "saving states of deliveries failed", error)
            self._put_back(states)
        except asyncio.CancelledError:
            self._put_back(states)
            raise

    def forget(self) -> None:
        """Discards unsaved states: another service has taken over the pushes."""
        self._waiting = {}

    def _put_back(self, states: dict[int, DeliveryState]) -> None:
        self._waiting = {**states, **self._waiting}
        self._some.set()


class Changes:
    """Follows the store's revisions, to find new and changed push subscriptions. One thread at a time.

    A subscription's number is the revision that it was made under. So those that are pushed to are found by their
    numbers, each once, and nobody looks twice at the many that are pulled.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._revision = 0
        self._seen = 0
        self._again: set[int] = set()

    def start(self) -> None:
        """Starts at the current revision."""
        self._revision = self._store.subscriptions.revision

    def find_all(self) -> None:
        """Searches the push subscriptions again from the first on."""
        self._seen = 0

    def pushed(self) -> list[Subscription]:
        """Next push subscriptions that were not seen before; empty if there are no more."""
        newest = self._store.subscriptions.revision
        if newest == self._seen:
            return []
        found = self._store.subscriptions.pushed(self._seen, _PAGE)
        self._seen = found[-1].number if len(found) == _PAGE else newest
        return found

    def changed(self) -> set[int]:
        """Numbers of the subscriptions changed since the last call, except new ones."""
        numbers: set[int] = set()
        newest = self._store.subscriptions.revision
        while self._revision < newest:
            rows = self._store.subscriptions.changes(self._revision, _CHANGES)
            numbers.update(row.number for row in rows if row.number != row.revision)
            self._revision = rows[-1].revision if rows else newest
        numbers |= self._again
        self._again = set()
        return numbers

    def put_back(self, numbers: set[int]) -> None:
        """These could not be seen to: they count as changed the next time too."""
        self._again |= numbers


GRACE_SECONDS: Final = 5.0
_SETTLE_SECONDS: Final = 1.0
_STARTED: Final = 200  # outlets at work from which on starting more waits a while

T = TypeVar("T")


class Outlets:
    """Outlets of all push subscriptions that have not ended. Belongs to the event loop."""

    def __init__(
        self,
        store: Store,
        source: Source,
        sending: Sending,
        cursors: Cursors,
        clock: Clock,
        executor: Executor,
        queue: int,
        call_bytes: int,
    ) -> None:
        self._store = store
        self.source = source
        self.sending = sending
        self.clock = clock
        self.queue = queue
        self.call_bytes = call_bytes
        self.keep = cursors.put
        self._executor = executor
        self._outlets: dict[int, Outlet] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def bury(self, notification: Notification, attempts: int, reason: str) -> None:
        """Stores an undeliverable notification as a dead letter, with all that a replay needs."""
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
        """Opens outlets, each at its saved cursor."""
        new = [
            one.number for one in subscriptions if one.number not in self._outlets and one.delivery["mode"] != "pull"
        ]
        states = await self._in_thread(partial(self._store.deliveries.get, new)) if new else {}
        for number in new:
            if number not in self._outlets and not self._stopping:
                state = states.get(number) or DeliveryState(number)
                outlet = self._outlets[number] = Outlet(self, state)
                outlet.kick()

    async def settle(self) -> None:
        """Waits if many outlets were started, so that a hundred thousand do not start at once."""
        if len(self._tasks) > _STARTED:
            await asyncio.wait(self._tasks, timeout=_SETTLE_SECONDS)

    async def changed(self, subscriptions: Sequence[Subscription]) -> None:
        """Updates the outlets of changed subscriptions, which may have become push subscriptions or ceased to be."""
        known = [one.number for one in subscriptions if one.number in self._outlets]
        states = await self._in_thread(partial(self._store.deliveries.get, known)) if known else {}
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
                outlet.changed(states.get(subscription.number))
        await self.add(one for one in subscriptions if one.state in ("active", "paused", "suspended"))

    async def stop(self) -> None:
        """Lets attempts under way finish, for a few seconds; the rest is for the next start."""
        self._stopping = True
        await self.leave()

    async def leave(self) -> None:
        """Releases the outlets: another service owns their pushes now."""
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
        """Number of outlets, and of failing ones."""
        states = [outlet.state for outlet in self._outlets.values()]
        return {
            "outlets": len(states),
            "failing": sum(state.failures > 0 and not state.disabled for state in states),
            "disabled": sum(state.disabled for state in states),
        }

    def spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Runs an outlet's task; `leave` waits for its end."""
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
