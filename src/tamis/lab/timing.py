"""Timing of calls, percentiles, and numbers and tables formatted for people: for `tamis bench`, benchmarks,
experiments."""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

# Timing of calls: by the processor or by the clock, alone or several in turn, and percentiles of many times.


def seconds(work: Callable[[], Any]) -> float:
    """Processor time of one call in this process, little affected by other load on the machine."""
    start = time.process_time()
    work()
    return time.process_time() - start


def elapsed(work: Callable[[], Any]) -> float:
    """Wall-clock time of one call, for work that waits, or that other processes and threads do."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best_of(repetitions: int, *works: Callable[[], Any]) -> list[float]:
    """Best wall-clock time of each, all of them called in turn, `repetitions` times after a warm-up.

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
    """Suspends Python's garbage collection, which would add to the time of one of those compared."""

    def __enter__(self) -> None:
        gc.collect()
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._was_enabled:
            gc.enable()


# Occasion: when and where something was measured, recorded in the results.


def occasion() -> dict[str, Any]:
    """Time, to the second, and description of this machine."""
    machine = {"processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
    return {"at": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine}


# Numbers written for people: `10k`, `3.2M`; `0.99 µs`, `12.3 ms`.

_SIZES = ((1_000_000, "M"), (1_000, "k"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def short(number: int) -> str:
    """Exact count in few characters: 10,000 is `10k`, and 1,234 is `1,234`."""
    for unit, letter in _SIZES:
        if number >= unit and number % (unit // 10) == 0:
            return f"{number / unit:g}{letter}"
    return f"{number:,}"


def rounded(number: float) -> str:
    """Count to three significant figures with a suffix, as for ticks of an axis: 1,234 is `1.23k`."""
    for unit, letter in _SIZES:
        if number >= unit:
            return f"{number / unit:.3g}{letter}"
    return f"{number:.3g}"


def duration(seconds: float) -> str:
    """Duration to three significant figures in a suitable unit."""
    unit, name = _unit(seconds)
    return f"{figures(seconds / unit)} {name}"


def round_duration(seconds: float) -> str:
    """Duration without digits that say nothing, as for the ticks of an axis: `500 ns`."""
    unit, name = _unit(seconds)
    return f"{seconds / unit:g} {name}"


def figures(number: float) -> str:
    """Number to three significant figures, without exponent."""
    if number >= 99.95:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"


def _unit(seconds: float) -> tuple[float, str]:
    # A thousandth less: 0.9996 ms would be written as 1,000 µs.
    return next((pair for pair in _TIMES if seconds >= 0.9995 * pair[0]), _TIMES[-1])


# Markdown tables, for pages that are made from measurements.


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]], words: int | None = None) -> str:
    """Markdown table; columns after the first `words` are numbers, which are aligned to the right."""
    words = len(header) if words is None else words
    rule = f"|{'---|' * words}{'--:|' * (len(header) - words)}"
    return "\n".join([_line(header), rule, *map(_line, lines)])


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"
