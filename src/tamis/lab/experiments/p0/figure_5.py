"""Figure 5 of P0 (Liu et al.): evaluations against the number of subscriptions, Zipf popularity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.lab.experiments.p0 import counted
from tamis.lab.experiments.p0.counted import ADAPTIVE, BOUND, NAIVE, SET_UP, SHARED, SUB_ORDER, THOUSAND, VERSION
from tamis.lab.measuring import Check, Figure, Point, Rows, Table, Verdict
from tamis.workloads import expensive_operators

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
As figure 4, but predicates have Zipf popularity with exponent 1: "exactly the same trend", and Sequential and Sub-Order
perform even better."""

SIZES = f"2,000 to 80,000 subscriptions over 40,000 predicates, α = 1, the paper's. {THOUSAND}. {SET_UP}"


def grid(scale: float) -> list[Point]:
    return counted.points(expensive_operators.figure(5), scale)


def draw(rows: Rows, picture: Picture) -> None:
    sizes = {row["subscriptions"] for row in rows}
    title = "Predicates of Zipf popularity, α = 1"
    counted.draw(rows, picture, x="subscriptions", label="subscriptions", title=title, ticks=sizes)


def table(rows: Rows) -> Table:
    return counted.table(rows, "subscriptions")


def verdict(rows: Rows) -> Verdict:
    checks = [*counted.order(rows, "subscriptions"), *counted.growth(rows, "subscriptions")]
    found = counted.ratios(rows, SUB_ORDER, NAIVE, "subscriptions")
    saved = 1 - found[-1][1]
    what = f"Sub-Order: fewer than naive at {found[-1][0]:,}"
    checks.append(Check(what, "(more than in figure 4: over 50%)", f"{saved:.0%}", saved > 0.5))
    checks += counted.adaptive(rows, "subscriptions")
    return Verdict(checks, _why(rows))


def _why(rows: Rows) -> str:
    last = counted.line(rows, ADAPTIVE, "subscriptions")[-1]
    _, over = counted.ratios(rows, ADAPTIVE, BOUND, "subscriptions", "first")[-1]
    return (
        "A few popular predicates fail in most events and take most subscriptions with them, which is what elimination "
        "lives on; naive, which does not pass failures on, gains only by what it remembers. There is little left to "
        f"gain: at {last['subscriptions']:,} subscriptions adaptive evaluates {last['evaluations']:,.0f} predicates, "
        f"{over:.2f} times what no schedule can do without."
    )


FIGURE = Figure(
    "p0/figure-5", "evaluations against subscriptions, Zipf popularity", CLAIM, SIZES,
    version=VERSION, alone=False, grid=grid, run=counted.counted, draw=draw, table=table, verdict=verdict,
    shared=SHARED,
)  # fmt: skip
