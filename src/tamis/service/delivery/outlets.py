"""Subscriptions that are pushed to: an outlet for each, which sends its notifications in order.

A notification is sent until it is acknowledged or given up; only then comes the next one of its subscription.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final, TypeVar

from tamis.errors import TamisError
from tamis.service.base.events import Cursor, Notification
from tamis.service.delivery.channels import Clock
from tamis.service.delivery.fanout import FeedEnded, LiveFeed, Source
from tamis.service.delivery.sending import Outcome, Sending
from tamis.service.store import DeliveryState, Store, Subscription
from tamis.service.store.database import warn

# Pushing and the store: how far each webhook and topic has come, on its way in, and which subscriptions changed.

SAVE_SECONDS: Final = 0.1
_PAGE: Final = 1_000
_CHANGES: Final = 20_000

_log = logging.getLogger(__name__)


class Cursors:
    """States that are not saved yet, the newest of each subscription. Belongs to the event loop.

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
        """To be saved soon."""
        self._waiting[state.subscription] = state
        self._some.set()

    async def follow(self) -> None:
        """Saves what comes, until it is cancelled."""
        while True:
            await self._some.wait()
            await self._clock.sleep(SAVE_SECONDS)
            await self.save()

    async def save(self) -> None:
        """Saves what waits; what cannot be saved waits on."""
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
        """Forgets what is not saved: somebody else has gone on from what was."""
        self._waiting = {}

    def _put_back(self, states: dict[int, DeliveryState]) -> None:
        self._waiting = {**states, **self._waiting}
        self._some.set()


