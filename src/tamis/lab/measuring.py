"""Framework of experiments: a paper's figure as claim, grid of points, plot and verdict; and the style of all plots."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from tamis.lab.timing import rounded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture


Point: TypeAlias = Mapping[str, str | int | float | bool]
Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]


class Outcome(StrEnum):
    """Outcome of a claim."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not"


@dataclass(frozen=True)
class Check:
    """Single claim of the paper beside our finding. `holds` is None if there is nothing to hold it to."""

    what: str
    paper: str
    ours: str
    holds: bool | None = None


@dataclass(frozen=True)
class Verdict:
    """Checks of a figure, and the reasons for its outcome: in whole sentences, for people."""

    checks: Sequence[Check]
    why: str

    @property
    def outcome(self) -> Outcome:
        held = [check.holds for check in self.checks if check.holds is not None]
        if all(held):
            return Outcome.REPRODUCED
        return Outcome.PARTLY if any(held) else Outcome.NOT


@dataclass(frozen=True)
class Table:
    """Table for the page: a header and lines of cells, ready to print."""

    header: Sequence[str]
    lines: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Figure:
    """Figure of a paper, `name` being `paper/figure`.

    `grid(scale)` lists the points to measure; at scale 1 they are the paper's, or the largest that fit (`sizes` says
    which). `run` measures one of them: a function of the point alone, called in a worker of Spark, which gives one or
    more rows. Points that count run side by side. Those that take times run one after the other in one worker: `alone`.
    `draw`, `table` and `verdict` take all rows, each with the point's values in it, in the order of the grid.

    `version` goes up whenever `run` comes to mean something else: rows of an older version are not used. Figures with
    the same `run` and version may share their points, which are then kept under the name `shared`.
    """

    name: str
    title: str
    claim: str
    sizes: str
    version: int
    alone: bool
    grid: Callable[[float], Sequence[Point]]
    run: Callable[[Point], Rows]
    draw: Callable[[Rows, Picture], None]
    table: Callable[[Rows], Table]
    verdict: Callable[[Rows], Verdict]
    shared: str = ""

    @property
    def command(self) -> str:
        return f"tamis experiments run {self.name}"


@dataclass(frozen=True)
class Paper:
    """Paper: its folder's name, its citation, and its figures."""

    name: str
    title: str
    figures: Sequence[Figure]


def scaled(sizes: Sequence[int], scale: float, least: int = 1) -> list[int]:
    """Numbers of subscriptions scaled for trials; equal ones are taken once."""
    return sorted({max(least, round(size * scale)) for size in sizes})


def one(rows: Rows, **wanted: object) -> Row:
    """Single row with these values."""
    (found,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return found


def budget(seconds: float, scale: float) -> float:
    """Seconds that a point may match for: fewer in trials."""
    return max(0.02, seconds * min(1.0, scale))


# Plots: log axes that can be read, one colour a line, the paper's numbers marked.

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
    """Saves the plot at each path, in the format of its suffix. Equal rows give equal files."""
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
    """Draws one line for each value of the column `series`, in the order of `styles`; rows without a `y` are left
    out."""
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
    """Sets labels, log scales for the axes named in `log`, and the plain style.

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
    """Applies the plain style: a light grid below the data, and no frame above and to the right."""
    if grid != "none":
        axes.grid(True, which="major", axis=grid, color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def quoted(axes: Axes, x: float, y: float, text: str, *, left: bool = False) -> None:
    """Marks a number that the paper gives as a point of its own, with the text to the right or to the left of it."""
    axes.plot([x], [y], marker="*", markersize=12, color=PAPER, linestyle="none", zorder=5)
    note = axes.annotate(
        text, (x, y), textcoords="offset points", xytext=(-10 if left else 10, -3), ha="right" if left else "left",
        fontsize="small", color=PAPER,
    )  # fmt: skip
    note.set_in_layout(False)


def legend_beside(axes: Axes, picture: Picture) -> None:
    """Places a legend for many lines to the right of the picture, in the order in which lines end."""
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    lines.sort(key=lambda line: -float(np.asarray(line.get_ydata())[-1]))
    picture.legend(lines, [str(line.get_label()) for line in lines], loc="outside right upper", frameon=False)


def _powers(limits: tuple[float, float]) -> list[int]:
    """Powers of ten in a range."""
    low, high = np.log10(limits)
    return list(range(int(np.ceil(low)), int(np.floor(high)) + 1))


def pivot(rows: Rows, *, x: str, series: str, y: str, names: Mapping[Any, str], form: Callable[[Any], str]) -> Table:
    """Table with a line for each `x`, a column for each of the series that occur."""
    here = {row[series] for row in rows if row.get(y) is not None}
    columns = [value for value in names if value in here]
    cells = {(row[x], row[series]): row[y] for row in rows if row.get(y) is not None}
    lines = [
        [f"{at:,}", *(form(cells[at, value]) if (at, value) in cells else "–" for value in columns)]
        for at in sorted({row[x] for row in rows})
    ]
    return Table([x, *(names[value] for value in columns)], lines)
