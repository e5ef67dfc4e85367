"""Screen of the demo: finished steps, then a live table; plain lines where there is no terminal."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tamis.cli.demo.measurements import RECENT, Figures

_PLAIN_EVERY = 5.0  # seconds between lines where there is no terminal


@dataclass(frozen=True, slots=True)
class Sample:
    """Example of a match: an event and one of the subscriptions it matched."""

    event: str
    subscribers: int
    filter: str


@dataclass(frozen=True, slots=True)
class View:
    """Status of the stream `now`, in seconds since it began."""

    now: float
    recent: Figures
    whole: Figures
    samples: Sequence[Sample]
    note: str


class Screen:
    """Terminal output of the demo. On a terminal the table is redrawn in place; elsewhere a line is printed now and
    then.
    """

    def __init__(self, console: Console) -> None:
        self._console = console

    def panel(self, text: str) -> None:
        self._console.print(Panel(Text.from_markup(text), border_style="cyan", expand=False))

    @contextmanager
    def step(self, doing: str, done: str) -> Iterator[None]:
        """Shows a spinner while a step runs; afterwards a line that stays, with the time it took."""
        start = time.perf_counter()
        with self._console.status(f"{doing} ..."):
            yield
        seconds = time.perf_counter() - start
        self._console.print(Text.assemble(("✔ ", "green"), f"{done:<44}", (f"{seconds:5.1f} s", "dim")))

    @contextmanager
    def streaming(self, seconds: float) -> Iterator[Callable[[View], None]]:
        """Yields the function that shows a view."""
        if not self._console.is_terminal:
            yield _PlainLines(self._console).show
            return
        with Live(console=self._console, refresh_per_second=4) as live:
            yield lambda view: live.update(_drawn(view, seconds))


class _PlainLines:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = _PLAIN_EVERY

    def show(self, view: View) -> None:
        if view.now < self._next:
            return
        self._next += _PLAIN_EVERY
        recent = view.recent
        self._console.print(
            f"{view.now:3.0f} s: {recent.events_a_second:,.0f} events/s, {recent.matches_a_second:,.0f} matches/s, "
            f"latency p50 {_seconds(recent.p50)}, p95 {_seconds(recent.p95)}, {view.whole.dead:,} dead letters",
            soft_wrap=True,
        )


def _drawn(view: View, seconds: float) -> RenderableType:
    done = min(view.now, seconds)
    bar = Table.grid(padding=(0, 1))
    bar.add_row(
        "streaming", ProgressBar(seconds, done, width=30), f"{done:2.0f}/{seconds:.0f} s", Text(view.note, "dim")
    )
    return Group("", bar, "", _figures(view.recent, view.whole), "", _samples(view.samples))


def _figures(recent: Figures, whole: Figures) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    table.add_column(f"last {RECENT:.0f} s", justify="right", min_width=12, style="cyan")
    table.add_column("whole run", justify="right", min_width=12)
    for name, shown in _ROWS:
        table.add_row(name, shown(recent), shown(whole))
    return table


def _samples(samples: Sequence[Sample]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", show_header=bool(samples), expand=True)
    table.add_column("latest lots", no_wrap=True, overflow="ellipsis", width=38)
    table.add_column("matched", justify="right", no_wrap=True, style="cyan", width=7)
    table.add_column("one of them asked for", no_wrap=True, overflow="ellipsis", style="dim", ratio=1)
    for sample in samples:
        table.add_row(Text(sample.event), f"{sample.subscribers:,}", Text(sample.filter))
    return table


def _seconds(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f} s"


_ROWS: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("events", lambda figures: f"{figures.events:,}"),
    ("events per second", lambda figures: f"{figures.events_a_second:,.0f}"),
    ("matches", lambda figures: f"{figures.matches:,}"),
    ("matches per second", lambda figures: f"{figures.matches_a_second:,.0f}"),
    ("matches per event", lambda figures: f"{figures.matches_an_event:,.1f}"),
    ("latency, median", lambda figures: _seconds(figures.p50)),
    ("latency, 95th percentile", lambda figures: _seconds(figures.p95)),
    ("dead letters", lambda figures: f"{figures.dead:,}"),
)
