"""What a way out of the service must do."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from tamis.errors import TamisError
from tamis.service.base.notification import Notification
from tamis.service.store import Subscription


class Undelivered(TamisError):  # noqa: N818 - reads as what happened
    """An attempt that failed. `fault`: the endpoint is to blame, not what it was sent; `gone`: it wants nothing more.

    `retry_after` are the seconds that it asked to be left alone.
    """

    def __init__(self, reason: str, *, fault: bool = True, gone: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fault = fault
        self.gone = gone
        self.retry_after = retry_after


class Channel(Protocol):
    """Carries notifications to subscribers. `most_at_once` attempts are made at one endpoint at a time."""

    most_at_once: int

    def endpoint(self, subscription: Subscription) -> Hashable:
        """Who is called: subscriptions with the same endpoint fail together."""
        ...

    async def send(self, notification: Notification) -> None:
        """Returns when the subscriber has it; else `Undelivered`."""
        ...

    async def close(self) -> None: ...
