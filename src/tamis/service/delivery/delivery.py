"""Delivery as a whole, which routes and the server call: live readers, polls, replay, pushes to webhooks and Kafka
topics, and failover of pushing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Final, NamedTuple, TypeVar

from tamis.errors import TamisError
from tamis.service.base.configuration import Settings
from tamis.service.base.events import BEGINNING, LAST, Cursor, Notification
from tamis.service.base.offering import NOTHING, Offering
from tamis.service.delivery.channels import Channel, Clock, SystemClock
from tamis.service.delivery.fanout import Fanout, FeedEnded, LiveFeed, WideFeed
from tamis.service.delivery.matched import Matched
from tamis.service.delivery.outlets import Changes, Cursors, Outlets
from tamis.service.delivery.sending import Backoff, Outcome, Sending
from tamis.service.delivery.store_reader import Reading, Renderer, Standing, notification_of
from tamis.service.delivery.topics import KafkaChannel
from tamis.service.delivery.webhooks import WebhookChannel
from tamis.service.store import DeadLetter, Store
from tamis.service.store.database import warn
from tamis.service.store.store import FollowedSchema

CHANGES_SECONDS: Final = 0.25
_REVOKED_EVERY: Final = 8  # times that it looks for changes, it looks whether readers' keys are revoked: two seconds
_READERS: Final = 4
_LATEST: Final = "latest"

_log = logging.getLogger(__name__)
T = TypeVar("T")
F = TypeVar("F", LiveFeed, WideFeed)


class TooManyListeners(TamisError):  # noqa: N818 - reads as what happened
    """Refusal: the server has as many live readers as it allows."""


class Admitted(NamedTuple):
    """Credentials by which a reader was let in: an API key, if one was needed, and the subscription's owner."""

    key: str = ""
    owner: str | None = None


ANYBODY: Final = Admitted()


@dataclass(frozen=True, slots=True)
class Polled:
    """Answer to a poll: the next poll goes on from `cursor`."""

    notifications: list[Notification]
    cursor: Cursor
    standing: Standing
    more: bool


