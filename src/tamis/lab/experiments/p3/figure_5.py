"""Figure 5 of P3 (joins): server time for an event against the number of subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.lab.experiments.p3.schemes import NAMES, STYLES, WORKLOAD, at, measured
from tamis.lab.measuring import (
    Check,
    Figure,
    Point,
    Rows,
    Table,
    Verdict,
    axes_of,
    budget,
    curves,
    legend_beside,
    pivot,
    scaled,
)
from tamis.lab.timing import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
Enum-J takes the longest by far, then Enum-SJ; both grow with the number of subscriptions. Reformulations are faster;
among them Ref-SJ-Sub is slower than the others, and Ref-SJ-Clu and Ref-SJ-Clu⁺ add little to Ref-SJ-Tup."""

SIZES = f"""\
{WORKLOAD}. 100,000 to 1,000,000 subscriptions, as in the paper. Times are of the processor, with everything that is
sent written to memory (the paper's went to a disk), and warm."""

FULL = (100_000, 200_000, 500_000, 1_000_000)
BUDGET = 2.0  # seconds a point
FLAT = 1.5


def grid(scale: float) -> list[Point]:
    return [
        {"subscriptions": size, "scheme": scheme, "budget": budget(BUDGET, scale)}
        for size in scaled(FULL, scale, least=50)
        for scheme in STYLES
    ]


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    curves(axes, rows, x="subscriptions", y="us_per_event", series="scheme", styles=STYLES)
    ticks = {row["subscriptions"] for row in rows}
    axes_of(axes, x="subscriptions", y="µs of the processor for an event", title="Processing time", ticks=ticks)
    legend_beside(axes, picture)


def table(rows: Rows) -> Table:
    names = {name: f"{label}, µs" for name, label in NAMES.items()}
    return pivot(rows, x="subscriptions", series="scheme", y="us_per_event", names=names, form=figures)


def verdict(rows: Rows) -> Verdict:
    sizes = sorted({int(row["subscriptions"]) for row in rows})
    least, largest = sizes[0], sizes[-1]

    def time(scheme: str, size: int) -> float:
        return float(at(rows, scheme, "subscriptions", size)["us_per_event"])

    checks = []
    slowest = all(max(STYLES, key=lambda name: time(name, size)) == "enum-j" for size in sizes)
    checks.append(Check("Enum-J is the slowest", "at every size", "yes" if slowest else "no", slowest))
    for slower, faster in (("enum-j", "enum-sj"), ("enum-sj", "ref-sj-clu+"), ("ref-sj-sub", "ref-sj-clu+")):
        ratio = min(time(slower, size) / time(faster, size) for size in sizes)
        checks.append(Check(f"{NAMES[slower]} ÷ {NAMES[faster]}", "> 1", f"{ratio:.1f} at least", ratio > 1))
    for name in ("enum-j", "enum-sj"):
        growth = time(name, largest) / time(name, least)
        checks.append(Check(f"{NAMES[name]} grows", "yes", f"{growth:.1f} times over the sizes", growth > 2))
    added = time("ref-sj-clu+", largest) / time("ref-sj-tup", largest)
    checks.append(Check("Clu⁺ ÷ Tup at the largest", "little more than 1", f"{added:.2f}", added < 2))
    flat = time("ref-sj-clu+", largest) / time("ref-sj-clu+", least)
    checks.append(
        Check(f"Clu⁺ from {least:,} to {largest:,}", f"(ours: ≤ {FLAT} times)", f"{flat:.2f} times", flat <= FLAT)
    )
    return Verdict(checks, WHY)


WHY = (
    "Ref-SJ-Clu⁺ by the paper's algorithm enumerates affected subscriptions to decide which triangles are "
    "disposable, and would grow with them as Ref-SJ-Sub does. Two shortcuts keep it flat: whether any subscription "
    "lies between a new value's neighbours is seen at a glance, and the union of the ranges of A that lie over the "
    "gap between two rows of S is kept until one of them changes. The paper's times are of another machine, and "
    "include writing to a disk."
)

FIGURE = Figure(
    "p3/figure-5", "server time against the number of subscriptions", CLAIM, SIZES,
    version=1, alone=True, grid=grid, run=measured, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