class Changes:
    """Follows the store's revisions. One thread at a time.

    A subscription's number is the revision that it was made under. So those that are pushed to are found by their
    numbers, each once, and nobody looks twice at the many that are pulled.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._revision = 0
        self._seen = 0
        self._again: set[int] = set()

    def start(self) -> None:
        """Changes count from now on."""
        self._revision = self._store.subscriptions.revision

    def find_all(self) -> None:
        """Finds the subscriptions that are pushed to once more, from the first on."""
        self._seen = 0

    def pushed(self) -> list[Subscription]:
        """Some subscriptions with a webhook or a topic that were not seen before; empty if there are no more."""
        newest = self._store.subscriptions.revision
        if newest == self._seen:
            return []
        found = self._store.subscriptions.pushed(self._seen, _PAGE)
        self._seen = found[-1].number if len(found) == _PAGE else newest
        return found

    def changed(self) -> set[int]:
        """The numbers of subscriptions changed since the last time, but for new ones."""
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
_AT_ONCE: Final = 20  # notifications read for one subscription
_STORE_SECONDS: Final = 1.0  # before the next attempt where the store failed
_SETTLE_SECONDS: Final = 1.0
_STARTED: Final = 200  # outlets at work from which on starting more waits a while

T = TypeVar("T")


class Outlet:
    """Takes from a feed and sends, one at a time. `state` is what the store knows or is about to.

    A task works while there is something to send; `kick` starts one. While it waits for the next attempt it keeps
    nothing in memory: then the subscription and its notifications are read again as they are by then.
    """

    def __init__(self, outlets: Outlets, state: DeliveryState) -> None:
        self.number = state.subscription
        self.state = state
        self.ended = False
        self._outlets = outlets
        self._feed = LiveFeed(outlets.source, self.number, Cursor(state.cursor), outlets.queue, self.kick)
        self._task: asyncio.Task[None] | None = None
        self._kicked = False
        self._waiting = False

    def kick(self) -> None:
        """There may be something to send."""
        self._kicked = True
        if self._task is None and not self.state.disabled and not self.ended:
            self._task = self._outlets.spawn(self._work())

    def changed(self, stored: DeliveryState | None = None) -> None:
        """The subscription has changed: whatever was wrong may be right now, and it may have been set back.

        `stored` is its state in the store. In a new epoch nothing counts that comes of attempts made before.
        """
        if stored is not None and stored.epoch > self.state.epoch:
            self.state = stored
            self._feed.rewind(Cursor(stored.cursor))
        if self.state.disabled or self.state.failures:
            self._keep(replace(self.state, failures=0, next_attempt=None, disabled=False))
        self._rouse()
        self._feed.interrupt()

    def close(self) -> None:
        """Nothing more is sent, but what is under way."""
        self.ended = True
        self._rouse()
        self._feed.stop()
        self._feed.close()

    def _rouse(self) -> None:
        """Ends a wait for the next attempt; an attempt that is under way is left alone."""
        if self._waiting and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _work(self) -> None:
        mine = asyncio.current_task()
        try:
            while self._kicked and not self.state.disabled:
                self._kicked = False
                await self._send_all()
        except FeedEnded:
            self.close()
        finally:
            if self._task is mine:
                self._task = None

    async def _send_all(self) -> None:
        while not self.state.disabled:
            await self._until_next_attempt()
            try:
                found = await self._feed.take_now(1 if self.state.failures else _AT_ONCE)
                if not found:
                    return
                await self._send(found)
            except FeedEnded:
                raise
            except TamisError as error:
                warn(_log, f"serving subscription {self.number} failed", error)
                await self._wait(_STORE_SECONDS)

    async def _send(self, notifications: list[Notification]) -> None:
        """Sends them in order, until one fails or the subscription changes: from there on they are read again."""
        interruptions, epoch = self._feed.interruptions, self.state.epoch
        try:
            for notification in notifications:
                outcome = await self._outlets.sending.attempt(notification, self.state.failures)
                await self._note(notification, outcome, epoch)
                if self.state.cursor < notification.position or interruptions != self._feed.interruptions:
                    break
        finally:
            if self.state.cursor < notifications[-1].position:
                self._feed.rewind(Cursor(self.state.cursor))

    async def _note(self, notification: Notification, outcome: Outcome, epoch: int) -> None:
        if outcome.kind == "given up" and epoch == self.state.epoch:
            await self._outlets.bury(notification, self.state.failures + 1, outcome.reason)
        if epoch != self.state.epoch:
            return
        done = DeliveryState(self.number, notification.position, epoch=epoch)
        if outcome.kind == "delivered":
            self._keep(done)
        elif outcome.kind == "given up":
            self._keep(replace(done, last_error=outcome.reason))
        elif outcome.kind == "gone":
            self._keep(replace(self.state, last_error=outcome.reason, next_attempt=None, disabled=True))
        else:
            until = self._outlets.clock.now() + timedelta(seconds=outcome.wait)
            failures = self.state.failures + (outcome.kind == "failed")
            reason = outcome.reason or self.state.last_error
            self._keep(replace(self.state, failures=failures, next_attempt=until, last_error=reason))

    async def _until_next_attempt(self) -> None:
        if self.state.next_attempt is not None:
            await self._wait((self.state.next_attempt - self._outlets.clock.now()).total_seconds())

    async def _wait(self, seconds: float) -> None:
        if seconds > 0:
            self._waiting = True
            try:
                await self._outlets.clock.sleep(seconds)
            finally:
                self._waiting = False

    def _keep(self, state: DeliveryState) -> None:
        self.state = state
        self._outlets.cursors.put(state)


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
        self.source = source
        self.sending = sending
        self.cursors = cursors
        self.clock = clock
        self._executor = executor
        self.queue = queue
        self._outlets: dict[int, Outlet] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def bury(self, notification: Notification, attempts: int, reason: str) -> None:
        """Keeps what could not be delivered as a dead letter, with all that sending it again needs."""
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
                outlet = self._outlets[number] = Outlet(self, state)
                outlet.kick()

    async def settle(self) -> None:
        """Waits a while if much was started, so that a hundred thousand at the start come some at a time."""
        if len(self._tasks) > _STARTED:
            await asyncio.wait(self._tasks, timeout=_SETTLE_SECONDS)

    async def changed(self, subscriptions: Sequence[Subscription]) -> None:
        """Subscriptions that are not as they were: pushed to from now on, or not any more, or from another place."""
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
        """Lets what is under way end, for a few seconds; the rest is for the next start."""
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
        """Number of outlets, and of those that are not well."""
        states = [outlet.state for outlet in self._outlets.values()]
        return {
            "outlets": len(states),
            "failing": sum(state.failures > 0 and not state.disabled for state in states),
            "disabled": sum(state.disabled for state in states),
        }

    def spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Runs an outlet's work; `leave` waits for its end."""
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
