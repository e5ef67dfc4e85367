"""Fan-out of new notifications to live readers, and their feeds, of one subscription or of many, which catch up from
the store.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from typing import Final, Protocol, TypeVar

from tamis.errors import TamisError
from tamis.service.base.events import Cursor, Notification
from tamis.service.delivery.store_reader import Gathered, Page, Reading, WidePage
from tamis.service.store import Wanted
from tamis.service.store.database import warn

# Feeds: the notifications of one reader in order, without gap or duplicate, first from the store, then live.
#
# A feed belongs to the event loop. Its cursor is the last notification taken; everything after it is still to come.

QUEUE_BYTES: Final = 1 << 20
PAGE: Final = 100


class FeedEnded(TamisError):  # noqa: N818 - reads as what happened
    """End of a feed: the subscription is `standing`, the service stops, or the reader lost access.

    A reader may not go on whose key is `revoked`, or whose subscription was `given to another key`.
    """

    def __init__(self, standing: str) -> None:
        super().__init__(standing)
        self.standing = standing


class Feed(Protocol):
    """Feed of notifications that a stream or socket reads from."""

    cursor: Cursor
    wide: bool

    async def take(self) -> list[Notification]: ...
    def close(self) -> None: ...


class Source(Protocol):
    """Fan-out, as far as feeds need it."""

    @property
    def done(self) -> int: ...
    def join(self, feed: LiveFeed) -> int: ...
    def leave(self, feed: LiveFeed) -> None: ...
    def hold(self, feed: LiveFeed) -> None: ...
    def admit(self, feed: WideFeed) -> None: ...
    def forget(self, feed: LiveFeed | WideFeed) -> None: ...
    async def page(self, number: int, after: int, upto: int, limit: int) -> Page: ...
    async def wide_page(self, owner: str | None, cursor: Cursor, upto: int, limit: int) -> WidePage: ...


class LiveFeed:
    """Feed of one subscription.

    Joined to the fan-out, it is offered whatever comes after position `since`, and reads what is between its cursor and
    `since` from the store. A queue that is full is dropped and the feed leaves the fan-out; the next `take` reads from
    the store again, from the cursor, and joins anew. So a slow reader holds nobody up and keeps little in memory.

    `arrival` is called when there may be something to take: by default it wakes whoever waits in `take`.
    """

    wide = False

    def __init__(
        self, source: Source, number: int, cursor: Cursor, queue: int, arrival: Callable[[], None] | None = None
    ) -> None:
        self.number = number
        self.cursor = cursor
        self.interruptions = 0
        self._source = source
        self._limit = queue
        self._queue: deque[Notification] = deque()
        self._bytes = 0
        self._since = 0
        self._joined = False
        self._stopped = ""
        self._arrived = asyncio.Event()
        self._arrival = arrival or self._arrived.set

    def offer(self, notification: Notification) -> None:
        """Takes new notifications; called by the fan-out in order."""
        if notification.position <= self._since or notification.position <= self.cursor.position:
            return
        self._bytes += len(notification.body)
        if len(self._queue) >= self._limit or self._bytes > QUEUE_BYTES:
            self._leave()
        else:
            self._queue.append(notification)
        self._arrival()

    def interrupt(self) -> None:
        """Notes that the subscription has changed: queued notifications are dropped, and read again as of then."""
        self.interruptions += 1
        self._leave()
        self._arrival()

    def stop(self, standing: str = "stopping") -> None:
        """Ends the feed and wakes its waiting reader: the service stops, or the reader lost access."""
        self._stopped = standing
        self.interrupt()

    def rewind(self, cursor: Cursor) -> None:
        """Goes back to the reader's actual position; nothing is kept in memory until the next `take`.

        A page that is being read meanwhile is not taken.
        """
        self._leave()
        self.cursor = cursor

    async def take(self) -> list[Notification]:
        """Next notifications, at least one; waits for them. `FeedEnded` if none will come."""
        while True:
            found = await self.take_now()
            if found:
                return found
            await self._arrived.wait()

    async def take_now(self, limit: int = PAGE) -> list[Notification]:
        """Notifications that are available now; none if the reader has everything, or the subscription is paused."""
        while True:
            self._arrived.clear()
            if self._stopped:
                raise FeedEnded(self._stopped)
            if self._queue:
                return self._drain()
            if self._joined:
                return []
            found = await self._catch_up(limit)
            if found is not None:
                return found

    async def _catch_up(self, limit: int) -> list[Notification] | None:
        """Joins the fan-out, and reads earlier notifications; None if there were none but may be by now."""
        self._joined = True
        self._since = upto = self._source.join(self)
        start = self.cursor
        try:
            page = await self._source.page(self.number, start.position, upto, limit)
        except BaseException:
            # Cancelled, perhaps: the feed must not take itself for one that has read up to here.
            self._leave()
            raise
        if self.cursor != start:
            self._leave()
            return None
        if page.standing in ("paused", "suspended"):
            self._leave()
            self._source.hold(self)
            return []
        if page.standing != "active":
            self._leave()
            raise FeedEnded(page.standing)
        if not page.complete:
            self._leave()
        if page.notifications:
            self.cursor = Cursor(page.notifications[-1].position)
            return list(page.notifications)
        return None

    def _drain(self) -> list[Notification]:
        found = list(self._queue)
        self._queue.clear()
        self._bytes = 0
        self.cursor = Cursor(found[-1].position)
        return found

    def _leave(self) -> None:
        self._queue.clear()
        self._bytes = 0
        if self._joined:
            self._joined = False
            self._source.leave(self)

    def close(self) -> None:
        self._leave()
        self._source.forget(self)


class WideFeed:
    """Feed of all subscriptions of an owner (None: of everybody), in the order of events.

    Once it is read from, it is nudged when there is something for it, and reads the store at the pace of its reader.
    Subscriptions that are not active when their turn comes are passed over.
    """

    wide = True

    def __init__(self, source: Source, owner: str | None, cursor: Cursor) -> None:
        self.owner = owner
        self.cursor = cursor
        self._source = source
        self._stopped = ""
        self._nudged = asyncio.Event()

    def nudge(self) -> None:
        """Notes that new notifications are available."""
        self._nudged.set()

    def stop(self, standing: str = "stopping") -> None:
        self._stopped = standing
        self.nudge()

    async def take(self) -> list[Notification]:
        """Next notifications, at least one; waits for them. `FeedEnded` if the service stops."""
        self._source.admit(self)
        while True:
            self._nudged.clear()
            if self._stopped:
                raise FeedEnded(self._stopped)
            page = await self._source.wide_page(self.owner, self.cursor, self._source.done, PAGE)
            self.cursor = page.cursor
            if page.notifications:
                return list(page.notifications)
            if page.complete:
                await self._nudged.wait()

    def close(self) -> None:
        self._source.forget(self)


POLL_SECONDS: Final = 0.2
_PAIRS: Final = 20_000
_OFFERS: Final = 500

_log = logging.getLogger(__name__)
T = TypeVar("T")


class Fanout:
    """Follows the store's head and offers new notifications to the feeds that joined. Belongs to the event loop.

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
        self._numbers: Wanted | None = None
        self._held: dict[int, set[LiveFeed]] = {}
        self._wide: dict[str | None, set[WideFeed]] = {}
        self._woken = asyncio.Event()
        self.done = 0

    async def start(self) -> None:
        """Begins at the head: feeds read earlier notifications from the store."""
        self.done = self._taken = await self._run(self._follower, self._reading.head)

    async def follow(self) -> None:
        """Offers new notifications, when woken and periodically, until cancelled."""
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
        """Notes that the store has new notifications, up to `head`."""
        if head > self.done:
            self._woken.set()

    async def advance(self) -> None:
        """Offers everything up to the head."""
        head = await self._run(self._follower, self._reading.head)
        while self.done < head:
            self._taken = max(self._taken, head)
            wanted = self._wanted()
            if wanted is None:
                self.done = head
            else:
                work = partial(self._reading.gather, self.done, head, _PAIRS, wanted)
                await self._hand_out(await self._run(self._follower, work))
            for feed in [feed for feeds in self._wide.values() for feed in feeds]:
                feed.nudge()

    def _wanted(self) -> Wanted | None:
        """Subscriptions that have feeds, put together anew when one is the first or was the last; None without any."""
        if self._numbers is None:
            self._numbers = Wanted.of(self._live)
        return self._numbers if self._live else None

    async def _hand_out(self, gathered: Gathered) -> None:
        for number in gathered.inactive:
            self.changed([number])
        for count, notification in enumerate(gathered.notifications, 1):
            self._offer(notification)
            if count % _OFFERS == 0:
                await asyncio.sleep(0)
        self.done = gathered.upto

    def _offer(self, notification: Notification) -> None:
        feeds = self._live.get(notification.subscription.number)
        if feeds:
            for feed in tuple(feeds):
                feed.offer(notification)

    def changed(self, numbers: Iterable[int]) -> None:
        """Has the feeds of changed subscriptions read them again."""
        for number in numbers:
            held = self._held.pop(number, set())
            for feed in (*self._live.get(number, ()), *held):
                feed.interrupt()

    def admit(self, feed: WideFeed) -> None:
        self._wide.setdefault(feed.owner, set()).add(feed)

    def join(self, feed: LiveFeed) -> int:
        if feed.number not in self._live:
            self._numbers = None
        self._live.setdefault(feed.number, set()).add(feed)
        return self._taken

    def leave(self, feed: LiveFeed) -> None:
        _discard(self._live, feed.number, feed)
        if feed.number not in self._live:
            self._numbers = None

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
