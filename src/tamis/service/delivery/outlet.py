"""An outlet: one subscription that is pushed to, its notifications in order, with a window of calls under way."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Collection, Coroutine
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Protocol

from tamis.errors import TamisError
from tamis.service.base.events import Cursor, Notification
from tamis.service.delivery.channels import CallLimits, Clock
from tamis.service.delivery.fanout import QUEUE_BYTES, FeedEnded, LiveFeed, Source
from tamis.service.delivery.sending import Outcome, Sending
from tamis.service.delivery.window import Window
from tamis.service.store import DeliveryState
from tamis.service.store.database import warn

_AT_ONCE: Final = 20  # notifications read for one subscription before it is known how large they are
_MOST_AT_ONCE: Final = 1_000
_REACH: Final = 4  # windows that may be out above the first notification that is not acknowledged
_STORE_SECONDS: Final = 1.0  # before the next attempt where the store failed

_log = logging.getLogger(__name__)


class Office(Protocol):
    """All outlets together, as far as one needs them."""

    @property
    def source(self) -> Source: ...
    @property
    def sending(self) -> Sending: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def queue(self) -> int: ...
    @property
    def call_bytes(self) -> int: ...
    def keep(self, state: DeliveryState) -> None: ...
    def spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]: ...
    async def bury(self, notification: Notification, attempts: int, reason: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Failed:
    """A call that is to be made again as it was: the last position in it, how many it has, and how often it failed."""

    last: int
    count: int
    failures: int


class Outlet:
    """Takes from a feed and sends. `state` is what the store knows or is about to.

    A task works while there is something to send; `kick` starts one. While it waits for the next attempt it keeps no
    notification in memory: then the subscription and its notifications are read again as they are by then. What it
    keeps is what was acknowledged after the cursor, so that it is not sent again, and which calls failed.

    Until a call succeeds, an outlet that has failed makes one call at a time, the first.
    """

    def __init__(self, office: Office, state: DeliveryState) -> None:
        self.number = state.subscription
        self.state = state
        self.ended = False
        self.office = office
        self.feed = LiveFeed(office.source, self.number, Cursor(state.cursor), office.queue, self.kick)
        self.window = Window(state.cursor)
        self.cautious = state.failures > 0
        self.failed: dict[int, Failed] = {}
        self._alone = 0
        self._round: _Round | None = None
        self._task: asyncio.Task[None] | None = None
        self._kicked = False
        self._waiting = False

    def kick(self) -> None:
        """There may be something to send."""
        self._kicked = True
        if self._round is not None:
            self._round.arrived()
        elif self._task is None and not self.state.disabled and not self.ended:
            self._task = self.office.spawn(self._work())

    def changed(self, stored: DeliveryState | None = None) -> None:
        """The subscription has changed: whatever was wrong may be right now, and it may have been set back.

        `stored` is its state in the store. Results of calls that began in an earlier epoch do not count.
        """
        if stored is not None and stored.epoch > self.state.epoch:
            self.state, self.window = stored, Window(stored.cursor)
            self.feed.rewind(Cursor(stored.cursor))
        if self.state.disabled or self.state.failures:
            self.keep(replace(self.state, failures=0, next_attempt=None, disabled=False))
        self.failed, self.cautious, self._alone = {}, False, 0
        self._rouse()
        self.feed.interrupt()

    def close(self) -> None:
        """Nothing more is sent, but what is under way."""
        self.ended = True
        self._rouse()
        self.feed.stop()
        self.feed.close()

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
        more = True
        while more and not self.state.disabled:
            await self._until_next_attempt()
            try:
                more = await self._send_round()
            except FeedEnded:
                raise
            except TamisError as error:
                warn(_log, f"serving subscription {self.number} failed", error)
                await self._wait(_STORE_SECONDS)

    async def _send_round(self) -> bool:
        self._round = _Round(self)
        try:
            return await self._round.run()
        finally:
            self._round = None

    async def _until_next_attempt(self) -> None:
        if self.state.next_attempt is not None:
            await self._wait((self.state.next_attempt - self.office.clock.now()).total_seconds())

    async def _wait(self, seconds: float) -> None:
        if seconds > 0:
            self._waiting = True
            try:
                await self.office.clock.sleep(seconds)
            finally:
                self._waiting = False

    def acknowledge(self, positions: Collection[int], error: str = "") -> None:
        """Notes that these need no more sending, and moves the cursor as far as there is no gap."""
        self.window.acknowledge(positions)
        self.follow_window(error)

    def follow_window(self, error: str = "") -> None:
        """Moves the state to where the window's cursor is: nothing has failed since there."""
        cursor = self.window.cursor
        if cursor > self.state.cursor:
            self.cautious = False
            if self.failed:
                self.failed = {first: one for first, one in self.failed.items() if first > cursor}
            self.keep(replace(self.state, cursor=cursor, failures=0, next_attempt=None, last_error=error))

    def take_apart(self, call: list[Notification], failures: int) -> None:
        """Has each notification of a call sent alone. The first has had its attempts, the others begin."""
        self._alone = max(self._alone, call[-1].position)
        self.failed[call[0].position] = Failed(call[0].position, 1, failures)

    def most_in_call(self, position: int, limits: CallLimits) -> int:
        """Number of notifications that a call beginning there may have."""
        return 1 if position <= self._alone else limits.batch

    def failures_of(self, position: int) -> int:
        """Attempts so far of a call that begins there; the state has those of the first one, over restarts too."""
        if failed := self.failed.get(position):
            return failed.failures
        return self.state.failures if position == self.window.first else 0

    def keep(self, state: DeliveryState) -> None:
        self.state = state
        self.office.keep(state)


