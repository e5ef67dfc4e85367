"""Plot of a benchmark: a panel per workload, a colour per matcher."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.cli.base.options import CommandError
from tamis.cli.bench.problems import Results
from tamis.lab.comparison import Cell
from tamis.lab.measuring import INK, plain
from tamis.lab.timing import duration, round_duration, short
from tamis.matching.matchers import AUTO

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

FORMS = (".png", ".svg", ".pdf")

_COLOURS = {
    "columnar": "#1f5f8b",
    AUTO: "#111111",
    "quarantine": "#c8553d",
    "equality-preferred": "#e09f3e",
    "fair-predicate": "#7a8f3c",
    "hanson": "#6a4c93",
    "gough": "#2a9d8f",
    "neon": "#d16ba5",
    "tree": "#8d5b3a",
    "mbd": "#3d405b",
    "scan": "#9a9a9a",
    "naive": "#c4c4c4",
}
_MARKERS = "osD^v<>PX*h"
_MOST_COLUMNS = 3


def require_plot(path: Path) -> None:
    """Raises an error for an impossible plot, before the work is done."""
    if path.suffix.lower() not in FORMS:
        raise CommandError(f"{path}: a plot is written to a file that ends in {' or '.join(FORMS)}")
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise CommandError("plots need matplotlib: pip install 'tamis[spark]'") from error


def plot(results: Results, path: Path) -> None:
    """Plots time per event against the number of subscriptions; with one size only, a line per matcher."""
    from matplotlib.figure import Figure

    panels: dict[str, list[Cell]] = {}
    for cell in results.cells:
        panels.setdefault(cell.workload, []).append(cell)
    columns = min(len(panels), _MOST_COLUMNS)
    rows = math.ceil(len(panels) / columns)
    lined = any(len(_sizes(cells)) > 1 for cells in panels.values())
    height = 3.4 if lined else 0.9 + 0.32 * len(results.matchers)
    figure = Figure(figsize=(max(6.5, 4.3 * columns), height * rows + 1.1), layout="constrained")
    every = figure.subplots(rows, columns, squeeze=False)
    for axes, (workload, cells) in zip(every.flat, panels.items(), strict=False):
        (_lines if len(_sizes(cells)) > 1 else _dots)(axes, cells, results.matchers)
        _finish(axes, workload, cells)
    for axes in every.flat[len(panels) :]:
        axes.set_visible(False)
    if lined:
        handles = {line.get_label(): line for axes in every.flat for line in axes.get_lines()}
        names = [name for name in results.matchers if name in handles]
        figure.legend(
            [handles[name] for name in names],
            names,
            loc="outside lower center",
            ncols=min(6, len(names)),
            frameon=False,
        )
    figure.suptitle("Time per event (processor time, one thread)", fontsize=12, color=INK)
    figure.savefig(path, dpi=150)


def _sizes(cells: Sequence[Cell]) -> list[int]:
    return sorted({cell.subscriptions for cell in cells if cell.measurement is not None})


def _lines(axes: Axes, cells: Sequence[Cell], matchers: Sequence[str]) -> None:
    for name in matchers:
        points = sorted(
            (cell.subscriptions, cell.measurement.seconds_per_event)
            for cell in cells
            if cell.matcher == name and cell.measurement is not None
        )
        if points:
            axes.plot(
                *zip(*points, strict=True),
                **_look(name, matchers),
                linewidth=2.4 if name == "columnar" else 1.3,
                # What was chosen runs along the line of its choice: both are to be seen.
                linestyle=(0, (2, 2)) if name == AUTO else "-",
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(_sizes(cells), [short(size) for size in _sizes(cells)])
    axes.xaxis.minorticks_off()
    axes.set_xlabel("subscriptions")
    _time_ticks(axes.yaxis)


def _dots(axes: Axes, cells: Sequence[Cell], matchers: Sequence[str]) -> None:
    times = {cell.matcher: cell.measurement.seconds_per_event for cell in cells if cell.measurement is not None}
    names = [name for name in reversed(matchers) if name in times]
    if not names:
        axes.set_axis_off()
        return
    for place, name in enumerate(names):
        axes.plot([times[name]], [place], **_look(name, matchers), linestyle="none")
        axes.annotate(
            duration(times[name]), (times[name], place), xytext=(7, 0), textcoords="offset points", va="center",
            fontsize=8, color=INK,
        )  # fmt: skip
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xscale("log")
    axes.set_xlim(min(times.values()) / 2, max(times.values()) * 6)  # room for the last label
    _time_ticks(axes.xaxis)


def _look(name: str, matchers: Sequence[str]) -> dict[str, Any]:
    """Colour and marker of a matcher, equal in every panel."""
    return {
        "label": name,
        "color": _COLOURS.get(name, INK),
        "marker": _MARKERS[matchers.index(name) % len(_MARKERS)],
        "markersize": 5,
        "markerfacecolor": "none" if name == AUTO else None,
        "zorder": {"columnar": 3, AUTO: 4}.get(name, 2),
    }


def _time_ticks(axis: Axis) -> None:
    """Few and round ticks; between the decades too where there are few of those."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = sorted(axis.get_view_interval())
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: round_duration(value))


def _finish(axes: Axes, workload: str, cells: Sequence[Cell]) -> None:
    sizes = _sizes(cells)
    one = f", {short(sizes[0])} subscriptions" if len(sizes) == 1 else ""
    axes.set_title(f"{workload}{one}", loc="left", fontsize=10, color=INK)
    plain(axes)
    missing = [f"{cell.matcher} at {short(cell.subscriptions)}" for cell in cells if cell.measurement is None]
    if missing:
        axes.text(
            0.99, 0.02, "not measured: " + ",\n".join(missing), transform=axes.transAxes, fontsize=7, color="#8a5a00",
            ha="right", va="bottom",
        )  # fmt: skip
