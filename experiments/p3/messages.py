"""Messages and bytes that a server sends for an event (Table 3 has the bytes of some schemes)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.drawing import axes_of, curves, legend_beside, quoted
from experiments.figure import Check, Figure, Rows, Table, Verdict
from experiments.p3.figure_5 import grid
from experiments.p3.schemes import NAMES, STYLES, WORKLOAD, at, measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
The server sends for an event, at 100,000, 300,000 and 500,000 subscriptions: Enum-J 484.8, 1464 and 2461.5 kB, Enum-SJ
27.3, 82 and 137.6 kB, Ref-J⁺ 13.4, 14.3 and 14.6 kB, Rel-Sel .86 to .95 kB and Ref-SJ-Clu⁺ .38 kB (Table 3). The last
three go through the network's first node to several others, so what a server gives to it is less."""

SIZES = f"""\
{WORKLOAD}. Messages and bytes are those that the server makes: one for each subscription where it enumerates, one for
everybody where it describes."""

QUOTED = {"enum-j": 484.8, "enum-sj": 27.3}  # kB at 100,000
RATIO = (10, 35)
LINEAR = 1.25
WITHIN = 2


def draw(rows: Rows, picture: Picture) -> None:
    left, right = picture.subplots(1, 2)
    ticks = {row["subscriptions"] for row in rows}
    for axes, y, title in ((left, "messages_per_event", "messages for an event"), (right, "bytes_per_event", "bytes")):
        curves(axes, rows, x="subscriptions", y=y, series="scheme", styles=STYLES)
        axes_of(axes, x="subscriptions", y=title, title=title, ticks=ticks)
    for name, kilobytes in QUOTED.items():
        quoted(right, 100_000, kilobytes * 1000, f"paper: {NAMES[name]}")
    legend_beside(right, picture)


def table(rows: Rows) -> Table:
    lines = [
        [f"{row['subscriptions']:,}", NAMES[str(row["scheme"])], f"{row['messages_per_event']:,.2f}",
         f"{row['bytes_per_event']:,.0f}"]
        for row in rows
    ]  # fmt: skip
    return Table(["subscriptions", "scheme", "messages", "bytes"], lines)


def verdict(rows: Rows) -> Verdict:
    sizes = sorted({int(row["subscriptions"]) for row in rows})

    def size_of(scheme: str, size: int) -> float:
        return float(at(rows, scheme, "subscriptions", size)["bytes_per_event"])

    checks = []
    for name, kilobytes in QUOTED.items():
        ours = size_of(name, 100_000) / 1000
        near = kilobytes / WITHIN <= ours <= kilobytes * WITHIN
        checks.append(
            Check(f"{NAMES[name]} at {sizes[0]:,}", f"{kilobytes} kB (within 2 times)", f"{ours:.1f} kB", near)
        )
        each = [size_of(name, size) / size for size in sizes]
        spread = max(each) / min(each)
        checks.append(
            Check(
                f"{NAMES[name]} is linear",
                f"bytes for a subscription within {LINEAR} times",
                f"{spread:.2f} times",
                spread <= LINEAR,
            )
        )
    ratios = [size_of("enum-j", size) / size_of("enum-sj", size) for size in sizes]
    holds = all(RATIO[0] <= ratio <= RATIO[1] for ratio in ratios)
    checks.append(
        Check("Enum-J ÷ Enum-SJ", f"{RATIO[0]} to {RATIO[1]}", f"{min(ratios):.1f} to {max(ratios):.1f}", holds)
    )
    for larger, smaller in (("enum-sj", "ref-j+"), ("ref-j+", "ref-sj-clu+")):
        least = min(size_of(larger, size) / size_of(smaller, size) for size in sizes)
        checks.append(Check(f"{NAMES[larger]} ÷ {NAMES[smaller]}", "> 1", f"{least:.1f} at least", least > 1))
    return Verdict(checks, WHY)


WHY = (
    "The sizes are of what leaves the server once, without the network's addresses. For schemes that go through a "
    "network, Table 3 counts what its first node sends on to its neighbours, which depends on the network."
)

FIGURE = Figure(
    "p3/messages", "messages and bytes for an event", CLAIM, SIZES,
    version=1, alone=True, grid=grid, run=measured, draw=draw, table=table, verdict=verdict, shared="p3/schemes",
)  # fmt: skip
