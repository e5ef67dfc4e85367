"""The picture of a backtest: when there were matches, and whose they were."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tamis.errors import PipelineError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tamis.pipeline.backtest import Backtest

FORMS = (".png", ".svg", ".pdf")

# Windows without matches are drawn as such, unless there are so many that the picture cannot show them.
_DRAWN = 5_000
_SHOWN_NAME = 28

Series = Mapping[datetime, int]


def plot(backtest: Backtest, path: str | Path | None, top: int) -> Figure:
    """Two panels over one time axis: all matches, and the most frequent subscriptions one by one."""
    if path is not None and Path(path).suffix.lower() not in FORMS:
        raise PipelineError(f"a plot is written to a file that ends in {' or '.join(FORMS)}, and {path} does not")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PipelineError("plots need matplotlib: pip install 'tamis[spark]'") from error

    figure = Figure(figsize=(10, 6.5), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    every, each = _series(backtest, top)
    times = _times(every, backtest.window)
    _draw_all(above, times, every, backtest)
    _draw_each(figure, below, times, each, backtest.window)
    matched = sum(every.values())
    figure.suptitle(f"{matched:,} matches in {backtest.events:,} events, by {_worded(backtest.window)}")
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _series(backtest: Backtest, top: int) -> tuple[Series, dict[str, Series]]:
    """Matches by window: of all subscriptions, and of the most frequent ones."""
    counts = backtest.counts.where("window IS NOT NULL").persist()
    try:
        every = {row[0]: row[1] for row in counts.groupBy("window").agg({"matches": "sum"}).collect()}
        frequent = [row["subscription"] for row in backtest.totals.limit(top).collect()]
        each: dict[str, dict[datetime, int]] = {name: defaultdict(int) for name in frequent}
        for name, window, matches in counts.where(counts.subscription.isin(frequent)).collect():
            each[name][window] = matches
    finally:
        counts.unpersist()
    return every, dict(each)


def _times(every: Series, window: timedelta) -> list[datetime]:
    if not every:
        return []
    first, last = min(every), max(every)
    steps = (last - first) // window
    return [first + step * window for step in range(steps + 1)] if steps < _DRAWN else sorted(every)


def _draw_all(axes: Axes, times: list[datetime], every: Series, backtest: Backtest) -> None:
    from matplotlib.ticker import MaxNLocator

    heights = [every.get(time, 0) for time in times]
    axes.bar(times, heights, width=backtest.window * 0.9, align="edge", color="#3b6ea5")  # type: ignore[arg-type]
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("matches")
    axes.set_title("all subscriptions", loc="left", fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_each(
    figure: Figure, axes: Axes, times: list[datetime], each: Mapping[str, Series], window: timedelta
) -> None:
    """A row a subscription, darker where it matched more: lines would hide one another."""
    from matplotlib.colors import PowerNorm

    axes.set_title("the most frequent", loc="left", fontsize="medium")
    axes.tick_params(axis="x", rotation=30)
    if not times or not each:
        return
    cells = [[series.get(time, 0) for time in times] for series in each.values()]
    edges = [*times, times[-1] + window]
    # By the square root: one busy window would else leave all others pale.
    shades = PowerNorm(0.5, vmin=0, vmax=max(map(max, cells)))
    drawn = axes.pcolormesh(edges, range(len(each) + 1), cells, cmap="Blues", norm=shades)  # type: ignore[arg-type]
    axes.set_yticks([row + 0.5 for row in range(len(each))], [_shortened(name) for name in each])
    axes.invert_yaxis()
    figure.colorbar(drawn, ax=axes, label="matches")


def _shortened(name: str) -> str:
    return name if len(name) <= _SHOWN_NAME else name[: _SHOWN_NAME - 1] + "…"


def _worded(window: timedelta) -> str:
    """`2:00:00` as `2 hours`."""
    seconds = window.total_seconds()
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        if seconds >= size and seconds % size == 0:
            number = int(seconds // size)
            return unit if number == 1 else f"{number} {unit}s"
    return f"{seconds} seconds"
