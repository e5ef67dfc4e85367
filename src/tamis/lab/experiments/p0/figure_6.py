"""Figure 6 of P0 (Liu et al.): evaluations against the number of predicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.lab.experiments.p0 import counted
from tamis.lab.experiments.p0.counted import NAIVE, SEQUENTIAL, SET_UP, SHARED, SUB_ORDER, THOUSAND, VERSION
from tamis.lab.measuring import Check, Figure, Point, Rows, Table, Verdict
from tamis.workloads import expensive_operators

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
With more predicates the cost of Sequential and Sub-Order increases much slower than naive's. With 30,000 predicates
naive evaluates 16251, Sequential 3267 and Sub-Order 1977."""

SIZES = f"20,000 subscriptions over 2,000 to 30,000 predicates, Zipf with α = 1, the paper's. {THOUSAND}. {SET_UP}"

QUOTED = {NAIVE: 16_251, SEQUENTIAL: 3267, SUB_ORDER: 1977}
USED = 14_400  # of the 30,000 predicates are in some subscription


def grid(scale: float) -> list[Point]:
    return counted.points(expensive_operators.figure(6), scale)


def draw(rows: Rows, picture: Picture) -> None:
    counts = {row["predicates"] for row in rows}
    told = {NAIVE: "paper: naive 16,251", SEQUENTIAL: "paper: Sequential 3,267, and below it Sub-Order 1,977"}
    stars = [(max(counts), value, told.get(name, "")) for name, value in QUOTED.items()]
    title = f"{rows[0]['subscriptions']:,} subscriptions, Zipf popularity, α = 1"
    counted.draw(rows, picture, x="predicates", label="predicates", title=title, ticks=counts, stars=stars)


def table(rows: Rows) -> Table:
    return counted.table(rows, "predicates")


def verdict(rows: Rows) -> Verdict:
    checks = list(counted.order(rows, "predicates"))
    growths = {
        name: counted.line(rows, name, "predicates")[-1]["evaluations"]
        - counted.line(rows, name, "predicates")[0]["evaluations"]
        for name in counted.SCHEDULES
    }
    for name in (SEQUENTIAL, SUB_ORDER):
        told = f"{growths[name]:,.0f} more from the first point to the last; naive: {growths[NAIVE]:,.0f}"
        slower = growths[name] <= growths[NAIVE] / 2
        checks.append(
            Check(f"{counted.NAMES[name]} increases much slower than naive", "yes (half at most)", told, slower)
        )
    checks += [
        counted.number(
            f"{counted.NAMES[name]} at the last point", value, counted.line(rows, name, "predicates")[-1]["evaluations"]
        )
        for name, value in QUOTED.items()
    ]
    checks += counted.adaptive(rows, "predicates")
    why = (
        "The shape is the paper's. Its numbers cannot come from this generator: with α = 1 only some "
        f"{USED:,} of the 30,000 predicates are in any of 20,000 subscriptions, and so naive cannot evaluate 16,251. "
        "Of Zipf popularity with more even weights, or of uniform popularity, it could: see p0/quoted."
    )
    return Verdict(checks, why)


FIGURE = Figure(
    "p0/figure-6", "evaluations against predicates", CLAIM, SIZES,
    version=VERSION, alone=False, grid=grid, run=counted.counted, draw=draw, table=table, verdict=verdict,
    shared=SHARED,
)  # fmt: skip
