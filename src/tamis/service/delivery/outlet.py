"""One subscription that is pushed to: its notifications in order, each until it is acknowledged or given up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Protocol

from tamis.errors import TamisError
from tamis.service.delivery.feeds import FeedEnded, LiveFeed, Source
from tamis.service.delivery.sending import Outcome
from tamis.service.notification import Cursor, Notification
from tamis.service.store import DeliveryState
from tamis.service.store.errors import warn

_AT_ONCE: Final = 20
_STORE_SECONDS: Final = 1.0

_log = logging.getLogger(__name__)


class Surroundings(Protocol):
    """What an outlet needs of those who keep it."""

    def now(self) -> datetime: ...
    async def sleep(self, seconds: float) -> None: ...
    async def attempt(self, notification: Notification, failures: int) -> Outcome: ...
    def save(self, state: DeliveryState) -> None: ...
    async def bury(self, notification: Notification, attempts: int, reason: str) -> None: ...


class Outlet:
    """Takes from a feed and sends, one at a time. `state` is what the store knows or is about to.

    A task works while there is something to send; `kick` starts one. While it waits for the next attempt it keeps
    nothing in memory: then the subscription and its notifications are read again as they are by then.
    """

    def __init__(
        self,
        source: Source,
        state: DeliveryState,
        queue: int,
        surroundings: Surroundings,
        spawn: Callable[[Coroutine[None, None, None]], asyncio.Task[None]],
    ) -> None:
        self.number = state.subscription
        self.state = state
        self.ended = False
        self._feed = LiveFeed(source, self.number, Cursor(state.cursor), queue, self.kick)
        self._around = surroundings
        self._spawn = spawn
        self._task: asyncio.Task[None] | None = None
        self._kicked = False
        self._waiting = False

    def kick(self) -> None:
        """There may be something to send."""
        self._kicked = True
        if self._task is None and not self.state.disabled and not self.ended:
            self._task = self._spawn(self._work())

    def changed(self) -> None:
        """The subscription has changed: whatever was wrong may be right now."""
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
        interruptions = self._feed.interruptions
        try:
            for notification in notifications:
                outcome = await self._around.attempt(notification, self.state.failures)
                await self._note(notification, outcome)
                if self.state.cursor < notification.position or interruptions != self._feed.interruptions:
                    break
        finally:
            if self.state.cursor < notifications[-1].position:
                self._feed.rewind(Cursor(self.state.cursor))

    async def _note(self, notification: Notification, outcome: Outcome) -> None:
        done = DeliveryState(self.number, notification.position)
        if outcome.kind == "delivered":
            self._keep(done)
        elif outcome.kind == "given up":
            await self._around.bury(notification, self.state.failures + 1, outcome.reason)
            self._keep(replace(done, last_error=outcome.reason))
        elif outcome.kind == "gone":
            self._keep(replace(self.state, last_error=outcome.reason, next_attempt=None, disabled=True))
        else:
            until = self._around.now() + timedelta(seconds=outcome.wait)
            failures = self.state.failures + (outcome.kind == "failed")
            reason = outcome.reason or self.state.last_error
            self._keep(replace(self.state, failures=failures, next_attempt=until, last_error=reason))

    async def _until_next_attempt(self) -> None:
        if self.state.next_attempt is not None:
            await self._wait((self.state.next_attempt - self._around.now()).total_seconds())

    async def _wait(self, seconds: float) -> None:
        if seconds > 0:
            self._waiting = True
            try:
                await self._around.sleep(seconds)
            finally:
                self._waiting = False

    def _keep(self, state: DeliveryState) -> None:
        self.state = state
        self._around.save(state)
