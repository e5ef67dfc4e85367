"""Figure 8 of P0 (Liu et al.): evaluations against the popularity of predicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.lab.experiments.p0 import counted
from tamis.lab.experiments.p0.counted import BAR, BOUND, SEQUENTIAL, SET_UP, SHARED, SUB_ORDER, THOUSAND, VERSION
from tamis.lab.measuring import Check, Figure, Point, Row, Rows, Table, Verdict
from tamis.workloads import expensive_operators

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
Sequential and Sub-Order perform much better where popularity is Zipf's than where it is uniform, and continue to
improve with α, for a few extremely popular predicates are evaluated early and, if false, eliminate many
subscriptions."""

SIZES = f"""\
20,000 subscriptions over 5,000 predicates; popularity uniform, and Zipf with α = 0.8, 1 and 1.2, the paper's.
{THOUSAND}. {SET_UP}"""


def grid(scale: float) -> list[Point]:
    return counted.points(expensive_operators.figure(8), scale)


def draw(rows: Rows, picture: Picture) -> None:
    places = sorted({row["alpha"] for row in rows})
    placed: list[Row] = [{**row, "place": places.index(row["alpha"])} for row in rows]
    title = f"{rows[0]['subscriptions']:,} subscriptions over {rows[0]['predicates']:,} predicates"
    counted.draw(placed, picture, x="place", label="popularity", title=title, log="", ticks=range(len(places)))
    (axes,) = picture.axes
    axes.set_xticklabels(["uniform" if alpha == 0 else f"Zipf, α = {alpha:g}" for alpha in places])


def table(rows: Rows) -> Table:
    found = counted.table(rows, "alpha")
    lines = [["uniform" if line[0] == "0.0" else line[0], *line[1:]] for line in found.lines]
    return Table(["popularity (α)", *found.header[1:]], lines)


def verdict(rows: Rows) -> Verdict:
    checks = list(counted.order(rows, "alpha"))
    for name in (SEQUENTIAL, SUB_ORDER):
        values = [row["evaluations"] for row in counted.line(rows, name, "alpha")]
        told = " → ".join(f"{value:,.0f}" for value in values)
        checks.append(
            Check(f"{counted.NAMES[name]} improves from uniform on with α", "yes", told, counted.falling(values))
        )
    checks += counted.adaptive(rows, "alpha")
    return Verdict(checks, _why(rows))


def _why(rows: Rows) -> str:
    below = counted.ratios(rows, BOUND, SEQUENTIAL, "alpha", "first")
    alpha, share = below[-1]
    return (
        "The more uneven the popularity, the less is left to choose: few predicates decide nearly everything, and any "
        f"order that takes up popular ones soon is near the best. With α = {alpha:g} the bound, below which no "
        "schedule is that does not know the truths beforehand, is "
        f"{share:.3f} times Sequential's count on the same events"
        + (", so that a fifth fewer than Sequential is not to be had there by anyone." if share > BAR else ".")
    )


FIGURE = Figure(
    "p0/figure-8", "evaluations against popularity", CLAIM, SIZES,
    version=VERSION, alone=False, grid=grid, run=counted.counted, draw=draw, table=table, verdict=verdict,
    shared=SHARED,
)  # fmt: skip
