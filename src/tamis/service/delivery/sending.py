"""Attempts at calls to endpoints: backoff, circuit breakers, concurrency limits, and the outcome of each attempt.

An endpoint that fails is left alone for a while by its breaker; a call that failed is made again after a backoff.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from tamis.service.base.configuration import DeliverySettings
from tamis.service.base.events import Notification
from tamis.service.delivery.channels import CallLimits, Channel, Clock, Undelivered
from tamis.service.store import Subscription

_TROUBLED: Final = 25
_MOST_DOUBLINGS: Final = 60  # of a backoff
_MOST_BREAKS: Final = 4  # doublings of the time for which a breaker is open
_SHOWN: Final = 100


class Backoff:
    """Exponential backoff with full jitter: up to twice as long each time, and anywhere below.

    So nobody comes in step. The wait that an endpoint asks for by Retry-After is the least, and never longer than the
    longest one.
    """

    def __init__(self, first: float, longest: float, draw: Callable[[], float] = random.random) -> None:
        self._first = first
        self._longest = longest
        self._draw = draw

    def delay(self, failures: int, retry_after: float = 0.0) -> float:
        """Seconds to wait after this many failures in a row."""
        ceiling = min(self._longest, self._first * 2.0 ** min(failures - 1, _MOST_DOUBLINGS))
        return max(ceiling * self._draw(), min(retry_after, self._longest))


@dataclass(slots=True)
class Breaker:
    """Circuit breaker of one endpoint. Closed while `failures` in a row are few; then open until `opens_again`.

    After that it is half open: one attempt goes through (`probing`), whose success closes it, and whose failure opens
    it again for twice as long, up to sixteen times the first time.
    """

    threshold: int
    seconds: float
    failures: int = 0
    opens_again: datetime | None = None
    probing: bool = False

    def wait(self, now: datetime) -> float:
        """Seconds before the next attempt may be worthwhile; 0: an attempt may be made now, and its outcome be
        reported.
        """
        if self.opens_again is None:
            return 0.0
        if self.probing:
            return self.seconds / 10
        return max(0.0, (self.opens_again - now).total_seconds())

    def begin(self) -> bool:
        """Begins an attempt; returns True if it is the probe that a half-open breaker lets through."""
        self.probing = self.opens_again is not None
        return self.probing

    def abandon(self) -> None:
        """Ends the probe without a verdict on the endpoint."""
        self.probing = False

    def fail(self, now: datetime, probe: bool) -> None:
        # Attempts that began before it opened say nothing new.
        if self.opens_again is not None and not probe:
            return
        self.failures += 1
        self.probing = False
        beyond = self.failures - self.threshold
        if beyond >= 0:
            factor = 1 << min(beyond, _MOST_BREAKS)
            self.opens_again = now + timedelta(seconds=self.seconds * factor)


class Breakers:
    """Breakers of the endpoints that have failed lately; the others need none."""

    def __init__(self, threshold: int, seconds: float) -> None:
        self._threshold = threshold
        self._seconds = seconds
        self._breakers: dict[Hashable, Breaker] = {}

    def of(self, endpoint: Hashable) -> Breaker:
        """Breaker of an endpoint, kept from its first failure until the next success."""
        return self._breakers.get(endpoint) or Breaker(self._threshold, self._seconds)

    def succeed(self, endpoint: Hashable) -> None:
        """Records a success: the endpoint answers."""
        self._breakers.pop(endpoint, None)

    def fail(self, endpoint: Hashable, now: datetime, probe: bool) -> None:
        """Records a failure: the endpoint does not answer, or reports an error."""
        self._breakers.setdefault(endpoint, self.of(endpoint)).fail(now, probe)

    @property
    def open_count(self) -> int:
        """Number of endpoints whose breaker is open."""
        return sum(breaker.opens_again is not None for breaker in self._breakers.values())

    def shown(self) -> list[dict[str, Any]]:
        """Endpoints that failed lately, for people."""
        return [
            {
                "endpoint": str(endpoint),
                "state": "closed" if one.opens_again is None else "half open" if one.probing else "open",
                "failures": one.failures,
                "next_attempt": None if one.opens_again is None else one.opens_again.isoformat(),
            }
            for endpoint, one in list(self._breakers.items())[:_SHOWN]
        ]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of an attempt. `postponed`: no request was made, since the endpoint's breaker is open.

    An attempt that failed or was postponed can be made again after `wait` seconds. `apart`: what was sent together is
    refused or would be given up, and each of it is to be sent alone. `acknowledged` are positions that arrived although
    the call failed.
    """

    kind: Literal["delivered", "failed", "postponed", "apart", "given up", "gone"]
    wait: float = 0.0
    reason: str = ""
    acknowledged: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Places:
    """Places of calls to one endpoint: as many as the most demanding of those who have asked for one may take."""

    free: asyncio.Semaphore
    most: int
    asking: int = 0

    def widen(self, most: int) -> None:
        for _ in range(most - self.most):
            self.free.release()
        self.most = max(self.most, most)


