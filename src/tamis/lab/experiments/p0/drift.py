"""Experiment beyond P0's figures: how soon the adaptive schedule recovers from wrong, then drifting selectivities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tamis.lab.experiments.p0.counted import STYLES
from tamis.lab.measuring import GREY, Check, Figure, Point, Rows, Style, Table, Verdict, axes_of
from tamis.lab.schedules.counting import recovery
from tamis.workloads.expensive_operators import Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
The paper assumes that selectivities are "known or can be learned online through the past matching history", and leaves
it there. Ours: told selectivities that are wrong by ten times, adaptive is as good within 1,000 events as if it had
been told the true ones; and again after these have changed."""

SIZES = """\
20,000 subscriptions over 5,000 predicates, popularity uniform and Zipf with α = 1; 3,000 events on each of 3 workloads,
means of 50 events. Each declared selectivity is ten times too high or ten times too low, at random. From event 1,000 to
event 1,400 the true selectivities change places with each other, little by little. *Well-informed* is told the true
ones at every moment. What is learned is taken over every 50 events."""

WRONG, DRIFT_FROM, DRIFT_UNTIL, EVENTS, SEEDS = 10.0, 1000, 1400, 3000, 3
POPULARITY = {"uniform": None, "zipf": 1.0}
TITLES = {"uniform": "uniform popularity", "zipf": "Zipf popularity, α = 1"}
BAR, RECOVERED = 1000, 1.02
LINES = {
    "sub_order": STYLES["sub-order"]._replace(label="Sub-Order, told wrong", marker=""),
    "unlearning": Style("adaptive that does not learn, told wrong", GREY, "", "--"),
    "learning": STYLES["adaptive"]._replace(label="adaptive, told wrong", marker=""),
    "informed": Style("adaptive, well-informed", "#333333", "", ":"),
}


def grid(scale: float) -> list[Point]:
    return [
        {
            "subscriptions": max(20, round(20_000 * scale)), "predicates": max(20, round(5_000 * scale)),
            "popularity": popularity, "workloads": SEEDS,
        }
        for popularity in POPULARITY
    ]  # fmt: skip


def followed(point: Point) -> Rows:
    """Rows of every 50 events: evaluations of an event by each schedule."""
    runs = [
        recovery(
            Parameters(
                int(point["subscriptions"]), int(point["predicates"]), alpha=POPULARITY[str(point["popularity"])],
                seed=seed,
            ),
            EVENTS, DRIFT_FROM, DRIFT_UNTIL, WRONG,
        )
        for seed in range(1, int(point["workloads"]) + 1)
    ]  # fmt: skip
    return [
        {"first": rows[0].first, **{name: float(np.mean([getattr(row, name) for row in rows])) for name in LINES}}
        for rows in zip(*runs, strict=True)
    ]


def draw(rows: Rows, picture: Picture) -> None:
    for axes, popularity in zip(picture.subplots(1, 2), POPULARITY, strict=True):
        some = _of(rows, popularity)
        for name, style in LINES.items():
            at, values = [row["first"] for row in some], [row[name] for row in some]
            axes.plot(at, values, color=style.colour, linestyle=style.dashes, linewidth=1.6, label=style.label)
        axes.axvspan(DRIFT_FROM, DRIFT_UNTIL, color="#f3ead8", zorder=0)
        label = "evaluations an event" if popularity == "uniform" else ""
        axes_of(axes, x="event", y=label, title=TITLES[popularity], log="")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.annotate(
            "drift", ((DRIFT_FROM + DRIFT_UNTIL) / 2, 0.97), xycoords=("data", "axes fraction"), ha="center", va="top",
            fontsize="small", color="#9a8250",
        )  # fmt: skip
    picture.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)


def table(rows: Rows) -> Table:
    shown = (0, 50, 100, 200, 500, 950, 1200, 1400, 1600, 2000, 2950)
    lines = [
        [TITLES[popularity], f"{row['first']:,}", *(f"{row[name]:,.0f}" for name in LINES)]
        for popularity in POPULARITY
        for row in _of(rows, popularity)
        if row["first"] in shown
    ]
    return Table(["workload", "events from", *(style.label for style in LINES.values())], lines)


def verdict(rows: Rows) -> Verdict:
    checks = []
    for popularity in POPULARITY:
        some = _of(rows, popularity)
        for what, begin, end in (("wrong by 10×", 0, DRIFT_FROM), ("after the drift", DRIFT_UNTIL, EVENTS)):
            period = [row for row in some if begin <= row["first"] < end] or some
            took = until_recovered(period)
            before, last = (row["learning"] / row["informed"] for row in (period[0], period[-1]))
            told = f"{'never' if took is None else f'{took:,}'} ({before:.3f} → {last:.3f} times the well-informed)"
            paper = f"(within {RECOVERED - 1:.0%} of the well-informed in {BAR:,} events)"
            fine = took is not None and took <= BAR
            checks.append(Check(f"{TITLES[popularity]}: events to recover, {what}", paper, told, fine))
        ratio = max(row["learning"] / row["informed"] for row in some if row["first"] >= DRIFT_FROM or len(some) == 1)
        checks.append(Check(f"{TITLES[popularity]}: the worst 50 events from the drift on", "", f"{ratio:.3f} times"))
        stale = some[-1]["unlearning"] / some[-1]["informed"]
        checks.append(Check(f"{TITLES[popularity]}: without learning, at the end", "", f"{stale:.3f} times"))
    return Verdict(checks, _WHY)


def until_recovered(period: Rows) -> int | None:
    """Number of events from the first of these rows until learning stays near the informed schedule, by means of
    what follows."""
    for at, row in enumerate(period):
        rest = period[at:]
        near = sum(each["learning"] for each in rest) <= RECOVERED * sum(each["informed"] for each in rest)
        if near and row["learning"] <= RECOVERED * row["informed"]:
            return int(row["first"] - period[0]["first"])
    return None


_WHY = """\
What is wrong with the predicates that were evaluated corrects those that were not, for it is learned by what line the
declared selectivities are off and how far they are to be trusted at all; and counts fade with the events, half in 200,
so that what was true before the drift is forgotten."""
_WHY = " ".join(_WHY.split())


def _of(rows: Rows, popularity: str) -> Rows:
    return sorted((row for row in rows if row["popularity"] == popularity), key=lambda row: row["first"])


FIGURE = Figure(
    "p0/drift", "selectivities declared wrong, then drifting", CLAIM, SIZES,
    version=1, alone=False, grid=grid, run=followed, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
