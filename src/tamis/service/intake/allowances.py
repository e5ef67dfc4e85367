"""Limits of callers: token buckets for rates, shared places for concurrency (some reserved for holders of a key), and a
queue for places.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final

from tamis.service.intake.problems import Problem

_REMEMBERED: Final = 100_000  # callers; beyond, the one silent for longest is forgotten, and its bucket was full


class RateLimit:
    """Token bucket per caller, with at most `burst` tokens, `rate` more a second. Used by the event loop's thread only.

    A caller that is not remembered has a full bucket, so forgetting errs on the caller's side.
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # caller → (tokens, when)

    def take(self, caller: str) -> float:
        """Takes a token; returns 0, or the seconds until there will be one."""
        now = self._clock()
        tokens, then = self._buckets.pop(caller, (self._burst, now))
        tokens = min(self._burst, tokens + (now - then) * self._rate)
        wait = 0.0 if tokens >= 1 else (1 - tokens) / self._rate
        self._buckets[caller] = (tokens - 1 if not wait else tokens, now)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        return wait


_RESERVE: Final = 10  # of so many places one is for callers with a key
_SOON: Final = {"Retry-After": "1"}


@dataclass(frozen=True, slots=True)
class Claimant:
    """Caller that claims a place: the name under which it is counted, and if that is a key's."""

    name: str
    keyed: bool


class Places:
    """Concurrency limit shared by callers: one caller has half of the places at most, and callers without a key leave a
    tenth to those with one.

    So no caller locks others out, and no number of anonymous callers locks out the holder of a key. Used by the event
    loop's thread only.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.share = max(total // 2, 1)
        self.strangers = total - (-(-total // _RESERVE) if total > 1 else 0)
        self.taken = 0
        self._strangers = 0
        self._of: Counter[str] = Counter()

    def has_room(self, who: Claimant) -> bool:
        """True if the caller may have one more place now."""
        left = self.total - self.taken if who.keyed else min(self.total - self.taken, self.strangers - self._strangers)
        return left > 0 and self._of[who.name] < self.share

    @contextmanager
    def place(self, who: Claimant) -> Iterator[None]:
        """Holds a place, which must be free, while the context is open."""
        self.take(who)
        try:
            yield
        finally:
            self.give_back(who)

    def take(self, who: Claimant) -> None:
        self.taken += 1
        self._strangers += not who.keyed
        self._of[who.name] += 1

    def give_back(self, who: Claimant) -> None:
        self.taken -= 1
        self._strangers -= not who.keyed
        self._of[who.name] -= 1
        if not self._of[who.name]:
            del self._of[who.name]


class Line:
    """Queue for places, first come first served among the callers that there is room for.

    At most `waiting` of one caller wait, and `_LINES` times as many in all: further ones are refused. Leaving frees the
    place. Used by the event loop's thread only.
    """

    _LINES: Final = 16

    def __init__(self, total: int, waiting: int) -> None:
        self.places = Places(total)
        self._most = waiting
        self._waiting: deque[tuple[Claimant, asyncio.Future[None]]] = deque()
        self._of: Counter[str] = Counter()

    @asynccontextmanager
    async def place(self, who: Claimant) -> AsyncIterator[None]:
        """Waits for a place and holds it while the context is open; a 503 `Problem` if too many wait already."""
        if self.places.has_room(who):
            self.places.take(who)
        else:
            await self._wait(who)
        try:
            yield
        finally:
            self.places.give_back(who)
            if self._waiting:
                self._call()

    async def _wait(self, who: Claimant) -> None:
        if self._of[who.name] >= self._most or len(self._waiting) >= self._most * self._LINES:
            detail = "too many filters are looked at already; wait for the answers, and ask for fewer at a time"
            raise Problem(503, "busy", detail, headers=_SOON)
        turn = asyncio.get_running_loop().create_future()
        entry = (who, turn)
        self._waiting.append(entry)
        self._of[who.name] += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # called, and gone before it came
                self.places.give_back(who)
                self._call()
            else:
                self._waiting.remove(entry)
            raise
        finally:
            self._of[who.name] -= 1
            if not self._of[who.name]:
                del self._of[who.name]

    def _call(self) -> None:
        """Gives free places to waiting callers."""
        kept: deque[tuple[Claimant, asyncio.Future[None]]] = deque()
        for who, turn in self._waiting:
            if not turn.cancelled() and self.places.has_room(who):
                self.places.take(who)
                turn.set_result(None)
            else:
                kept.append((who, turn))
        self._waiting = kept