class _Round:
    """A run of an outlet: takes from the feed ahead of the window, and keeps calls under way until something stops it.

    A call that fails stops it, and so does a change of the subscription: no more calls begin, those under way end, and
    the feed goes back to the cursor. So a call is made again, or its successor made, only when it is known what became
    of all others. Calls begin in order; each that ends begins the next, in as much time however wide the window is.
    """

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._office = outlet.office
        self._feed = outlet.feed
        self._window = outlet.window
        self._interruptions = outlet.feed.interruptions
        self._pending: deque[Notification] = deque()
        self._limits = CallLimits()
        self._page = _AT_ONCE
        self._under_way = 0
        self._stopped = False
        self._dry = False
        self._turn = asyncio.Event()
        self._until: datetime | None = None
        self._reason = ""
        self._error: BaseException | None = None

    def arrived(self) -> None:
        """There may be more to take."""
        self._dry = False
        self._turn.set()

    async def run(self) -> bool:
        """Sends what there is; False if nothing is left, True if it is to be gone on with in another round."""
        try:
            while self._goes_on:
                self._turn.clear()
                if self._wants_more:
                    found = await self._feed.take_now(self._to_take())
                    self._dry = not found
                    self._add(found)
                    self._begin_calls()
                elif self._pending or self._under_way:
                    await self._turn.wait()
                else:
                    return False
        finally:
            self._stopped = True
            try:
                while self._under_way:
                    self._turn.clear()
                    await self._turn.wait()
            finally:
                self._settle()
        if self._error is not None:
            raise self._error
        return True

    @property
    def _goes_on(self) -> bool:
        return not self._stopped and self._interruptions == self._feed.interruptions

    @property
    def _counts(self) -> bool:
        """False once the subscription was set back: then nothing that comes of this round is noted."""
        return self._window is self._outlet.window

    @property
    def _wants_more(self) -> bool:
        if self._outlet.cautious:
            return not (self._dry or self._pending or self._under_way)
        return not self._dry and len(self._pending) < self._limits.parallel * self._limits.batch

    def _to_take(self) -> int:
        if self._outlet.cautious:
            first = self._outlet.failed.get(min(self._outlet.failed, default=0))
            return 1 if first is None else first.count + self._outlet.window.acknowledged_before(first.last)
        return self._page

    def _add(self, found: list[Notification]) -> None:
        if not found:
            return
        self._limits = self._office.sending.limits(found[-1].subscription)
        size = sum(len(one.body) for one in found)
        within = QUEUE_BYTES * len(found) // max(size, 1)
        ahead = min(2 * self._limits.parallel * self._limits.batch, _MOST_AT_ONCE)
        self._page = max(_AT_ONCE, min(ahead, within))
        self._pending.extend(one for one in found if self._outlet.window.take(one.position))
        self._outlet.follow_window()

    def _begin_calls(self) -> None:
        parallel, batch = self._limits
        while self._pending and self._goes_on:
            if self._under_way >= (1 if self._outlet.cautious else parallel):
                return
            # A call that hangs is waited for in the end: what is out is repeated after a crash, and kept until then.
            if self._outlet.window.count - len(self._pending) >= _REACH * parallel * batch:
                return
            call = self._next_call()
            self._under_way += 1
            making = self._office.spawn(self._make(call, self._outlet.failures_of(call[0].position)))
            # Also of one that is cancelled before it has begun.
            making.add_done_callback(self._ended)

    def _next_call(self) -> list[Notification]:
        """The next notifications that go together; those of a call that failed go together again, under its id."""
        pending, outlet = self._pending, self._outlet
        first = pending.popleft()
        call, size = [first], len(first.body)
        failed = outlet.failed.get(first.position)
        most = failed.count if failed else outlet.most_in_call(first.position, self._limits)
        while pending and len(call) < most:
            one = pending[0]
            size += len(one.body)
            if (
                size > self._office.call_bytes
                or one.position in outlet.failed
                or (failed is not None and one.position > failed.last)
                or one.subscription.revision != first.subscription.revision
            ):
                break
            call.append(pending.popleft())
        return call

    async def _make(self, call: list[Notification], failures: int) -> None:
        try:
            await self._note(call, await self._office.sending.attempt(call, failures), failures)
        except TamisError as error:
            self._stopped, self._error = True, error

    def _ended(self, making: asyncio.Task[None]) -> None:
        self._under_way -= 1
        if making.cancelled():
            self._stopped = True
        elif (error := making.exception()) is not None:
            self._stopped, self._error = True, error
        self._begin_calls()
        if not self._under_way or not self._goes_on or self._wants_more:
            self._turn.set()

    async def _note(self, call: list[Notification], outcome: Outcome, failures: int) -> None:
        outlet = self._outlet
        if outcome.kind == "given up" and self._counts:
            await self._office.bury(call[0], failures + 1, outcome.reason)
        if not self._counts:
            return
        if outcome.kind == "delivered":
            outlet.acknowledge([one.position for one in call])
            return
        if outcome.kind == "given up":
            outlet.acknowledge([call[0].position], outcome.reason)
            return
        self._stopped = True
        self._reason = outcome.reason or self._reason
        if outcome.acknowledged:
            outlet.acknowledge(outcome.acknowledged)
            call = [one for one in call if one.position not in outcome.acknowledged]
            failures = 0
        if outcome.kind == "gone":
            outlet.keep(replace(outlet.state, last_error=outcome.reason, next_attempt=None, disabled=True))
        elif outcome.kind == "apart":
            outlet.take_apart(call, failures)
        else:
            failures += outcome.kind == "failed"
            outlet.failed[call[0].position] = Failed(call[-1].position, len(call), failures)
            until = self._office.clock.now() + timedelta(seconds=outcome.wait)
            self._until = max(until, self._until or until)

    def _settle(self) -> None:
        """Goes back to the cursor if more was taken, and keeps what is to be known of the first failure."""
        outlet, first = self._outlet, self._outlet.window.first
        if first is None:
            return
        if self._until is not None and self._counts and not outlet.state.disabled:
            outlet.cautious = True
            failures, reason = outlet.failures_of(first), self._reason or outlet.state.last_error
            outlet.keep(replace(outlet.state, failures=failures, next_attempt=self._until, last_error=reason))
        outlet.window.rewind()
        self._feed.rewind(Cursor(outlet.window.cursor))
