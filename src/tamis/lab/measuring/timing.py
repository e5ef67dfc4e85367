"""Timing of calls: by the processor or by the clock, alone or several in turn, and percentiles of many times."""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from types import TracebackType
from typing import Any


def seconds(work: Callable[[], Any]) -> float:
    """Processor time of one call of this process: what else runs on the machine disturbs it little."""
    start = time.process_time()
    work()
    return time.process_time() - start


def elapsed(work: Callable[[], Any]) -> float:
    """Time of one call by the clock on the wall, for work that waits, or that other processes and threads do."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best_of(repetitions: int, *works: Callable[[], Any]) -> list[float]:
    """Best time of each by the clock, all of them called in turn, `repetitions` times after a warm-up.

    In turn, because on a shared machine only ratios taken in one run mean much. The best, not the mean: what disturbs a
    run only ever makes it slower.
    """
    for work in works:
        work()
    with uncollected():
        rounds = [[elapsed(work) for work in works] for _ in range(repetitions)]
    return [min(times) for times in zip(*rounds, strict=True)]


def percentile(values: Sequence[float], share: float) -> float:
    """Smallest of the values that this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class uncollected(AbstractContextManager[None]):  # noqa: N801  # reads as a word after `with`
    """Suspends Python's garbage collection, which would strike one of those that are compared."""

    def __enter__(self) -> None:
        gc.collect()
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._was_enabled:
            gc.enable()


# When and where something was measured, as results say it of themselves.


def occasion() -> dict[str, Any]:
    """Now, to the second, and this machine."""
    machine = {"processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
    return {"at": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine}
