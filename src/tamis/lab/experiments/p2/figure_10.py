"""Figure 10 of P2 (Le Subscribe): processing time against the share of equalities."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tamis.lab.experiments.p2.algorithms import (
    CLEARING,
    NAMES,
    NOISE,
    OURS,
    PREFERRED,
    QUARANTINE,
    SAME,
    STYLES,
    WORKLOAD,
    curve,
    measured,
)
from tamis.lab.measuring import Check, Figure, Point, Rows, Table, Verdict, axes_of, budget, curves, pivot, scaled
from tamis.lab.timing import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
The fewer nonequality predicates there are, the faster all three algorithms, for an event satisfies more of those than
of equalities. Where there are none, equality-preferred and nonequality quarantining are equivalent, and take the same
time."""

SIZES = f"{WORKLOAD}; p from 0 to 1. 800,000 subscriptions, as in the paper."

SUBSCRIPTIONS = 800_000
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
BUDGET = 5.0  # seconds a point
_SHOWN = (*OURS, "columnar")


def grid(scale: float) -> list[Point]:
    (size,) = scaled([SUBSCRIPTIONS], scale, least=10)
    return [
        {"subscriptions": size, "matcher": matcher, "p": p, "budget": budget(BUDGET, scale)}
        for p in SHARES
        for matcher in _SHOWN
    ]


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    curves(axes, rows, x="p", y="us_per_event", series="matcher", styles={name: STYLES[name] for name in _SHOWN})
    title = f"Processing time, {rows[0]['subscriptions']:,} subscriptions"
    axes_of(axes, x="p, the share of equalities on numbers", y="µs of the processor for an event", title=title, log="y")
    axes.legend(frameon=False, fontsize="small")


def table(rows: Rows) -> Table:
    names = {name: f"{NAMES[name]}, µs" for name in _SHOWN}
    return pivot(rows, x="p", series="matcher", y="us_per_event", names=names, form=figures)


def verdict(rows: Rows) -> Verdict:
    checks = []
    for name in OURS:
        times = [row["us_per_event"] for row in curve(rows, name, "p")]
        falls = all(after <= before * NOISE for before, after in pairwise(times))
        worst = max(after / before for before, after in pairwise(times))
        ours = f"{figures(times[0])} → {figures(times[-1])} µs; the worst step {worst:.2f}×"
        checks.append(
            Check(
                f"{NAMES[name]}: faster with fewer inequalities", f"yes (each step, within {NOISE} times)", ours, falls
            )
        )
    preferred, quarantine = (curve(rows, name, "p")[-1]["us_per_event"] for name in (PREFERRED, QUARANTINE))
    ratio = preferred / quarantine
    told = f"{preferred:,.4g} and {quarantine:,.4g} µs ({ratio:.2f}×)"
    alike = 1 / SAME <= ratio <= SAME
    paper = f"the same (within {SAME} times)"
    checks.append(Check("p = 1: equality-preferred and quarantining", paper, told, alike))
    return Verdict(checks, _why(rows) + ("" if alike else CLEARING))


def _why(rows: Rows) -> str:
    fair, preferred, fast = (curve(rows, name, "p") for name in OURS)
    return (
        f"From p = 0 to p = 1 the matches of an event fall from {fast[0]['matches'] / fast[0]['events']:,.0f} to "
        f"{fast[-1]['matches'] / fast[-1]['events']:,.0f}, what fair-predicate counts for from "
        f"{fair[0]['candidates_touched']:,.0f} to {fair[-1]['candidates_touched']:,.0f} subscriptions, "
        f"equality-preferred from {preferred[0]['candidates_touched']:,.0f} to "
        f"{preferred[-1]['candidates_touched']:,.0f}, and what quarantining looks at from "
        f"{fast[0]['candidates_touched']:,.0f} to {fast[-1]['candidates_touched']:,.0f}."
    )


FIGURE = Figure(
    "p2/figure-10", "time against the share of equalities", CLAIM, SIZES,
    version=1, alone=True, grid=grid, run=measured, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
