"""Figure 6: network traffic for an event against the number of subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.drawing import axes_of, curves, legend_beside, pivot
from experiments.figure import Check, Figure, Point, Rows, Table, Verdict
from experiments.p3.network import NETWORK, ONE_SEED, against, carried, growth, medians, order, over_seeds
from experiments.p3.schemes import NAMES, STYLES
from tamis.cli.bench.numbers import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
Enum-J's traffic is extremely high; Enum-SJ's is less, and grows quickly with the number of subscriptions.
Reformulations are drastically lower; of these Ref-J and Ref-J⁺ have more than Rel-Sel, and Ref-SJ-Clu⁺ has the least,
by an order of magnitude at least."""

SIZES = f"{NETWORK}. 100,000 to 1,000,000 subscriptions, as in the paper. {ONE_SEED} (the paper: 59,000)."
FULL = (100_000, 300_000, 500_000, 1_000_000)
SHARED = "p3/subscriptions"
VERSION = 1
BY = ("subscriptions", "scheme")


def grid(scale: float) -> list[Point]:
    return over_seeds([{"subscriptions": size, "scheme": scheme} for size in FULL for scheme in STYLES], scale)


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    ours = medians(rows, BY)
    curves(axes, ours, x="subscriptions", y="kilobytes", series="scheme", styles=STYLES)
    ticks = {row["subscriptions"] for row in ours}
    axes_of(axes, x="subscriptions", y="kB between nodes for an event", title="Network traffic", ticks=ticks)
    legend_beside(axes, picture)


def table(rows: Rows) -> Table:
    names = {name: f"{label}, kB" for name, label in NAMES.items()}
    return pivot(medians(rows, BY), x="subscriptions", series="scheme", y="kilobytes", names=names, form=figures)


def verdict(rows: Rows) -> Verdict:
    ours = medians(rows, BY)
    checks = order(ours, ("enum-j", "enum-sj"), "bytes", "subscriptions")
    for name in ("enum-j", "enum-sj"):
        grows = growth(ours, name, "bytes", "subscriptions")
        checks.append(Check(f"{NAMES[name]} grows", "quickly", f"{grows:.1f} times over the sizes", grows > 3))
    checks += order(ours, ("ref-j", "ref-j+", "rel-sel", "ref-sj-clu+"), "bytes", "subscriptions")
    checks += order(ours, ("ref-sj-tup", "ref-sj-sub", "ref-sj-clu", "ref-sj-clu+"), "bytes", "subscriptions")
    checks += against(
        ours, "ref-sj-clu+", ("enum-j", "enum-sj", "ref-j+", "rel-sel"), "bytes", "subscriptions", "≥ 10", 10
    )
    flat = growth(ours, "ref-sj-clu+", "bytes", "subscriptions")
    checks.append(Check("Ref-SJ-Clu⁺ over the sizes", "hardly grows", f"{flat:.2f} times", flat <= 1.5))
    return Verdict(checks, WHY)


WHY = (
    "Messages of the enumerating schemes go straight to their subscribers here, one hop each, as in the paper. A zone "
    "of the CAN gets a message if the message's region touches it, whether or not a subscription in it wants it, so "
    "that schemes differ in the number of messages and in the regions that these name. Rel-Sel, whose region is all "
    "ranges of A that hold a value, reaches a third of all zones with every row that comes and every row that goes."
)

FIGURE = Figure(
    "p3/figure-6", "network traffic against the number of subscriptions", CLAIM, SIZES,
    version=VERSION, alone=False, grid=grid, run=carried, draw=draw, table=table, verdict=verdict, shared=SHARED,
)  # fmt: skip
