"""One attempt at one notification: whether it may be made now, how it went, and what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from tamis.service.configuration import DeliverySettings
from tamis.service.delivery.backoff import Backoff
from tamis.service.delivery.breaker import Breakers
from tamis.service.delivery.channel import Channel, Undelivered
from tamis.service.delivery.clock import Clock
from tamis.service.notification import Notification

_TROUBLED: Final = 25


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it went. `postponed`: the endpoint was not asked, since its breaker is open.

    What failed or was postponed can be tried again after `wait` seconds.
    """

    kind: Literal["delivered", "failed", "postponed", "given up", "gone"]
    wait: float = 0.0
    reason: str = ""


class Sending:
    """Makes attempts: few at a time for an endpoint, so many in all, and none where a breaker is open.

    Endpoints that failed last time share places of their own, so that those that hang do not keep the others waiting.
    """

    def __init__(
        self,
        channels: Mapping[str, Channel],
        settings: DeliverySettings,
        longest_age: timedelta,
        clock: Clock,
        backoff: Backoff,
    ) -> None:
        self._channels = channels
        self._attempts = settings.attempts
        self._longest_age = longest_age
        self._clock = clock
        self._backoff = backoff
        self._sound = asyncio.Semaphore(settings.concurrency)
        self._troubled = asyncio.Semaphore(min(_TROUBLED, settings.concurrency))
        self._places: dict[Hashable, tuple[asyncio.Semaphore, int]] = {}
        self.breakers = Breakers(settings.breaker_failures, settings.breaker_seconds)
        self.delivered = 0
        self.failed = 0

    async def attempt(self, notification: Notification, failures: int) -> Outcome:
        """Sends it, after so many failures; `given up` if this was the last attempt."""
        channel = self._channels.get(str(notification.subscription.delivery.get("mode")))
        if channel is None:
            # It has become one that is pulled: nothing is owed to anybody.
            return Outcome("delivered")
        endpoint = channel.endpoint(notification.subscription)
        place, waiting = self._places.get(endpoint) or (asyncio.Semaphore(channel.most_at_once), 0)
        self._places[endpoint] = place, waiting + 1
        try:
            async with place:
                return await self._within_place(channel, endpoint, notification, failures)
        finally:
            place, waiting = self._places[endpoint]
            if waiting == 1:
                del self._places[endpoint]
            else:
                self._places[endpoint] = place, waiting - 1

    async def _within_place(
        self, channel: Channel, endpoint: Hashable, notification: Notification, failures: int
    ) -> Outcome:
        troubled = self.breakers.of(endpoint).failures > 0
        async with self._troubled if troubled else self._sound:
            breaker = self.breakers.of(endpoint)
            wait = breaker.wait(self._clock.now())
            if wait > 0:
                return self._in_time(notification, Outcome("postponed", wait))
            probe = breaker.begin()
            try:
                await channel.send(notification)
            except Undelivered as error:
                return self._failed(endpoint, notification, failures + 1, error, probe)
            finally:
                if probe:
                    breaker.abandon()
            self.breakers.succeed(endpoint)
            self.delivered += 1
            return Outcome("delivered")

    def _failed(
        self, endpoint: Hashable, notification: Notification, failures: int, error: Undelivered, probe: bool
    ) -> Outcome:
        self.failed += 1
        if error.fault:
            self.breakers.fail(endpoint, self._clock.now(), probe)
        else:
            self.breakers.succeed(endpoint)
        if error.gone:
            return Outcome("gone", reason=error.reason)
        if failures >= self._attempts:
            return Outcome("given up", reason=error.reason)
        wait = self._backoff.delay(failures, error.retry_after)
        return self._in_time(notification, Outcome("failed", wait, error.reason))

    def _in_time(self, notification: Notification, outcome: Outcome) -> Outcome:
        """The same, unless the notification would be too old by then: it would be swept away, and nobody would know."""
        age = self._clock.now() + timedelta(seconds=outcome.wait) - notification.time
        if age <= self._longest_age:
            return outcome
        return Outcome("given up", reason=outcome.reason or "the endpoint was down for too long")
