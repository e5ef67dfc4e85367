"""Common parts of P0's experiments: points, evaluations of one schedule at a point, plots and tables, and checks of
claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tamis.lab.measuring import Check, Point, Row, Rows, Style, Table, axes_of, curves, legend_beside, pivot, quoted
from tamis.lab.schedules.counting import bounds, evaluations
from tamis.workloads.expensive_operators import Parameters

if TYPE_CHECKING:
    from collections.abc import Collection

    from matplotlib.figure import Figure as Picture

NAIVE, SEQUENTIAL, STOPPING, SUB_ORDER, ADAPTIVE = (
    "naive",
    "sequential",
    "sequential-stopping",
    "sub-order",
    "adaptive",
)
SCHEDULES = (NAIVE, SEQUENTIAL, STOPPING, SUB_ORDER, ADAPTIVE)
BOUND, THEOREM_2 = "bound", "theorem-2"
STYLES = {
    NAIVE: Style("naive", "#8a8a8a", "x", "--"),
    SEQUENTIAL: Style("Sequential", "#e09f3e", "s"),
    STOPPING: Style("Sequential, stopping", "#7a6a3a", "", ":"),
    SUB_ORDER: Style("Sub-Order", "#c8553d", "^"),
    ADAPTIVE: Style("adaptive (Tamis)", "#1f5f8b", "D"),
    BOUND: Style("no schedule is below this", "#333333", "", "-."),
    THEOREM_2: Style("bound of Theorem 2", "#333333", "", ":"),
}
NAMES = {name: style.label for name, style in STYLES.items()}

WORKLOADS = 5
EVENTS = 200  # of each workload
BOUNDED = 20  # of each workload, the first ones
FEW, BOUNDED_FEW = 40, 4  # where all events cost nearly the same
MATCHED = 0.002
SHARED = "p0/points"
VERSION = 1

# Tolerances of ours: for adaptive, for growth far below linear, and for equality with a number of the paper's.
BAR, MEAN_BAR = 0.80, 0.90
SUBLINEAR = 0.7  # an exponent: 40 times the subscriptions need a third of 40 times the evaluations
NEAR = 1.25

SET_UP = f"""\
As in the paper's Table 1: subscriptions of 3 to 5 predicates, drawn by popularity without repetition; an event matches
{MATCHED:.1%} of the subscriptions on average. Selectivities are not in the table: here each predicate has its own,
uniform from 0 up to what gives {MATCHED:.1%} (p0/selectivities has two other readings). Schedules know them.
*Sequential* is Algorithm 1 to the letter, which evaluates all predicates of a subscription that it takes up, if anybody
undecided wants them; *stopping* leaves a subscription once it is decided. The bound is what no schedule can do without
that does not know truths beforehand, from the first events of each workload; Theorem 2's is its proof's, which holds
even for one that does."""
THOUSAND = f"1,000 events, {EVENTS} on each of {WORKLOADS} workloads, for the paper takes the mean of several runs"


def parameters(point: Point, workload: int) -> Parameters:
    alpha = float(point["alpha"])
    return Parameters(
        int(point["subscriptions"]), int(point["predicates"]), alpha=alpha or None, longest=int(point["longest"]),
        selectivities=str(point["selectivities"]), costs=str(point["costs"]), seed=workload,  # type: ignore[arg-type]
    )  # fmt: skip


def points(
    some: Sequence[Parameters],
    scale: float,
    events: int = EVENTS,
    lines: Sequence[str] = (*SCHEDULES, BOUND),
    bounded: int = BOUNDED,
) -> list[Point]:
    """Points for each schedule and set of parameters, the largest first; `alpha` is 0 where popularity is uniform."""
    found: dict[tuple[object, ...], Point] = {}
    for each in some:
        subscriptions = max(20, round(each.subscriptions * scale))
        predicates = max(20, round(each.predicates * scale))
        for line in lines:
            point: Point = {
                "subscriptions": subscriptions, "predicates": predicates, "alpha": each.alpha or 0.0,
                "longest": each.longest, "selectivities": each.selectivities, "costs": each.costs, "schedule": line,
                "workloads": WORKLOADS, "events": bounded if line == BOUND else events,
            }  # fmt: skip
            found[tuple(point.values())] = point
    return sorted(found.values(), key=lambda point: -int(point["subscriptions"]) * int(point["predicates"]))


def counted(point: Point) -> Rows:
    """Evaluations of one schedule at one point: the mean over events and workloads, and the range over workloads.

    `first` and `first_few` are the means of the events that bounds are taken over, so that the two can be divided;
    `deviation` is how far an event is from its workload's mean, as a share of that.
    """
    name, workloads, events = str(point["schedule"]), range(1, int(point["workloads"]) + 1), int(point["events"])
    if name == BOUND:
        found = [bounds(parameters(point, workload), events) for workload in workloads]
        below = float(np.mean([each.foreseeing_nothing for each in found]))
        row = {"evaluations": below, "cost": below, "first": below, "first_few": below, "first_cost": below}
        return [{**row, "theorem_2": float(np.mean([each.theorem_2 for each in found]))}]
    counts = [evaluations(name, parameters(point, workload), events) for workload in workloads]
    means = [each.mean for each in counts]
    return [
        {
            "evaluations": float(np.mean(means)),
            "least": min(means),
            "most": max(means),
            "cost": float(np.mean([each.mean_cost for each in counts])),
            "first": float(np.mean([each.evaluations[:BOUNDED].mean() for each in counts])),
            "first_few": float(np.mean([each.evaluations[:BOUNDED_FEW].mean() for each in counts])),
            "deviation": float(np.mean([each.evaluations.std() / each.mean for each in counts])),
            "first_cost": float(np.mean([each.costs[:BOUNDED].mean() for each in counts])),
            "matched": float(np.mean([each.matches.mean() for each in counts])) / int(point["subscriptions"]),
        }
    ]


def line(rows: Rows, schedule: str, x: str) -> list[Row]:
    return sorted((row for row in rows if row["schedule"] == schedule), key=lambda row: row[x])


def carried_over(rows: Rows, x: str, y: str = "evaluations", few: str = "") -> list[Row]:
    """Bounds scaled to all events, and Theorem 2's as a line of its own.

    Bounds are taken over few events, and grow and shrink with them as adaptive's count does; so they are carried over
    by what adaptive has on all events for what it has on those `few`.
    """
    column = few or _bounded(rows)
    scale = {row[x]: row[y] / row[column] for row in rows if row["schedule"] == ADAPTIVE}
    found = [row for row in rows if row["schedule"] != BOUND]
    for row in rows:
        if row["schedule"] == BOUND:
            for name, value in ((BOUND, row[y]), (THEOREM_2, row["theorem_2"])):
                found.append({**row, "schedule": name, y: value * scale[row[x]]})
    return found


def draw(
    rows: Rows,
    picture: Picture,
    *,
    x: str,
    label: str,
    title: str,
    log: str = "xy",
    ticks: Collection[float] = (),
    stars: Sequence[tuple[float, float, str]] = (),
) -> None:
    axes = picture.subplots()
    curves(axes, carried_over(rows, x), x=x, y="evaluations", series="schedule", styles=STYLES)
    for at, value, text in stars:
        quoted(axes, at, value, text, left=at == max(ticks))
    axes_of(axes, x=label, y="evaluations an event", title=title, log=log, ticks=ticks)
    if "y" in log:
        axes.yaxis.set_minor_formatter(lambda value, _: f"{value:,.0f}" if f"{value:e}"[0] in "25" else "")
    else:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    legend_beside(axes, picture)


def table(rows: Rows, x: str) -> Table:
    return pivot(
        carried_over(rows, x), x=x, series="schedule", y="evaluations", names=NAMES, form="{:,.0f}".format
    )  # fmt: skip


def ratios(rows: Rows, one: str, other: str, x: str, y: str = "evaluations") -> list[tuple[float, float]]:
    """Ratios of one schedule to another, with the place of each."""
    pairs = zip(line(rows, one, x), line(rows, other, x), strict=True)
    return [(a[x], a[y] / b[y]) for a, b in pairs]


def order(rows: Rows, x: str) -> Iterator[Check]:
    """Checks of the paper's order of schedules."""
    for better, worse in ((SUB_ORDER, SEQUENTIAL), (SUB_ORDER, STOPPING), (SEQUENTIAL, NAIVE)):
        found = ratios(rows, better, worse, x)
        yield Check(
            f"{NAMES[better]} ≤ {NAMES[worse]}",
            "at every point",
            f"{spread(found)} times as many{_but(found, 1.0)}",
            all(ratio <= 1 for _, ratio in found),
        )


