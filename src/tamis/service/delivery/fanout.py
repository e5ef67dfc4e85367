"""From the store's head to whoever waits: each new notification is read and rendered once, for those it concerns."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from tamis.errors import TamisError
from tamis.service.base.notification import Cursor, Notification
from tamis.service.delivery.feeds import LiveFeed, WideFeed
from tamis.service.delivery.store_reader import Gathered, Page, Reading, WidePage
from tamis.service.store.database import warn

POLL_SECONDS: Final = 0.2
_PAIRS: Final = 20_000
_OFFERS: Final = 500

_log = logging.getLogger(__name__)
T = TypeVar("T")


class Fanout:
    """Follows the head and hands what is new to the feeds that have joined. Belongs to the event loop.

    Everything up to `done` has been handed out; what is after it, up to `_taken`, is being read. A feed that joins is
    offered what comes after `_taken`, and reads what is up to there from the store: so nothing is missed or given
    twice. What happens for an event is proportional to those it concerns, however many feeds there are.
    """

    def __init__(self, reading: Reading, follower: Executor, readers: Executor) -> None:
        self._reading = reading
        self._follower = follower
        self._readers = readers
        self._taken = 0
        self._live: dict[int, set[LiveFeed]] = {}
        self._held: dict[int, set[LiveFeed]] = {}
        self._wide: dict[str | None, set[WideFeed]] = {}
        self._woken = asyncio.Event()
        self.done = 0

    async def start(self) -> None:
        """Begins at the head: what is before it, feeds read from the store."""
        self.done = self._taken = await self._run(self._follower, self._reading.head)

    async def follow(self) -> None:
        """Hands out what is new, when woken and now and then, until it is cancelled."""
        while True:
            # Unwoken too: another process may have written, which wakes nobody here.
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), POLL_SECONDS)
            self._woken.clear()
            try:
                await self.advance()
            except TamisError as error:
                warn(_log, "reading new notifications failed", error)

    def wake(self, head: int) -> None:
        """The store has something new, up to `head`."""
        if head > self.done:
            self._woken.set()

    async def advance(self) -> None:
        """Hands out everything up to the head."""
        head = await self._run(self._follower, self._reading.head)
        while self.done < head:
            self._taken = max(self._taken, head)
            by_owner = bool(self._wide)
            live: Callable[[int], bool] = self._live.__contains__
            work = partial(self._reading.gather, self.done, head, _PAIRS, live, by_owner)
            await self._hand_out(await self._run(self._follower, work), by_owner)

    async def _hand_out(self, gathered: Gathered, by_owner: bool) -> None:
        for number in gathered.inactive:
            self.changed([number])
        for count, notification in enumerate(gathered.notifications, 1):
            self._offer(notification)
            if count % _OFFERS == 0:
                await asyncio.sleep(0)
        self.done = gathered.upto
        if not gathered.any:
            return
        # A reader of many who came while this was being gathered may be concerned: nobody looked.
        owners = [*gathered.owners, None] if by_owner else list(self._wide)
        for owner in owners:
            for feed in self._wide.get(owner, ()):
                feed.nudge()

    def _offer(self, notification: Notification) -> None:
        feeds = self._live.get(notification.subscription.number)
        if feeds:
            for feed in tuple(feeds):
                feed.offer(notification)

    def changed(self, numbers: Iterable[int]) -> None:
        """Subscriptions that are no longer as they were: their feeds look again."""
        for number in numbers:
            held = self._held.pop(number, set())
            for feed in (*self._live.get(number, ()), *held):
                feed.interrupt()

    def admit(self, feed: WideFeed) -> None:
        self._wide.setdefault(feed.owner, set()).add(feed)

    def join(self, feed: LiveFeed) -> int:
        self._live.setdefault(feed.number, set()).add(feed)
        return self._taken

    def leave(self, feed: LiveFeed) -> None:
        _discard(self._live, feed.number, feed)

    def hold(self, feed: LiveFeed) -> None:
        self._held.setdefault(feed.number, set()).add(feed)

    def forget(self, feed: LiveFeed | WideFeed) -> None:
        if isinstance(feed, LiveFeed):
            _discard(self._held, feed.number, feed)
        else:
            _discard(self._wide, feed.owner, feed)

    async def page(self, number: int, after: int, upto: int, limit: int) -> Page:
        return await self._run(self._readers, partial(self._reading.page, number, after, upto, limit))

    async def wide_page(self, owner: str | None, cursor: Cursor, upto: int, limit: int) -> WidePage:
        return await self._run(self._readers, partial(self._reading.wide_page, owner, cursor, upto, limit))

    async def _run(self, executor: Executor, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(executor, work)


_Key = TypeVar("_Key")
_Feed = TypeVar("_Feed")


def _discard(feeds: dict[_Key, set[_Feed]], key: _Key, feed: _Feed) -> None:
    kept = feeds.get(key)
    if kept is not None:
        kept.discard(feed)
        if not kept:
            del feeds[key]
