"""Style of all plots: log axes that can be read, one colour a line, the paper's numbers marked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from tamis.lab.measuring.figure import Figure, Rows, Table
from tamis.lab.measuring.numbers import rounded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

SIZE = (8.4, 4.8)  # inches
GREY, INK = "#8a8a8a", "#333333"
PAPER = "#b5179e"  # whatever the paper says is in this colour


class Style(NamedTuple):
    """Style of a series: its line, and its name."""

    label: str
    colour: str
    marker: str = "o"
    dashes: str = "-"


def save(figure: Figure, rows: Rows, paths: Sequence[Path]) -> None:
    """Draws the figure, once for each path, in the format of its suffix. The same rows give the same files."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Picture

    with mpl.rc_context({"svg.hashsalt": figure.name, "svg.fonttype": "path", "font.size": 9.5}):
        picture = Picture(figsize=SIZE, layout="constrained")
        figure.draw(rows, picture)
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            nameless = {"Date": None} if path.suffix == ".svg" else {"Software": None}
            picture.savefig(path, dpi=150, metadata=nameless)


def curves(axes: Axes, rows: Rows, *, x: str, y: str, series: str, styles: Mapping[Any, Style]) -> None:
    """One line for each value of the column `series`, in the order of `styles`; rows without a `y` are left out."""
    for value, style in styles.items():
        chosen = [row for row in rows if row[series] == value and row.get(y) is not None]
        chosen.sort(key=lambda row: row[x])
        if chosen:
            axes.plot(
                [row[x] for row in chosen], [row[y] for row in chosen],
                color=style.colour, marker=style.marker, linestyle=style.dashes, linewidth=1.6, markersize=4.5,
                label=style.label,
            )  # fmt: skip


def axes_of(axes: Axes, *, x: str, y: str, title: str = "", log: str = "xy", ticks: Collection[float] = ()) -> None:
    """Labels, log scales for the axes named in `log`, and as little ink beside the lines as can be.

    `ticks` are the places on the x axis to name, where these are not just the powers of ten.
    """
    from matplotlib.ticker import NullFormatter

    if "x" in log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: rounded(value))
        axes.xaxis.set_minor_formatter(NullFormatter())
    if "y" in log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.15g}")
        if len(_powers(axes.get_ylim())) > 1:
            axes.yaxis.set_minor_formatter(NullFormatter())
        else:
            axes.yaxis.set_minor_formatter(lambda value, _: f"{value:,.3g}")
    if ticks:
        axes.set_xticks(sorted(ticks))
        axes.xaxis.minorticks_off()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, loc="left", fontsize="medium", color=INK)
    plain(axes)


def plain(axes: Axes, grid: Literal["both", "x", "y", "none"] = "both") -> None:
    """As little ink beside the data as can be: a light grid below it, and no frame above and to the right."""
    if grid != "none":
        axes.grid(True, which="major", axis=grid, color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def quoted(axes: Axes, x: float, y: float, text: str, *, left: bool = False) -> None:
    """A number that the paper gives, as a point of its own, with the text beside it: to the right, or to the left."""
    axes.plot([x], [y], marker="*", markersize=12, color=PAPER, linestyle="none", zorder=5)
    note = axes.annotate(
        text, (x, y), textcoords="offset points", xytext=(-10 if left else 10, -3), ha="right" if left else "left",
        fontsize="small", color=PAPER,
    )  # fmt: skip
    note.set_in_layout(False)


def legend_beside(axes: Axes, picture: Picture) -> None:
    """For many lines: to the right of the picture, the topmost line first where lines end."""
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    lines.sort(key=lambda line: -float(np.asarray(line.get_ydata())[-1]))
    picture.legend(lines, [str(line.get_label()) for line in lines], loc="outside right upper", frameon=False)


def _powers(limits: tuple[float, float]) -> list[int]:
    """The powers of ten in a range."""
    low, high = np.log10(limits)
    return list(range(int(np.ceil(low)), int(np.floor(high)) + 1))


def pivot(rows: Rows, *, x: str, series: str, y: str, names: Mapping[Any, str], form: Callable[[Any], str]) -> Table:
    """A table with a line for each `x`, a column for each of the series that occur."""
    here = {row[series] for row in rows if row.get(y) is not None}
    columns = [value for value in names if value in here]
    cells = {(row[x], row[series]): row[y] for row in rows if row.get(y) is not None}
    lines = [
        [f"{at:,}", *(form(cells[at, value]) if (at, value) in cells else "–" for value in columns)]
        for at in sorted({row[x] for row in rows})
    ]
    return Table([x, *(names[value] for value in columns)], lines)
