"""Outage log of a part of the service: one line when it stops answering, one when it answers again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

# Without logging set up, as in a command that ends with the error itself, the line would repeat the error.
logging.getLogger("tamis.service").addHandler(logging.NullHandler())

_SETTLED: Final = 1.0  # seconds without a failure after which a part is back
_AGAIN: Final = 30.0  # seconds after its return in which a part that goes again is not worth a line


class Absence:
    """Availability of a part of the service, by how it last answered; either end of an outage is a line in the log.

    An outage fails every request and every look of the background, from many threads: each is counted, none is a line
    of its own. Any thread may call.
    """

    def __init__(self, part: str, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._part = part
        self._logger = logger
        self._clock = clock
        self._entered = threading.Lock()
        self._since: float | None = None
        self._missed = 0
        self._newest = 0.0
        self._told = False
        self._quiet_until = float("-inf")

    @property
    def lasts(self) -> bool:
        """True if the part did not answer last time."""
        return self._since is not None

    def missed(self, reason: str) -> None:
        """Notes that the part did not answer."""
        with self._entered:
            now = self._newest = self._clock()
            self._missed += 1
            if self._since is None:
                self._since = now
                self._told = now >= self._quiet_until
                if self._told:
                    self._logger.warning("%s does not answer: %s", self._part, reason)

    def met(self) -> None:
        """Notes that the part answered."""
        if not self.lasts:
            return
        with self._entered:
            # Several may be asking: what was begun before it went, or reached one half of it, is no return.
            if self._since is None or self._clock() - self._newest < _SETTLED:
                return
            lasted, missed, told = self._newest - self._since, self._missed, self._told
            self._since, self._missed, self._quiet_until = None, 0, self._clock() + _AGAIN
            if told:
                self._logger.warning(
                    "%s answers again after %.0f seconds, in which it was asked in vain %s",
                    self._part,
                    lasted,
                    "once" if missed == 1 else f"{missed:,} times",
                )
