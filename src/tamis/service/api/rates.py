"""How often one caller may ask: a token bucket each, refilled by the clock."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

_REMEMBERED: Final = 100_000  # callers; beyond, the one silent for longest is forgotten, and its bucket was full


class RateLimit:
    """Buckets by caller, each with at most `burst` tokens, `rate` more a second. Used by the event loop's thread only.

    A caller that is not remembered has a full bucket, so forgetting errs on the caller's side.
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # caller → (tokens, when)

    def take(self, caller: str) -> float:
        """Takes a token: 0 if there was one, else the seconds after which there will be."""
        now = self._clock()
        tokens, then = self._buckets.pop(caller, (self._burst, now))
        tokens = min(self._burst, tokens + (now - then) * self._rate)
        wait = 0.0 if tokens >= 1 else (1 - tokens) / self._rate
        self._buckets[caller] = (tokens - 1 if not wait else tokens, now)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        return wait
