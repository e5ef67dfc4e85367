"""Measurements of the demo: one record per micro-batch, totals and rates, and the plot of throughput and latency."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from tamis.arrays import Floats

RECENT = 5.0  # seconds that count as recent


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """Record of one micro-batch, made when its matches were on disk.

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
    """Totals and rates over some batches."""

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
    """Records so far. The stream's thread adds, the screen's thread reads."""

    def __init__(self) -> None:
        self._records: list[BatchRecord] = []
        self._lock = threading.Lock()

    def add(self, record: BatchRecord) -> None:
        with self._lock:
            self._records.append(record)

    def add_dead(self, count: int) -> None:
        """Adds dead letters to the newest batch: they are written after its matches."""
        with self._lock:
            if self._records:
                last = self._records[-1]
                self._records[-1] = replace(last, events=last.events + count, dead=last.dead + count)

    @property
    def records(self) -> Sequence[BatchRecord]:
        with self._lock:
            return tuple(self._records)

    def figures(self, now: float, last: float | None = None) -> Figures:
        """Totals and rates over the whole run until `now`, or over its last seconds."""
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


# Plot at the demo's end: throughput and latency over the run.

_EVENTS, _MATCHES, _LATENCY = "#1f6f8b", "#c8553d", "#4b6b2f"


def plot(records: Sequence[BatchRecord], whole: Figures, subscriptions: int, paths: Sequence[Path]) -> None:
    """Writes the plot to each path, in the format of its suffix."""
    figure = Figure(figsize=(9.5, 6.2), layout="constrained")
    events, matches, latency = figure.subplots(3, 1, sharex=True, height_ratios=(1, 1, 1.35))
    ends = np.array([record.finished for record in records])
    # A batch is drawn over the time since the one before it: that is what it had to keep up with.
    starts = np.concatenate([[0.0], ends[:-1]])
    spans = np.maximum(ends - starts, 1e-9)
    _steps(events, starts, ends, np.array([record.events for record in records]) / spans, _EVENTS, "events/s")
    _steps(matches, starts, ends, np.array([record.matches for record in records]) / spans, _MATCHES, "matches/s")
    _latency(latency, records, whole)
    figure.suptitle(
        f"Auctions streamed through Spark against {subscriptions:,} subscriptions\n"
        f"{whole.events:,} events, {whole.matches:,} matches, {whole.matches_an_event:,.0f} matches per event",
        fontsize=12,
    )
    for path in paths:
        figure.savefig(path, dpi=150)


def _steps(axes: Axes, starts: Floats, ends: Floats, heights: Floats, colour: str, label: str) -> None:
    axes.stairs(heights, np.append(starts, ends[-1:]), fill=True, color=colour, alpha=0.25)
    axes.stairs(heights, np.append(starts, ends[-1:]), color=colour, linewidth=1.4)
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    _plain(axes)


def _latency(axes: Axes, records: Sequence[BatchRecord], whole: Figures) -> None:
    measured = [record for record in records if len(record.latencies)]
    ends = [record.finished for record in measured]
    low, middle, high = np.array([np.percentile(r.latencies, [5, 50, 95]) for r in measured]).reshape(-1, 3).T
    axes.fill_between(
        ends, low, high, color=_LATENCY, alpha=0.2, linewidth=0, label="5th to 95th percentile of a batch"
    )
    axes.plot(ends, middle, color=_LATENCY, linewidth=1.6, marker="o", markersize=3, label="median of a batch")
    axes.axhline(whole.p50, color="#333333", linewidth=0.9, linestyle="--")
    axes.annotate(
        f"p50 {whole.p50:.2f} s, p95 {whole.p95:.2f} s over the run",
        (1, whole.p50),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 4),
        textcoords="offset points",
        ha="right",
        fontsize=9,
        color="#333333",
    )
    axes.set_ylabel("event written →\nmatch written, s")
    axes.set_xlabel("seconds since the stream began")
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper right", frameon=False, fontsize=9)
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.set_xlim(left=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
