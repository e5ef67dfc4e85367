"""What the demo measured: one record a micro-batch, and the figures drawn from them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RECENT = 5.0  # seconds that count as recent


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """One micro-batch, recorded when its matches were on disk.

    `finished` is in seconds since the stream began. `latencies` has, for each event with a match, the seconds from when
    the event was written until its matches were.
    """

    finished: float
    events: int
    matches: int
    dead: int
    latencies: Floats


@dataclass(frozen=True, slots=True)
class Figures:
    """Totals over some batches, and rates over the seconds that they took."""

    seconds: float
    events: int
    matches: int
    dead: int
    p50: float
    p95: float

    @property
    def events_a_second(self) -> float:
        return self.events / self.seconds if self.seconds > 0 else 0.0

    @property
    def matches_a_second(self) -> float:
        return self.matches / self.seconds if self.seconds > 0 else 0.0

    @property
    def matches_an_event(self) -> float:
        return self.matches / self.events if self.events else 0.0


class Measurements:
    """The records so far. The stream's thread adds, the screen's thread reads."""

    def __init__(self) -> None:
        self._records: list[BatchRecord] = []
        self._lock = threading.Lock()

    def add(self, record: BatchRecord) -> None:
        with self._lock:
            self._records.append(record)

    def add_dead(self, count: int) -> None:
        """Dead letters of the batch added last: they are written after its matches."""
        with self._lock:
            if self._records:
                last = self._records[-1]
                self._records[-1] = replace(last, events=last.events + count, dead=last.dead + count)

    @property
    def records(self) -> Sequence[BatchRecord]:
        with self._lock:
            return tuple(self._records)

    def figures(self, now: float, last: float | None = None) -> Figures:
        """Over the whole run until `now`, or over its last so many seconds."""
        since = 0.0 if last is None else max(0.0, now - last)
        records = [record for record in self.records if since < record.finished <= now]
        latencies = np.concatenate([record.latencies for record in records]) if records else np.empty(0)
        p50, p95 = np.percentile(latencies, [50, 95]) if len(latencies) else (np.nan, np.nan)
        return Figures(
            now - since,
            sum(record.events for record in records),
            sum(record.matches for record in records),
            sum(record.dead for record in records),
            float(p50),
            float(p95),
        )
