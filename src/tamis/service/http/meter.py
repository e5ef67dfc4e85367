"""What happens a second, and how late: the recent past of the server, for its status."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, Literal

Counted = Literal["published", "matched", "delivered", "refused", "events_matched"]

_WINDOW: Final = 10  # seconds over which a rate is taken
_KEPT: Final = 300  # seconds
_LATENCY_WINDOW: Final = 60.0  # seconds
_LATENCIES: Final = 20_000  # publishes
_AWAITED: Final = 20_000  # publishes


class Meter:
    """Counts by second for five minutes, and how long the last minute's publishes took to be matched.

    `_awaited` has the publishes that are not known to be matched, by partition of the log: the number after the last
    event, and when it was accepted. Used by the event loop's thread only.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._seconds: deque[tuple[int, dict[Counted, int]]] = deque(maxlen=_KEPT)
        self._totals: dict[Counted, int] = {}
        self._latencies: deque[tuple[float, float]] = deque(maxlen=_LATENCIES)  # when it was matched, and how late
        self._awaited: dict[int, deque[tuple[int, float]]] = {}
        self._newest: dict[int, int] = {}  # the number after the last event accepted here

    def count(self, what: Counted, number: int) -> None:
        """So many more, just now."""
        if not number:
            return
        second = int(self._clock())
        if not self._seconds or self._seconds[-1][0] != second:
            self._seconds.append((second, {}))
        counts = self._seconds[-1][1]
        counts[what] = counts.get(what, 0) + number
        self._totals[what] = self._totals.get(what, 0) + number

    def accepted(self, end: int, partition: int = 0) -> None:
        """Events up to this number of a partition, which is not among them, were accepted just now."""
        self._awaited.setdefault(partition, deque(maxlen=_AWAITED)).append((end, self._clock()))
        self._newest[partition] = max(self._newest.get(partition, 0), end)

    def matched(self, ends: Mapping[int, int]) -> list[float]:
        """Events up to these numbers are matched: how many seconds each publish among them had to wait for it."""
        now = self._clock()
        waited = []
        for partition, end in ends.items():
            awaited = self._awaited.get(partition, deque())
            while awaited and awaited[0][0] <= end:
                waited.append(max(0.0, now - awaited.popleft()[1]))
        self._latencies.extend((now, seconds) for seconds in waited)
        return waited

    def await_nothing(self) -> None:
        """Another service matches what is accepted here, and will not tell when."""
        self._awaited.clear()

    def unmatched(self, ends: Mapping[int, int]) -> int | None:
        """How many events accepted here are after these numbers; None if none was accepted here."""
        if not self._newest:
            return None
        return sum(max(0, newest - ends.get(partition, 0)) for partition, newest in self._newest.items())

    def total(self, what: Counted) -> int:
        """How many since the start."""
        return self._totals.get(what, 0)

    def rate(self, what: Counted) -> float:
        """How many a second, over the last ten whole seconds."""
        now = self._clock()
        last = int(now) - 1
        found = sum(counts.get(what, 0) for second, counts in self._seconds if last - _WINDOW < second <= last)
        return found / max(1.0, min(_WINDOW, now - self._started))

    def latency(self, share: float) -> float | None:
        """Seconds from accepted to matched that so large a share of the last minute's publishes stays under.

        None if there were none: what was slow once, such as the start, is not held against the server for ever.
        """
        since = self._clock() - _LATENCY_WINDOW
        while self._latencies and self._latencies[0][0] < since:
            self._latencies.popleft()
        if not self._latencies:
            return None
        ordered = sorted(seconds for _, seconds in self._latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def uptime(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._started
