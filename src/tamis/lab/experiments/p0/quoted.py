"""Experiment on the numbers that P0 quotes: which reading of its generator and of its counts comes closest to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tamis.lab.experiments.p0.counted import NEAR, WORKLOADS
from tamis.lab.measuring import PAPER, Check, Figure, Point, Rows, Table, Verdict, plain
from tamis.lab.schedules.counting import evaluations, printed
from tamis.workloads.expensive_operators import Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
What the paper quotes: at 80,000 subscriptions (figure 4) Sequential 7761 and Sub-Order 7037, naive some five times as
many; at 30,000 predicates (figure 6) naive 16251, Sequential 3267, Sub-Order 1977; with subscriptions of up to 5 and up
to 11 predicates (figure 7) Sequential 1593 and 1784, naive close to 5000."""

SIZES = f"""\
The four points that the paper quotes numbers of, 20 events on each of {WORKLOADS} workloads. Selectivities in four
readings: each predicate its own, uniform from 0 up; its own, from the whole of [0, 1]; all the same; *typical*, all the
same and such that a subscription of mean length matches 0.2% of the events. And the counts in two: the evaluations
there are; or what the paper may have counted instead. For Sequential that is the set E that Algorithm 1 returns: as
printed, its line 15 puts every predicate of a subscription that is taken up into E, evaluated or not. For naive it is
every predicate that is in a subscription at all."""

EVENTS = 20
READINGS = {"own": "own", "whole": "own, of [0, 1]", "equal": "the same", "typical": "the same, typical"}
COUNTS = {
    "naive": "naive", "in_use": "naive: in use", "sequential": "Sequential", "returned": "Sequential: E",
    "taken_up": "subscriptions taken up", "sub-order": "Sub-Order",
}  # fmt: skip


class Place(NamedTuple):
    """Point of a figure, and the paper's numbers at it: for each schedule, the count of ours to compare with."""

    label: str
    parameters: Parameters
    naive: float
    sequential: float
    sub_order: float | None


PLACES = {
    "figure-4": Place("figure 4, 80K subscriptions", Parameters(80_000, 40_000), 37_000, 7761, 7037),
    "figure-6": Place("figure 6, 30K predicates", Parameters(20_000, 30_000, alpha=1.0), 16_251, 3267, 1977),
    "figure-7-5": Place("figure 7, d = 5", Parameters(20_000, 5_000, alpha=1.0), 5_000, 1593, None),
    "figure-7-11": Place("figure 7, d = 11", Parameters(20_000, 5_000, alpha=1.0, longest=11), 5_000, 1784, None),
}


def grid(scale: float) -> list[Point]:
    return [
        {
            "place": place, "selectivities": reading, "events": EVENTS, "workloads": WORKLOADS,
            "subscriptions": max(20, round(about.parameters.subscriptions * scale)),
            "predicates": max(20, round(about.parameters.predicates * scale)),
        }
        for place, about in PLACES.items()
        for reading in READINGS
    ]  # fmt: skip


def counted(point: Point) -> Rows:
    """All counts at one point in one reading."""
    base = replace(
        PLACES[str(point["place"])].parameters,
        subscriptions=int(point["subscriptions"]),
        predicates=int(point["predicates"]),
        selectivities=str(point["selectivities"]),  # type: ignore[arg-type]
    )
    events, found = int(point["events"]), []
    for seed in range(1, int(point["workloads"]) + 1):
        here = replace(base, seed=seed)
        counts = {name: evaluations(name, here, events) for name in ("naive", "sequential", "sub-order")}
        other = printed(here, events)
        row = {name: each.mean for name, each in counts.items()}
        row |= {"in_use": other.in_use, "returned": other.returned, "taken_up": other.taken_up}
        found.append({**row, "matched": float(counts["naive"].matches.mean()) / base.subscriptions})
    return [{name: float(np.mean([each[name] for each in found])) for name in found[0]}]


