"""How long to wait before the next attempt."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

_MOST_DOUBLINGS: Final = 60


class Backoff:
    """Exponential, with full jitter: up to twice as long each time, and anywhere below, so that nobody comes in step.

    What an endpoint asks for by Retry-After is the least wait, and never longer than the longest one.
    """

    def __init__(self, first: float, longest: float, draw: Callable[[], float] = random.random) -> None:
        self._first = first
        self._longest = longest
        self._draw = draw

    def delay(self, failures: int, retry_after: float = 0.0) -> float:
        """Seconds to wait after so many failures in a row."""
        ceiling = min(self._longest, self._first * 2.0 ** min(failures - 1, _MOST_DOUBLINGS))
        return max(ceiling * self._draw(), min(retry_after, self._longest))


def retry_after(header: str | None, now: datetime) -> float:
    """The seconds that a Retry-After header asks for, 0 if it asks for none or cannot be read."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:10])
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    aware = until.replace(tzinfo=UTC) if until.tzinfo is None else until
    return max(0.0, (aware - now).total_seconds())
