"""Experiment: matching time of P1's tree beside a scan of all subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.lab.comparison import measure
from tamis.lab.experiments.p1.trees import EVENTS, FACTORED, PLAIN, SET_UP, SIZES, WAYS, exponent_of, options, workload
from tamis.lab.measuring import (
    Check,
    Figure,
    Point,
    Row,
    Rows,
    Style,
    Table,
    Verdict,
    axes_of,
    budget,
    curves,
    pivot,
    scaled,
)
from tamis.lab.timing import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
The time to match grows less than linearly with the number of subscriptions; testing them one by one grows linearly. A
prototype matched an event against thousands of subscriptions within milliseconds (which numbers, the text we have has
lost)."""

SCAN = "scan"
BUDGET = 5.0  # seconds a point
_STYLES = {
    SCAN: Style("every subscription tested, compiled", "#8a8a8a", "x"),
    PLAIN: WAYS[PLAIN],
    FACTORED: Style("all optimisations", WAYS[FACTORED].colour, "D"),
}
_PROTOTYPE = 32_000  # tens of thousands
_PROTOTYPE_SECONDS = 1e-2  # milliseconds


def grid(scale: float) -> list[Point]:
    sizes, seconds = scaled(SIZES, scale, least=10), budget(BUDGET, scale)
    return [{"subscriptions": size, "way": way, "budget": seconds} for size in sizes for way in _STYLES]


def run(point: Point) -> Rows:
    way, size = str(point["way"]), int(point["subscriptions"])
    matcher, switched = ("scan", None) if way == SCAN else ("tree", options("held", way))
    chosen = workload("held", size, EVENTS)
    return [measure(matcher, chosen, budget_seconds=float(point["budget"]), options=switched).to_row()]


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    curves(axes, _in_microseconds(rows), x="subscriptions", y="us_per_event", series="way", styles=_STYLES)
    axes_of(axes, x="subscriptions", y="µs of the processor for an event", title="Time to match, 10 matches an event")
    axes.legend(frameon=False, fontsize="small")


def table(rows: Rows) -> Table:
    names = {way: f"{style.label}, µs" for way, style in _STYLES.items()}
    return pivot(_in_microseconds(rows), x="subscriptions", series="way", y="us_per_event", names=names, form=figures)


def verdict(rows: Rows) -> Verdict:
    checks = []
    for way, paper, low, high in ((SCAN, "linear", 0.9, 1.1), (PLAIN, "less", 0, 0.9), (FACTORED, "less", 0, 0.9)):
        some = sorted((r for r in rows if r["way"] == way), key=lambda row: row["subscriptions"])
        some = some[len(some) // 2 :]  # where what every event costs is no longer most of it
        slope = exponent_of(some, "seconds_per_event")
        what = f"growth from {some[0]['subscriptions']:,} on: {_STYLES[way].label}"
        checks.append(Check(what, paper, f"exponent {slope:.2f}", low <= slope <= high))
    near = min((r for r in rows if r["way"] == FACTORED), key=lambda r: abs(r["subscriptions"] - _PROTOTYPE))
    taken = near["seconds_per_event"]
    what = f"an event against {near['subscriptions']:,} subscriptions"
    checks.append(Check(what, "milliseconds", f"{taken * 1e6:,.1f} µs", taken <= _PROTOTYPE_SECONDS))
    return Verdict(checks, _why(rows))


def _why(rows: Rows) -> str:
    lines = {way: sorted((r for r in rows if r["way"] == way), key=lambda r: r["subscriptions"]) for way in _STYLES}
    last = {way: line[-1] for way, line in lines.items()}
    taken = {way: row["seconds_per_event"] for way, row in last.items()}
    per_test = [r["seconds_per_event"] / r["predicates_evaluated"] * 1e9 for r in lines[SCAN][-2:]]
    upper = {way: line[len(line) // 2 :] for way, line in lines.items()}
    return (
        f"At {last[SCAN]['subscriptions']:,} subscriptions the tree with all optimisations takes "
        f"{taken[SCAN] / taken[FACTORED]:,.0f} times less than a compiled scan, and "
        f"{taken[PLAIN] / taken[FACTORED]:,.1f} times less than the plain tree. The scan's tests grow with exponent "
        f"{exponent_of(upper[SCAN], 'predicates_evaluated'):.2f}; a test takes {per_test[0]:.1f} ns at the last size "
        f"but one and {per_test[1]:.1f} ns at the last, which was measured in {last[SCAN]['rounds']} rounds of "
        f"{last[SCAN]['events']} events. The trees' time grows faster than the nodes they visit (exponents "
        f"{exponent_of(upper[PLAIN], 'nodes_visited'):.2f} and {exponent_of(upper[FACTORED], 'nodes_visited'):.2f} on "
        "the same sizes): a node costs more in a larger tree. The processor's caches may be why, in both; that was not "
        "measured."
    )


def _in_microseconds(rows: Rows) -> list[Row]:
    return [{**row, "us_per_event": row["seconds_per_event"] * 1e6} for row in rows]


FIGURE = Figure(
    "p1/time", "time to match an event", CLAIM, SET_UP,
    version=1, alone=True, grid=grid, run=run, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