class Delivery:
    """Delivers the notifications that the store has recorded. Belongs to the event loop; the store is read in threads.

    `channels` and `clock` are for tests. One process at a time pushes, whoever holds the store's lock for it: several
    would send each notification several times, under the same id. `push=False`: never this one.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        followed: FollowedSchema | None = None,
        *,
        offering: Offering = NOTHING,
        push: bool = True,
        clock: Clock | None = None,
        channels: Mapping[str, Channel] | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._push = push
        self._clock = clock or SystemClock()
        self._channels = channels
        self._backoff = backoff
        self._handed_out = 0
        self._feeds: dict[LiveFeed | WideFeed, Admitted] = {}
        self._loops: list[asyncio.Task[None]] = []
        self.matched = Matched(followed or FollowedSchema(store), settings.limits.filter, offering)
        self._reading = Reading(store, Renderer(self.matched), self._clock)
        self._changes = Changes(store)
        self._sole = store.lock("pushing")
        self._pushing = False

    async def start(self) -> None:
        """Starts following the store; webhooks and topics go on from their saved cursors."""
        delivery = self._settings.delivery
        self._follower = ThreadPoolExecutor(1, "tamis-fanout")
        self._readers = ThreadPoolExecutor(_READERS, "tamis-reading")
        self._writer = ThreadPoolExecutor(1, "tamis-deliveries")
        self._fanout = Fanout(self._reading, self._follower, self._readers)
        if self._channels is None:
            self._channels = {"webhook": WebhookChannel(delivery, self._clock), "kafka": KafkaChannel(delivery)}
        backoff = self._backoff or Backoff(delivery.first_delay, delivery.longest_delay)
        # What retention would sweep away soon is given up before, so that it becomes a dead letter.
        age = self._settings.retention.notifications * 0.9
        self._sending = Sending(self._channels, delivery, age, self._clock, backoff)
        self._cursors = Cursors(self._store, self._clock, self._writer)
        self._outlets = Outlets(
            self._store,
            self._fanout,
            self._sending,
            self._cursors,
            self._clock,
            self._writer,
            delivery.queue,
            delivery.call_bytes,
        )
        await self._fanout.start()
        await self._in_thread(self._changes.start)
        loops = [self._fanout.follow(), self._cursors.follow(), self._follow_changes()]
        self._loops = [asyncio.create_task(loop) for loop in loops]

    async def stop(self) -> None:
        """Ends all readers, lets webhook calls under way finish, and saves all cursors."""
        for feed in tuple(self._feeds):
            feed.stop()
        await self._outlets.stop()
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        await self._cursors.save()
        await asyncio.to_thread(self._sole.release)
        for channel in (self._channels or {}).values():
            await channel.close()
        for executor in (self._follower, self._readers, self._writer):
            executor.shutdown(wait=False)

    def wake(self, head: int) -> None:
        """Notes that new notifications were recorded, up to position `head`."""
        self._fanout.wake(head)

    def listen(
        self, number: int, cursor: str | None, admitted: Admitted = ANYBODY
    ) -> AbstractAsyncContextManager[LiveFeed]:
        """Feed of one subscription; without a cursor from its beginning, with `latest` from now on.

        It begins where things stand when this is called, so that nothing is missed until it is entered. It ends when
        the reader would not be admitted any more.
        """
        feed = LiveFeed(self._fanout, number, self._place(number, cursor), self._settings.delivery.queue)
        return self._listening(feed, admitted)

    def listen_to_all(
        self, owner: str | None, cursor: str | None, admitted: Admitted = ANYBODY
    ) -> AbstractAsyncContextManager[WideFeed]:
        """Feed of all of an owner's subscriptions, or everybody's; without a cursor, from now on."""
        return self._listening(WideFeed(self._fanout, owner, self._cursor(cursor) or self.here), admitted)

    @property
    def here(self) -> Cursor:
        """Cursor of a reader who has seen everything up to now."""
        return Cursor(self._fanout.done)

    @asynccontextmanager
    async def _listening(self, feed: F, admitted: Admitted) -> AsyncIterator[F]:
        try:
            if len(self._feeds) >= self._settings.limits.listeners:
                raise TooManyListeners(f"there are {len(self._feeds)} readers already; try again later, or poll")
            self._feeds[feed] = admitted
            yield feed
        finally:
            self._feeds.pop(feed, None)
            feed.close()

    async def poll(
        self, number: int, cursor: str | None, limit: int, wait: float, admitted: Admitted = ANYBODY
    ) -> Polled:
        """Notifications of a subscription after a cursor, waiting up to `wait` seconds if there are none.

        This is the one way to read a subscription that has expired; one that is paused or cancelled has nothing.
        """
        start = self._place(number, cursor)
        page = await self._in_thread(partial(self._reading.poll, number, start.position, limit))
        found, more = list(page.notifications), not page.complete
        if not found and page.standing == "active" and wait > 0:
            come = await self._wait_for(number, start, wait, admitted)
            found, more = come[:limit], len(come) > limit
        return Polled(found, Cursor(found[-1].position) if found else start, page.standing, more)

    async def look_back(self, number: int, cursor: str | None, limit: int) -> Polled:
        """Notifications before a cursor, or up to now, newest first: `cursor` leads further back."""
        start = Cursor(LAST) if cursor in (None, _LATEST) else self._place(number, cursor)
        page = await self._in_thread(partial(self._reading.back, number, start.position, limit))
        found = list(page.notifications)
        # Where there is nothing more, the cursor is one from which a reader who then goes forward misses nothing.
        reached = Cursor(found[-1].position) if found else BEGINNING
        return Polled(found, reached, page.standing, not page.complete)

    async def _wait_for(self, number: int, start: Cursor, seconds: float, admitted: Admitted) -> list[Notification]:
        async with self.listen(number, str(start), admitted) as feed:
            try:
                async with asyncio.timeout(seconds):
                    return await feed.take()
            except (TimeoutError, FeedEnded):
                return []

    async def replay(self, letter: DeadLetter) -> Outcome:
        """Sends a dead letter once more; it stays a dead letter unless it is acknowledged."""
        subscription = await self._in_thread(partial(self._store.subscriptions.get, letter.subject))
        notification = notification_of(letter, subscription, self._clock.now())
        outcome = await self._sending.attempt([notification], 0)
        if outcome.kind == "delivered":
            await self._in_thread(partial(self._store.dead_letters.remove, [letter.id]))
        return outcome

    async def begin_from_now(self, number: int) -> None:
        """Skips earlier matches for a subscription that is about to get a webhook or topic."""
        head = await self._in_thread(self._reading.head)
        await self._in_thread(partial(self._store.deliveries.begin_at, number, head))

    @property
    def has_room(self) -> bool:
        """True if one more reader may listen."""
        return len(self._feeds) < self._settings.limits.listeners

    def count_handed_out(self, count: int) -> None:
        """Counts notifications taken by their subscribers."""
        self._handed_out += count

    def status(self) -> dict[str, int]:
        """Counters since the start, for people and for Prometheus. They name nobody.

        `handed_out` went to subscribers who read, `delivered` was acknowledged by webhooks and topics; `pushing`:
        whether this is the process that serves those.
        """
        return {
            "position": self._fanout.done,
            "listeners": len(self._feeds),
            "handed_out": self._handed_out,
            "delivered": self._sending.delivered,
            "failed": self._sending.failed,
            "pushing": int(self._pushing),
            "breakers_open": self._sending.breakers.open_count,
            **self._outlets.health,
        }

    def endpoints(self) -> list[dict[str, Any]]:
        """Endpoints that failed lately, for administrators: their names are their owners' business."""
        return self._sending.breakers.shown()

    async def _follow_changes(self) -> None:
        for looked in count():
            try:
                await self.notice_changes()
                if looked % _REVOKED_EVERY == 0:
                    await self.notice_revocations()
            except TamisError as error:
                warn(_log, "reading changes of subscriptions failed", error)
            await self._clock.sleep(CHANGES_SECONDS)

    async def notice_changes(self) -> None:
        """Looks for subscriptions that are new or have changed since the last call."""
        await self._settle_who_pushes()
        while self._pushing and (new := await self._in_thread(self._changes.pushed)):
            await self._outlets.add(new)
            await self._outlets.settle()
        numbers = await self._in_thread(self._changes.changed)
        if numbers:
            try:
                await self._take_over(numbers)
            except TamisError:
                self._changes.put_back(numbers)
                raise

    async def _take_over(self, numbers: set[int]) -> None:
        """Has readers and outlets follow the subscriptions as they are now."""
        await self._end_given_away(numbers)
        self._fanout.changed(numbers)
        if self._pushing:
            now = await self._in_thread(partial(self._reading.subscriptions, numbers))
            await self._outlets.changed(list(now.values()))

    async def notice_revocations(self) -> None:
        """Ends readers whose key has been revoked, here or at another service."""
        keys = {admitted.key for admitted in self._feeds.values() if admitted.key}
        revoked = await self._in_thread(partial(self._store.keys.revoked, keys)) if keys else set()
        for feed, admitted in tuple(self._feeds.items()):
            if admitted.key in revoked:
                feed.stop("revoked")

    async def _end_given_away(self, numbers: set[int]) -> None:
        """Ends readers of subscriptions that have been given to another owner."""
        read = [feed for feed in self._feeds if isinstance(feed, LiveFeed) and feed.number in numbers]
        if not read:
            return
        now = await self._in_thread(partial(self._reading.subscriptions, {feed.number for feed in read}))
        for feed in read:
            owner = self._feeds.get(feed, ANYBODY).owner
            if owner is not None and feed.number in now and now[feed.number].owner != owner:
                feed.stop("given to another key")

    async def _settle_who_pushes(self) -> None:
        """Failover of pushing: begins when the process that pushed is gone, ends when the lock is lost."""
        may = self._push and await self._in_thread(self._sole.hold)
        if may != self._pushing:
            self._pushing = may
            # What another one has sent, the store knows by now: everything is taken from there.
            self._changes.find_all()
            if not may:
                await self._outlets.leave()
                self._cursors.forget()

    def _cursor(self, text: str | None) -> Cursor | None:
        if text is None or text == _LATEST:
            return None
        return Cursor.parse(text)

    def _place(self, number: int, text: str | None) -> Cursor:
        """Position of a reader of one subscription; its cursor may be from a reader of many."""
        if text is None:
            return BEGINNING
        return (self._cursor(text) or self.here).of(number)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, work)
