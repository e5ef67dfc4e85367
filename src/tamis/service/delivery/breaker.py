"""Endpoints that fail are left alone for a while."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

_MOST_DOUBLINGS: Final = 4
_SHOWN: Final = 100


@dataclass(slots=True)
class Breaker:
    """One endpoint's. Closed while `failures` in a row are few; then open until `opens_again`.

    After that it is half open: one attempt goes through (`probing`), whose success closes it, and whose failure opens
    it again for twice as long, up to sixteen times the first time.
    """

    threshold: int
    seconds: float
    failures: int = 0
    opens_again: datetime | None = None
    probing: bool = False

    def wait(self, now: datetime) -> float:
        """Seconds before it is worth asking again; 0: go ahead, and tell how it went."""
        if self.opens_again is None:
            return 0.0
        if self.probing:
            return self.seconds / 10
        return max(0.0, (self.opens_again - now).total_seconds())

    def begin(self) -> bool:
        """An attempt is under way; whether it is the one that a half-open breaker lets through."""
        self.probing = self.opens_again is not None
        return self.probing

    def abandon(self) -> None:
        """The attempt that was let through ended without telling anything of the endpoint."""
        self.probing = False

    def fail(self, now: datetime, probe: bool) -> None:
        # Attempts that began before it opened say nothing new.
        if self.opens_again is not None and not probe:
            return
        self.failures += 1
        self.probing = False
        beyond = self.failures - self.threshold
        if beyond >= 0:
            factor = 1 << min(beyond, _MOST_DOUBLINGS)
            self.opens_again = now + timedelta(seconds=self.seconds * factor)


class Breakers:
    """The breakers of all endpoints that have failed lately; the others need none."""

    def __init__(self, threshold: int, seconds: float) -> None:
        self._threshold = threshold
        self._seconds = seconds
        self._breakers: dict[Hashable, Breaker] = {}

    def of(self, endpoint: Hashable) -> Breaker:
        """An endpoint's, kept from its first failure on until the next success."""
        return self._breakers.get(endpoint) or Breaker(self._threshold, self._seconds)

    def succeed(self, endpoint: Hashable) -> None:
        """The endpoint answers."""
        self._breakers.pop(endpoint, None)

    def fail(self, endpoint: Hashable, now: datetime, probe: bool) -> None:
        """The endpoint does not answer, or says that it cannot."""
        self._breakers.setdefault(endpoint, self.of(endpoint)).fail(now, probe)

    @property
    def open_count(self) -> int:
        """How many endpoints are being left alone."""
        return sum(breaker.opens_again is not None for breaker in self._breakers.values())

    def shown(self) -> list[dict[str, Any]]:
        """The endpoints that have failed of late, for people."""
        return [
            {
                "endpoint": str(endpoint),
                "state": "closed" if one.opens_again is None else "half open" if one.probing else "open",
                "failures": one.failures,
                "next_attempt": None if one.opens_again is None else one.opens_again.isoformat(),
            }
            for endpoint, one in list(self._breakers.items())[:_SHOWN]
        ]