def draw(rows: Rows, picture: Picture) -> None:
    """Draws the ratio of ours to each of the paper's numbers, in each reading; 1 is the paper's."""
    axes = picture.subplots()
    marks = {"own": "o", "whole": "v", "equal": "D", "typical": "s"}
    colours = {False: "#c9a36b", True: "#1f5f8b"}
    labels = []
    for at, (place, what, paper, ours, instead) in enumerate(_numbers()):
        labels.append(f"{PLACES[place].label}: {what}, {paper:,.0f}")
        for row in rows:
            if row["place"] != place:
                continue
            for count, other in ((ours, False), (instead, True)):
                if count:
                    height = at + (0.16 if other else -0.16 if instead else 0.0)
                    axes.plot(
                        [row[count] / paper], [height], marker=marks[row["selectivities"]], color=colours[other],
                        linestyle="none", markersize=6, alpha=0.85,
                    )  # fmt: skip
    axes.axvline(1, color=PAPER, linewidth=1.2)
    axes.set_xscale("log")
    axes.set_xticks([0.4, 0.5, 0.7, 1, 1.4, 2, 3])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.minorticks_off()
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_xlabel("ours ÷ the paper's")
    plain(axes, "x")
    axes.spines["left"].set_visible(False)
    for reading, mark in marks.items():
        axes.plot([], [], marker=mark, color="#555555", linestyle="none", label=f"selectivities: {READINGS[reading]}")
    axes.plot([], [], marker="o", color=colours[False], linestyle="none", label="evaluations")
    axes.plot([], [], marker="o", color=colours[True], linestyle="none", label="in use (naive), E (Sequential)")
    picture.legend(loc="outside lower center", ncols=3, frameon=False, fontsize="small")


def table(rows: Rows) -> Table:
    lines = [
        [
            PLACES[row["place"]].label, READINGS[row["selectivities"]], f"{row['matched']:.2%}",
            *(f"{row[name]:,.0f}" for name in COUNTS),
        ]
        for row in rows
    ]  # fmt: skip
    return Table(["point", "selectivities", "matched", *COUNTS.values()], lines)


def verdict(rows: Rows) -> Verdict:
    checks = []
    for place, _, paper, ours, instead in _numbers():
        some = [row for row in rows if row["place"] == place]
        for count in (ours, instead):
            if not count:
                continue
            best = some[int(np.argmin([abs(np.log(row[count] / paper)) for row in some]))]
            ratio = best[count] / paper
            told = f"{best[count]:,.0f} ({ratio:.2f} times), selectivities {READINGS[best['selectivities']]}"
            near = 1 / NEAR <= ratio <= NEAR
            checks.append(
                Check(f"{PLACES[place].label}: {COUNTS[count]}", f"{paper:,.0f} (within {NEAR} times)", told, near)
            )
    return Verdict(checks, _why(rows))


def _numbers() -> list[tuple[str, str, float, str, str]]:
    """Numbers of the paper: the point, the schedule, the number, and the counts of ours that it may be."""
    found = []
    for place, about in PLACES.items():
        found.append((place, "naive", about.naive, "naive", "in_use"))
        found.append((place, "Sequential", about.sequential, "sequential", "returned"))
        if about.sub_order is not None:
            found.append((place, "Sub-Order", about.sub_order, "sub-order", ""))
    return found


def _why(rows: Rows) -> str:
    at = {(row["place"], row["selectivities"]): row for row in rows}
    six, four = at["figure-6", "equal"], at["figure-4", "equal"]
    five, eleven = at["figure-7-5", "typical"], at["figure-7-11", "typical"]
    return (
        "Counted as evaluations, no reading gives the paper's numbers. Counted as E and as predicates in use, figures "
        f"6 and 7 come close, with the same selectivity for all: {six['returned']:,.0f} and {six['sub-order']:,.0f} "
        f"for 3267 and 1977, and {six['in_use']:,.0f} for 16251; {five['returned']:,.0f} and "
        f"{eleven['returned']:,.0f} for 1593 and 1784, which rise only in the typical reading; {five['in_use']:,.0f} "
        f"and {eleven['in_use']:,.0f} predicates in use, which is close to 5000. Then naive's {four['in_use']:,.0f} at "
        "figure 4's last point is also what the paper says: Sequential's 7761 is 79% less. But the 7761 and 7037 "
        "themselves are not found. E has three times as many there. As many as 7761 are, within a percent, the "
        f"{four['taken_up']:,.0f} subscriptions that Algorithm 1 takes up; that this was counted in one figure and E "
        "in the others is a guess, and it leaves Sub-Order's 7037 unexplained. These readings are what is left of a "
        "wider search, so some closeness is by choice: events made of the predicates of 0.2% of the subscriptions, "
        "events in which nothing holds, popularity even or with α = 0.5, and popular predicates first were tried on a "
        "few events each, and none of them gives Sequential's numbers in more than one figure."
    )


FIGURE = Figure(
    "p0/quoted", "the numbers that the paper quotes", CLAIM, SIZES,
    version=1, alone=False, grid=grid, run=counted, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