def adaptive(rows: Rows, x: str) -> Iterator[Check]:
    """Checks of the adaptive schedule, and its distance from what no schedule can do without."""
    below = dict(ratios(rows, BOUND, SEQUENTIAL, x, _bounded(rows)))
    for name in (SEQUENTIAL, STOPPING):
        found = ratios(rows, ADAPTIVE, name, x)
        told = f"{spread(found)} times{_but(found, BAR)}"
        if name == SEQUENTIAL and (beyond := [below[at] for at, ratio in found if ratio > BAR and below[at] > BAR]):
            told += f", where the bound itself is {max(beyond):.3f} times"
        yield Check(f"adaptive ÷ {NAMES[name]}", f"(≤ {BAR} at every point)", told, all(r <= BAR for _, r in found))
    found = ratios(rows, ADAPTIVE, SUB_ORDER, x)
    mean = float(np.mean([ratio for _, ratio in found]))
    fine = mean <= MEAN_BAR and all(ratio <= 1 for _, ratio in found)
    told = f"{spread(found)}, {mean:.3f} on the average"
    yield Check("adaptive ÷ Sub-Order", f"(≤ 1 at every point, ≤ {MEAN_BAR:.2f} on the average)", told, fine)
    found = ratios(rows, ADAPTIVE, BOUND, x, _bounded(rows))
    yield Check("adaptive ÷ what no schedule can do without", "", f"{spread(found, 2)} times")


