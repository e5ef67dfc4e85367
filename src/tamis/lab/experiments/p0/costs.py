"""Experiment beyond P0's figures (§4.3): schedules on operators whose costs differ a hundredfold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.lab.experiments.p0 import counted
from tamis.lab.experiments.p0.counted import ADAPTIVE, BOUND, NAIVE, SEQUENTIAL, SHARED, STOPPING, SUB_ORDER, VERSION
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
    curves,
    legend_beside,
    pivot,
)
from tamis.workloads import expensive_operators

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
Where operators differ in cost, "the Sequential algorithm can remain the same"; Sub-Order takes costs into its chains
and comparisons (§4.3). The paper measures none of it. Ours: whoever knows the costs gains by them, adaptive most."""

SIZES = f"""\
Figure 8's workloads, 20,000 subscriptions over 5,000 predicates, but for costs: from 1 to 100 units, log-uniform, known
to the schedules. {counted.EVENTS} events on each of {counted.WORKLOADS} workloads. Where costs are equal, the numbers
are figure 8's. Sub-Order's chains run by rising cost / (1 − selectivity), and the cost of what lies above a link counts
each predicate with its own; adaptive divides what a predicate decides by what it costs."""

MEAN_COST = 21.5  # of one evaluation, over predicates taken at random: 99 / ln 100


def grid(scale: float) -> list[Point]:
    equal = counted.points(expensive_operators.figure(8), scale)
    return [*counted.points(expensive_operators.figure(8, costs="spread"), scale), *equal]


def draw(rows: Rows, picture: Picture) -> None:
    places = sorted({row["alpha"] for row in rows})
    placed: list[Row] = [{**row, "place": places.index(row["alpha"])} for row in _carried(rows)]
    axes = picture.subplots()
    curves(axes, placed, x="place", y="cost", series="schedule", styles=_styles())
    title = "What an event costs, where operators cost 1 to 100"
    axes_of(axes, x="popularity", y="cost of an event", title=title, log="y", ticks=range(len(places)))
    axes.set_xticklabels(["uniform" if alpha == 0 else f"Zipf, α = {alpha:g}" for alpha in places])
    legend_beside(axes, picture)


def _styles() -> dict[str, Style]:
    return {name: style for name, style in counted.STYLES.items() if name != counted.THEOREM_2}


def table(rows: Rows) -> Table:
    names = {name: counted.NAMES[name] for name in (*counted.SCHEDULES, BOUND)}
    found = pivot(_carried(rows), x="alpha", series="schedule", y="cost", names=names, form="{:,.0f}".format)
    lines = [["uniform" if line[0] == "0.0" else line[0], *line[1:]] for line in found.lines]
    return Table(["popularity (α)", *found.header[1:]], lines)


def verdict(rows: Rows) -> Verdict:
    spread = _spread(rows)
    checks = []
    for better, worse in ((SUB_ORDER, SEQUENTIAL), (SUB_ORDER, STOPPING), (SEQUENTIAL, NAIVE)):
        found = counted.ratios(spread, better, worse, "alpha", "cost")
        told = f"{counted.spread(found)} times the cost"
        checks.append(
            Check(f"{counted.NAMES[better]} ≤ {counted.NAMES[worse]}", "", told, all(ratio <= 1 for _, ratio in found))
        )
    for name, bar in ((SEQUENTIAL, counted.BAR), (SUB_ORDER, 1.0)):
        found = counted.ratios(spread, ADAPTIVE, name, "alpha", "cost")
        told = f"{counted.spread(found)} times the cost"
        fine = all(ratio <= bar for _, ratio in found)
        checks.append(Check(f"adaptive ÷ {counted.NAMES[name]}", f"(≤ {bar:g} at every point)", told, fine))
    for name in counted.SCHEDULES:
        each = [row["cost"] / row["evaluations"] for row in counted.line(spread, name, "alpha")]
        told = f"{min(each):.1f} to {max(each):.1f} units"
        checks.append(
            Check(f"{counted.NAMES[name]}: cost of an evaluation", f"({MEAN_COST} if costs are ignored)", told)
        )
    found = counted.ratios(spread, ADAPTIVE, BOUND, "alpha", "first_cost")
    checks.append(Check("adaptive ÷ what no schedule can do without", "", f"{counted.spread(found, 2)} times"))
    return Verdict(checks, _why(rows))


def _why(rows: Rows) -> str:
    same = dict(counted.ratios([row for row in rows if row["costs"] == "equal"], ADAPTIVE, SEQUENTIAL, "alpha"))
    found = counted.ratios(_spread(rows), ADAPTIVE, SEQUENTIAL, "alpha", "cost")
    told = ", ".join(f"{ratio:.2f} ({same[at]:.2f})" for at, ratio in found)
    return (
        "Naive and Sequential take predicates as they come, so an evaluation costs them what a predicate costs on the "
        "average. Sub-Order and adaptive evaluate cheap ones first, and of dear ones only what cheap ones leave "
        f"undecided. Adaptive costs {told} times what Sequential does (in brackets where costs are equal), from "
        "uniform popularity to the greatest α."
    )


def _carried(rows: Rows) -> list[Row]:
    return counted.carried_over(_spread(rows), "alpha", "cost", "first_cost")


def _spread(rows: Rows) -> list[Row]:
    return [row for row in rows if row["costs"] == "spread"]


FIGURE = Figure(
    "p0/costs", "operators whose costs differ a hundredfold", CLAIM, SIZES,
    version=VERSION, alone=False, grid=grid, run=counted.counted, draw=draw, table=table, verdict=verdict,
    shared=SHARED,
)  # fmt: skip
