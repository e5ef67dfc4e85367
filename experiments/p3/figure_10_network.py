"""Figure 10: network traffic for an event with real events, against the number of subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.drawing import axes_of, curves, legend_beside, pivot
from experiments.figure import Check, Figure, Point, Rows, Table, Verdict
from experiments.p3.network import NETWORK, against, growth, medians, over_seeds
from experiments.p3.quotes import S_ROWS, quoted_joins
from experiments.p3.schemes import NAMES, STYLES
from tamis.cli.bench.numbers import figures
from tamis.simulation.joins import simulate
from tamis.simulation.overlay import overlay_of
from tamis.workloads.select_joins import R_ROWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
On real stock data Enum-J and Enum-SJ are very expensive, and degrade with the number of subscriptions. Ref-J⁺ does
better than on the synthetic events, for an event has fewer join results (around 23). Ref-SJ-Clu⁺ is at least an order
of magnitude better than the other schemes."""

EVENTS = 100
FULL = (100_000, 300_000, 500_000)
SIZES = f"""\
{NETWORK}. The paper's prices and ratings of 100 stocks are not to be had: R has the closing prices of 100 stocks as
they came, {R_ROWS:,} quotes at a time, and S {S_ROWS:,} traded volumes of earlier days for 70 of the stocks, so that an
event has {S_ROWS // 100} results on average, as in the paper (`experiments/p3/quotes.py`; the folder of the quotes is
named in the environment). 100,000 to 500,000 subscriptions, those of the other figures. {EVENTS} events."""
BY = ("subscriptions", "scheme")


def grid(scale: float) -> list[Point]:
    points = [{"subscriptions": size, "scheme": scheme, "events": EVENTS} for size in FULL for scheme in STYLES]
    return over_seeds(points, scale)


def run(point: Point) -> Rows:
    events = int(point["events"])
    chosen = quoted_joins(int(point["subscriptions"]), events, int(point["seed"]))
    traffic = simulate(str(point["scheme"]), chosen, overlay_of(int(point.get("nodes", 1_000))), events=events)
    return [{name: value for name, value in traffic.row.items() if name != "events"}]


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    ours = medians(rows, BY)
    curves(axes, ours, x="subscriptions", y="kilobytes", series="scheme", styles=STYLES)
    ticks = {row["subscriptions"] for row in ours}
    axes_of(axes, x="subscriptions", y="kB between nodes for an event", title="Real events", ticks=ticks)
    legend_beside(axes, picture)


def table(rows: Rows) -> Table:
    names = {name: f"{label}, kB" for name, label in NAMES.items()}
    return pivot(medians(rows, BY), x="subscriptions", series="scheme", y="kilobytes", names=names, form=figures)


def verdict(rows: Rows) -> Verdict:
    ours = medians(rows, BY)
    checks = []
    for name in ("enum-j", "enum-sj"):
        grows = growth(ours, name, "bytes", "subscriptions")
        checks.append(Check(f"{NAMES[name]} degrades", "yes", f"{grows:.1f} times over the sizes", grows > 2))
    others = ("enum-j", "enum-sj", "ref-j+", "rel-sel")
    return Verdict(checks + against(ours, "ref-sj-clu+", others, "bytes", "subscriptions", "≥ 10", 10), WHY)


WHY = (
    "Volumes spread over the whole domain, where the paper's ratings came in five steps, so that most rows of R join "
    "some row in somebody's range, and far more subscriptions are affected an event than with the synthetic rows. A "
    "join that nearly every selected row passes saves nothing over Rel-Sel, and its descriptions cost."
)

FIGURE = Figure(
    "p3/figure-10-network", "real events: network traffic against the number of subscriptions", CLAIM, SIZES,
    version=1, alone=False, grid=grid, run=run, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