def _bounded(rows: Rows) -> str:
    """Column with the means of the events that the bound was taken over."""
    return "first" if any(row["schedule"] == BOUND and row["events"] == BOUNDED for row in rows) else "first_few"


def growth(rows: Rows, x: str, names: Sequence[str] = (SEQUENTIAL, SUB_ORDER, ADAPTIVE)) -> Iterator[Check]:
    for name in names:
        whole, last = exponents(line(rows, name, x), x)
        yield Check(
            f"growth: {NAMES[name]}",
            f"much slower than linear (exponent ≤ {SUBLINEAR})",
            f"{whole:.2f}, {last:.2f} in the last doubling",
            whole <= SUBLINEAR,
        )


def exponents(some: Sequence[Row], x: str) -> tuple[float, float]:
    """Exponents of growth: from the first point to the last, and from half the last to the last."""
    half = min(some[:-1] or some, key=lambda row: abs(2 * row[x] - some[-1][x]))
    return _exponent(some[0], some[-1], x), _exponent(half, some[-1], x)


def _exponent(first: Row, last: Row, x: str) -> float:
    if first[x] == last[x]:
        return 0.0
    return float(np.log(last["evaluations"] / first["evaluations"]) / np.log(last[x] / first[x]))


def number(what: str, paper: float, ours: float) -> Check:
    """Check of a number that the paper gives against ours."""
    told = f"{ours:,.0f} ({ours / paper:.2f} times)"
    return Check(what, f"{paper:,.0f} (within {NEAR} times)", told, 1 / NEAR <= ours / paper <= NEAR)


def spread(found: Sequence[tuple[float, float]], digits: int = 3) -> str:
    values = [ratio for _, ratio in found]
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def falling(values: Sequence[float]) -> bool:
    return all(after <= before for before, after in pairwise(values))


def _but(found: Sequence[tuple[float, float]], bar: float) -> str:
    missed = [f"{at:,g}" for at, ratio in found if ratio > bar]
    return f"; more at {', '.join(missed)}" if missed else ""
