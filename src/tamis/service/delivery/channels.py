"""Protocol of channels to subscribers: calls, their limits and failures; and the clock that delivery goes by."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Hashable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from tamis.errors import TamisError
from tamis.service.base.events import Notification
from tamis.service.store import Subscription

# The time, so that tests can bring their own.


class Clock(Protocol):
    """Clock that tells the time, and sleeps."""

    def now(self) -> datetime: ...
    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """System clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


# Protocol of channels.


class Undelivered(TamisError):  # noqa: N818 - reads as what happened
    """Failed attempt. `fault`: the endpoint is to blame, not the notification; `gone`: it wants nothing more.

    `refused`: it does not take what it was sent, and would take a part of it, perhaps. `retry_after` are the seconds
    that it asked to be left alone; `acknowledged` the positions that it has all the same.
    """

    def __init__(
        self,
        reason: str,
        *,
        fault: bool = True,
        gone: bool = False,
        refused: bool = False,
        retry_after: float = 0.0,
        acknowledged: Collection[int] = (),
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fault = fault
        self.gone = gone
        self.refused = refused
        self.retry_after = retry_after
        self.acknowledged = frozenset(acknowledged)


class CallLimits(NamedTuple):
    """Limits of what is under way for one subscription: `parallel` calls, each with up to `batch` notifications."""

    parallel: int = 1
    batch: int = 1


class Channel(Protocol):
    """Carries notifications to subscribers.

    `most_at_once` calls are made at one endpoint at a time, or as many as one of its subscriptions may make.
    """

    most_at_once: int

    def endpoint(self, subscription: Subscription) -> Hashable:
        """Endpoint of a subscription: subscriptions with the same endpoint fail together."""
        ...

    def limits(self, subscription: Subscription) -> CallLimits:
        """Limits of the calls that are made for a subscription."""
        ...

    async def send(self, notifications: Sequence[Notification]) -> None:
        """Makes one call, with notifications of one subscription; returns when it has them, else `Undelivered`."""
        ...

    async def close(self) -> None: ...
