"""Memory for the bodies of requests: how much of it each caller may have, and who gives way where it is short."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_SMALL: Final = 64 << 10  # bytes of a body that others make room for, and for which there is always some more
_MORE: Final = 1.25  # of what there is, for small ones


@dataclass(slots=True, eq=False)
class Body:
    """One body on its way, or in the hands of its route (`complete`).

    `came` are the bytes that were received, `taken` what they are when inflated. `held` are those of the latter that
    count: none once it is given up. `waited` are the seconds that its caller was waited for, without the wait under
    way, which began at `asked`.
    """

    caller: str = ""
    came: int = 0
    taken: int = 0
    held: int = 0
    waited: float = 0.0
    asked: float | None = None
    complete: bool = False
    given_up: bool = False
    waiting: asyncio.Timeout | None = None

    def patience(self, now: float) -> float:
        """Seconds that the caller has been waited for."""
        return self.waited + (now - self.asked if self.asked is not None else 0.0)

    def give_up(self) -> None:
        self.given_up = True
        if self.waiting is not None and not self.waiting.expired():
            self.waiting.reschedule(asyncio.get_running_loop().time())


class BodyShares:
    """Bytes of all bodies in memory: at most `total`, and at most `share` of one caller.

    Nobody is refused because others are slow: where there is no room for what has just come, the body that has been
    waited for longest is given up. Where a caller has too much it is one of theirs; where all together have, it is one
    of whoever has most. Only bodies that are complete are never given up, as somebody is at work on them.

    Used by the event loop's thread only.
    """

    def __init__(self, total: int, share: int) -> None:
        self._total = total
        self._share = share
        self._bodies: defaultdict[str, set[Body]] = defaultdict(set)
        self._held: defaultdict[str, int] = defaultdict(int)  # by caller
        self.held = 0

    def add(self, body: Body, size: int, now: float) -> bool:
        """Counts bytes that have come; False: the body is one too many, and is given up."""
        self._bodies[body.caller].add(body)
        body.taken += size
        self._count(body, size)
        while not self._fits(body):
            victim = self._victim(body, now)
            if victim is not None and victim is not body:
                self._give_up(victim)
                continue
            if body.taken > _SMALL or not self._fits(body, _MORE):
                self._give_up(body)
            break
        return not body.given_up

    def release(self, body: Body) -> None:
        """Forgets a body that has been dealt with."""
        self._count(body, -body.held)
        bodies = self._bodies[body.caller]
        bodies.discard(body)
        if not bodies:
            del self._bodies[body.caller], self._held[body.caller]

    def _fits(self, body: Body, times: float = 1.0) -> bool:
        return self._held[body.caller] <= self._share * times and self.held <= self._total * times

    def _count(self, body: Body, size: int) -> None:
        body.held += size
        self._held[body.caller] += size
        self.held += size

    def _give_up(self, body: Body) -> None:
        self._count(body, -body.held)
        body.give_up()

    def _victim(self, newest: Body, now: float) -> Body | None:
        """The body that makes room, of a caller that has at least as much as the newest one's; None: there is none."""
        if self._held[newest.caller] > self._share:
            return _slowest(self._bodies[newest.caller], now)
        least = self._held[newest.caller]
        rich = sorted((held, caller) for caller, held in self._held.items() if held >= least)
        for _, caller in reversed(rich):
            if (found := _slowest(self._bodies[caller], now)) is not None:
                return found
        return None


def _slowest(bodies: Iterable[Body], now: float) -> Body | None:
    coming = [body for body in bodies if body.held and not body.complete]
    # To give up small ones makes little room, and would hit those who do no harm.
    return max(coming, key=lambda body: (body.taken > _SMALL, body.patience(now)), default=None)
