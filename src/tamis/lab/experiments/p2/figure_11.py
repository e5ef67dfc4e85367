"""Figure 11 of P2 (Le Subscribe): equality predicates only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tamis.lab.experiments.p2.algorithms import (
    CLEARING,
    NAMES,
    PREFERRED,
    QUARANTINE,
    SAME,
    STYLES,
    WORKLOAD,
    curve,
    measured,
)
from tamis.lab.measuring import GREY, Check, Figure, Point, Rows, Table, Verdict, axes_of, budget, curves, pivot, scaled
from tamis.lab.timing import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
With nothing but equalities, equality-preferred (or quarantining, which is then the same) has a threshold that it
reaches with very few subscriptions, as soon as there is a cluster for each combination of attributes. From there on
the time increases slightly with the number of subscriptions, "showing a logarithmic aspect"."""

SIZES = f"""\
{WORKLOAD}; p = 1. The figure's axis is lost from the text we have: we go from 10 to 3,200,000 subscriptions."""

FULL = (10, 32, 100, 320, 1_000, 3_200, 10_000, 32_000, 100_000, 320_000, 1_000_000, 3_200_000)
THRESHOLD = 1_000  # subscriptions, with which all 63 combinations of attributes are there
BUDGET = 3.0  # seconds a point
SLIGHTLY = 0.35  # a power of the number of subscriptions: less than tenfold from a thousand to a million
_SHOWN = (PREFERRED, QUARANTINE, "columnar")


def grid(scale: float) -> list[Point]:
    return [
        {"subscriptions": size, "matcher": matcher, "p": 1.0, "budget": budget(BUDGET, scale)}
        for size in scaled(FULL, scale, least=10)
        for matcher in _SHOWN
    ]


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    curves(axes, rows, x="subscriptions", y="us_per_event", series="matcher", styles={n: STYLES[n] for n in _SHOWN})
    counted = [
        (row["subscriptions"], row["matches"] / row["events"]) for row in curve(rows, QUARANTINE) if row["matches"]
    ]
    beside = axes.twinx()
    beside.plot(*zip(*counted, strict=True), color=GREY, linestyle=":", linewidth=1.2, label="matches an event (right)")
    beside.set_ylabel("matches an event", color=GREY)
    beside.spines["top"].set_visible(False)
    beside.set_yscale("log")
    beside.yaxis.set_major_formatter(lambda value, _: f"{value:,.15g}")
    axes_of(axes, x="subscriptions", y="µs of the processor for an event", title="Processing time, equalities only")
    lines = [*axes.get_lines(), *beside.get_lines()]
    axes.legend(lines, [str(line.get_label()) for line in lines], frameon=False, fontsize="small", loc="upper left")


def table(rows: Rows) -> Table:
    names = {name: f"{NAMES[name]}, µs" for name in _SHOWN}
    return pivot(rows, x="subscriptions", series="matcher", y="us_per_event", names=names, form=figures)


def verdict(rows: Rows) -> Verdict:
    checks = []
    for name in (PREFERRED, QUARANTINE):
        line = curve(rows, name)
        first, most = line[0]["us_per_event"], line[-1]["us_per_event"]
        later = [row for row in line if row["subscriptions"] >= min(THRESHOLD, line[len(line) // 2]["subscriptions"])]
        reached = later[0]["us_per_event"]
        growth = float(np.log(most / reached) / np.log(later[-1]["subscriptions"] / later[0]["subscriptions"]))
        size = later[0]["subscriptions"]
        told = f"{first:.2f} µs with {line[0]['subscriptions']:,}, {reached:.2f} µs with {size:,}"
        checks.append(Check(f"{NAMES[name]}: before all combinations are there", "a threshold", told))
        told = f"{reached:.2f} → {most:.2f} µs from {size:,} to {later[-1]['subscriptions']:,}: exponent {growth:.2f}"
        paper = f"logarithmic aspect (exponent ≤ {SLIGHTLY})"
        checks.append(Check(f"{NAMES[name]}: slight growth from there", paper, told, growth <= SLIGHTLY))
    ratios = [
        a["us_per_event"] / b["us_per_event"]
        for a, b in zip(curve(rows, PREFERRED), curve(rows, QUARANTINE), strict=True)
    ]
    told = f"{min(ratios):.2f} to {max(ratios):.2f}, {np.median(ratios):.2f} in the middle"
    alike = all(1 / SAME <= ratio <= SAME for ratio in ratios)
    paper = f"the same (within {SAME} times, at every size)"
    checks.append(Check("equality-preferred ÷ quarantining", paper, told, alike))
    return Verdict(checks, _why(rows) + ("" if alike else CLEARING))


def _why(rows: Rows) -> str:
    last = curve(rows, QUARANTINE)[-1]
    return (
        "An event looks for a member in the cluster of each combination of its attributes, a lookup in a hash table "
        "each; by the paper that is the threshold, for which it gives no number, so that we hold ours to none. What "
        f"grows with the subscriptions is what it finds: {last['matches'] / last['events']:,.0f} matches an event at "
        f"{last['subscriptions']:,}. Whether the rest of the growth is of the processor's caches we have not measured."
    )


FIGURE = Figure(
    "p2/figure-11", "equalities only", CLAIM, SIZES,
    version=1, alone=True, grid=grid, run=measured, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
