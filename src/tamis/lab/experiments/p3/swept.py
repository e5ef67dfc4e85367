"""Common form of P3's figures that sweep one workload parameter and draw the network traffic of all schemes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tamis.lab.experiments.p3.network import carried, medians, over_seeds
from tamis.lab.experiments.p3.schemes import NAMES, STYLES
from tamis.lab.measuring import Check, Figure, Point, Row, Rows, Table, Verdict, axes_of, curves, legend_beside, pivot
from tamis.lab.timing import figures

EVENTS = 1_000
ONE_SEED = f"One seed, {EVENTS:,} events, the same for all schemes (the paper: 59,000)"

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def swept(
    name: str,
    title: str,
    claim: str,
    sizes: str,
    *,
    x: str,
    worded: str,
    points: Sequence[Mapping[str, Any]],
    checks: Callable[[list[Row]], list[Check]],
    why: str,
    log: str = "xy",
    run: Callable[[Point], Rows] = carried,
    expanded: Callable[[Rows], Rows] = tuple,
    version: int = 1,
    schemes: Sequence[str] = tuple(STYLES),
    y: str = "kilobytes",
    label: str = "kB between nodes for an event",
    heading: str = "Network traffic",
    shared: str = "",
) -> Figure:
    """Figure with one line a scheme; `points` have the parameter `x`, and further parameters.

    Where one run tells of several values of `x`, `expanded` makes a row for each of them.
    """
    return Figure(
        name, title, claim, sizes, version=version, alone=False, run=run, shared=shared,
        grid=partial(_grid, points, schemes),
        draw=partial(_draw, expanded, x, worded, log, y, label, heading),
        table=partial(_table, expanded, x, y),
        verdict=partial(_verdict, expanded, x, checks, why),
    )  # fmt: skip


def _grid(points: Sequence[Mapping[str, Any]], schemes: Sequence[str], scale: float) -> list[Point]:
    return over_seeds([{"events": EVENTS, **point, "scheme": scheme} for point in points for scheme in schemes], scale)


def _draw(
    expanded: Callable[[Rows], Rows], x: str, worded: str, log: str, y: str, label: str, heading: str, rows: Rows,
    picture: Picture,
) -> None:  # fmt: skip
    axes = picture.subplots()
    ours = medians(expanded(rows), (x, "scheme"))
    curves(axes, ours, x=x, y=y, series="scheme", styles=STYLES)
    axes_of(axes, x=worded, y=label, title=heading, log=log, ticks={row[x] for row in ours})
    legend_beside(axes, picture)


def _table(expanded: Callable[[Rows], Rows], x: str, y: str, rows: Rows) -> Table:
    names = {name: f"{label}, kB" for name, label in NAMES.items()}
    return pivot(medians(expanded(rows), (x, "scheme")), x=x, series="scheme", y=y, names=names, form=figures)


def _verdict(
    expanded: Callable[[Rows], Rows], x: str, checks: Callable[[list[Row]], list[Check]], why: str, rows: Rows
) -> Verdict:
    return Verdict(checks(medians(expanded(rows), (x, "scheme"))), why)
