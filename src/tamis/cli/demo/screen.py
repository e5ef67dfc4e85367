"""The demo as it is seen: steps that are done, then a live table; plain lines where there is no terminal."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tamis.cli.demo.measurements import Figures, Measurements

_RECENT = 5.0  # seconds
_PLAIN_EVERY = 5.0  # seconds between lines where there is no terminal


@dataclass(frozen=True, slots=True)
class Sample:
    """An event and one of the subscriptions it matched, to show what the numbers mean."""

    event: str
    subscribers: int
    filter: str


class Screen:
    """Everything the demo prints. With a terminal the table is redrawn in place; without, a line now and then."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def title(self, text: str) -> None:
        self._console.print(Panel(Text.from_markup(text), border_style="cyan", expand=False))

    @contextmanager
    def step(self, doing: str, done: str) -> Iterator[None]:
        """A spinner while it runs; afterwards a line that stays, with the time it took."""
        start = time.perf_counter()
        with self._console.status(f"{doing} ..."):
            yield
        self.done(done, time.perf_counter() - start)

    def done(self, what: str, seconds: float) -> None:
        self._console.print(Text.assemble(("✔ ", "green"), f"{what:<64}", (f"{seconds:5.1f} s", "dim")))

    def tell(self, text: str) -> None:
        self._console.print(text)

    @contextmanager
    def live(self, measurements: Measurements, seconds: float) -> Iterator[LiveTable]:
        table = LiveTable(measurements, seconds)
        if self._console.is_terminal:
            with Live(table, console=self._console, refresh_per_second=4, transient=False):
                yield table
        else:
            plain = _PlainLines(self._console, table)
            table.on_tick = plain.tick
            yield table


class LiveTable:
    """Draws the measurements as they stand at `now`, in seconds since the stream began."""

    def __init__(self, measurements: Measurements, seconds: float) -> None:
        self._measurements = measurements
        self._seconds = seconds
        self.now = 0.0
        self.note = ""
        self.samples: list[Sample] = []
        self.on_tick: Callable[[], None] = lambda: None

    def tick(self, now: float, note: str = "") -> None:
        self.now = now
        self.note = note
        self.on_tick()

    def figures(self, last: float | None = None) -> Figures:
        return self._measurements.figures(self.now, last)

    def __rich__(self) -> RenderableType:
        done = min(self.now, self._seconds)
        bar = Table.grid(padding=(0, 1))
        bar.add_row(
            "streaming", ProgressBar(self._seconds, done, width=40), f"{done:2.0f}/{self._seconds:.0f} s", self.note
        )
        return Group(bar, _table(self.figures(_RECENT), self.figures()), _sample_lines(self.samples))


class _PlainLines:
    def __init__(self, console: Console, table: LiveTable) -> None:
        self._console = console
        self._table = table
        self._next = _PLAIN_EVERY

    def tick(self) -> None:
        if self._table.now < self._next:
            return
        self._next += _PLAIN_EVERY
        recent = self._table.figures(_RECENT)
        self._console.print(
            f"{self._table.now:3.0f} s: {recent.events_a_second:,.0f} events/s, "
            f"{recent.matches_a_second:,.0f} matches/s, "
            f"latency p50 {_seconds(recent.p50)}, p95 {_seconds(recent.p95)}, {recent.dead:,} dead letters"
        )


def _table(recent: Figures, whole: Figures) -> Table:
    table = Table(box=None, padding=(0, 2), header_style="bold")
    table.add_column("")
    table.add_column(f"last {_RECENT:.0f} s", justify="right", min_width=12)
    table.add_column("whole run", justify="right", min_width=12)
    rows = (
        ("events per second", f"{recent.events_a_second:,.0f}", f"{whole.events_a_second:,.0f}"),
        ("matches per second", f"{recent.matches_a_second:,.0f}", f"{whole.matches_a_second:,.0f}"),
        ("matches per event", f"{recent.matches_an_event:,.1f}", f"{whole.matches_an_event:,.1f}"),
        ("latency, median", _seconds(recent.p50), _seconds(whole.p50)),
        ("latency, 95th percentile", _seconds(recent.p95), _seconds(whole.p95)),
        ("dead letters", f"{recent.dead:,}", f"{whole.dead:,}"),
        ("events", f"{recent.events:,}", f"{whole.events:,}"),
        ("matches", f"{recent.matches:,}", f"{whole.matches:,}"),
    )
    for name, now, ever in rows:
        table.add_row(name, f"[cyan]{now}", ever)
    return table


def _sample_lines(samples: list[Sample]) -> Table:
    table = Table(box=None, padding=(0, 2), header_style="bold", show_header=bool(samples))
    table.add_column("just sold to the sieve", no_wrap=True, overflow="ellipsis", max_width=44)
    table.add_column("matched", justify="right", no_wrap=True)
    table.add_column("one of them asked for", no_wrap=True, overflow="ellipsis", ratio=1)
    for sample in samples:
        table.add_row(escape(sample.event), f"[cyan]{sample.subscribers:,}", f"[dim]{escape(sample.filter)}")
    return table


def _seconds(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f} s"
