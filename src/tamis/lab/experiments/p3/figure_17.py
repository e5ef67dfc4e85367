"""Figure 17 of P3 (joins): messages between nodes for an event against the number of subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.lab.experiments.p3.figure_6 import BY, SHARED, SIZES, VERSION
from tamis.lab.experiments.p3.figure_6 import FIGURE as FIGURE_6
from tamis.lab.experiments.p3.network import against, carried, growth, medians
from tamis.lab.experiments.p3.schemes import NAMES, STYLES
from tamis.lab.measuring import Check, Figure, Rows, Table, Verdict, axes_of, curves, legend_beside, one, pivot
from tamis.lab.timing import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
Semijoin reformulations take the same number of hops, an order of magnitude fewer than all others. Rel-Sel sends rows
to nodes that need them not; the enumerating schemes degrade with the number of subscriptions; Ref-J and Ref-J⁺ take
many."""


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    ours = medians(rows, BY)
    curves(axes, ours, x="subscriptions", y="hops", series="scheme", styles=STYLES)
    ticks = {row["subscriptions"] for row in ours}
    axes_of(axes, x="subscriptions", y="messages between nodes for an event", title="Overlay hops", ticks=ticks)
    legend_beside(axes, picture)


def table(rows: Rows) -> Table:
    return pivot(medians(rows, BY), x="subscriptions", series="scheme", y="hops", names=NAMES, form=figures)


def verdict(rows: Rows) -> Verdict:
    ours = medians(rows, BY)
    semijoins = [name for name in STYLES if name.startswith("ref-sj")]
    sizes = sorted({row["subscriptions"] for row in ours})
    spread = max(
        max(hops) / min(hops)
        for hops in ([one(ours, scheme=name, subscriptions=size)["hops"] for name in semijoins] for size in sizes)
    )
    checks = [Check("Ref-SJ schemes among each other", "the same", f"within {spread:.2f} times", spread <= 1.1)]
    others = ("enum-j", "enum-sj", "ref-j", "ref-j+", "rel-sel")
    checks += against(ours, "ref-sj-clu+", others, "hops", "subscriptions", "≥ 10", 10)
    grows = growth(ours, "enum-sj", "hops", "subscriptions")
    checks.append(Check("Enum-SJ grows", "with the subscriptions", f"{grows:.1f} times", grows > 3))
    return Verdict(checks, WHY)


WHY = (
    "Ref-SJ-Sub describes who is affected, the others the rows of S: its regions are smaller, and so are its hops. "
    "Rows that go are told to whoever held them, which the paper does not speak of; they are about half of the hops."
)

FIGURE = Figure(
    "p3/figure-17", "messages between nodes against the number of subscriptions", CLAIM, SIZES,
    version=VERSION, alone=False, grid=FIGURE_6.grid, run=carried, draw=draw, table=table, verdict=verdict,
    shared=SHARED,
)  # fmt: skip