class Sending:
    """Sends one notification to one endpoint, subject to its concurrency limit and circuit breaker, and says when to
    retry.

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
        self._places: dict[Hashable, _Places] = {}
        self.breakers = Breakers(settings.breaker_failures, settings.breaker_seconds)
        self.delivered = 0
        self.failed = 0

    def limits(self, subscription: Subscription) -> CallLimits:
        """Limits of the calls under way for a subscription."""
        channel = self._channel(subscription)
        return CallLimits() if channel is None else channel.limits(subscription)

    async def attempt(self, call: Sequence[Notification], failures: int) -> Outcome:
        """Makes a call, after so many failures; `given up` or `apart` if this was the last attempt.

        Its notifications are of one subscription, as that was at one revision.
        """
        subscription = call[0].subscription
        channel = self._channel(subscription)
        if channel is None:
            # It has become one that is pulled: nothing is owed to anybody.
            return Outcome("delivered")
        endpoint = channel.endpoint(subscription)
        places = self._places.get(endpoint)
        if places is None:
            most = channel.most_at_once
            places = self._places[endpoint] = _Places(asyncio.Semaphore(most), most)
        places.widen(channel.limits(subscription).parallel)
        places.asking += 1
        try:
            async with places.free:
                return await self._within_place(channel, endpoint, call, failures)
        finally:
            places.asking -= 1
            if not places.asking:
                del self._places[endpoint]

    def _channel(self, subscription: Subscription) -> Channel | None:
        return self._channels.get(str(subscription.delivery.get("mode")))

    async def _within_place(
        self, channel: Channel, endpoint: Hashable, call: Sequence[Notification], failures: int
    ) -> Outcome:
        troubled = self.breakers.of(endpoint).failures > 0
        async with self._troubled if troubled else self._sound:
            breaker = self.breakers.of(endpoint)
            wait = breaker.wait(self._clock.now())
            if wait > 0:
                return self._in_time(call, Outcome("postponed", wait))
            probe = breaker.begin()
            try:
                await channel.send(call)
            except Undelivered as error:
                return self._failed(endpoint, call, failures + 1, error, probe)
            finally:
                if probe:
                    breaker.abandon()
            self.breakers.succeed(endpoint)
            self.delivered += len(call)
            return Outcome("delivered")

    def _failed(
        self, endpoint: Hashable, call: Sequence[Notification], failures: int, error: Undelivered, probe: bool
    ) -> Outcome:
        self.failed += 1
        self.delivered += len(error.acknowledged)
        if error.fault:
            self.breakers.fail(endpoint, self._clock.now(), probe)
        else:
            self.breakers.succeed(endpoint)
        if error.gone:
            return Outcome("gone", 0.0, error.reason, error.acknowledged)
        if error.refused and len(call) > 1:
            return Outcome("apart", 0.0, error.reason, error.acknowledged)
        if failures >= self._attempts and not error.acknowledged:
            return self._given_up(call, error.reason)
        wait = self._backoff.delay(failures, error.retry_after)
        return self._in_time(call, Outcome("failed", wait, error.reason, error.acknowledged))

    def _in_time(self, call: Sequence[Notification], outcome: Outcome) -> Outcome:
        """Delay, unless a notification would be too old by then: it would be swept away, and nobody would know."""
        age = self._clock.now() + timedelta(seconds=outcome.wait) - call[0].time
        if age <= self._longest_age:
            return outcome
        return self._given_up(call, outcome.reason or "the endpoint was down for too long", outcome.acknowledged)

    def _given_up(
        self, call: Sequence[Notification], reason: str, acknowledged: frozenset[int] = frozenset()
    ) -> Outcome:
        """End of the attempts: dead letters are made of notifications that were sent alone."""
        return Outcome("given up" if len(call) == 1 else "apart", 0.0, reason, acknowledged)
