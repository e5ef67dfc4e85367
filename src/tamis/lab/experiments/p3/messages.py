"""Experiment: messages and bytes that a join server sends for an event (P3's Table 3 has the bytes of some schemes)."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from tamis.lab.experiments.p3.schemes import NAMES, STYLES, WORKLOAD, at, sent
from tamis.lab.measuring import (
    PAPER,
    Check,
    Figure,
    Point,
    Row,
    Rows,
    Table,
    Verdict,
    axes_of,
    curves,
    legend_beside,
    scaled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
The server sends for an event, at 100,000, 300,000 and 500,000 subscriptions: Enum-J 484.8, 1464 and 2461.5 kB, Enum-SJ
27.3, 82 and 137.6 kB, Ref-J⁺ 13.4, 14.3 and 14.6 kB, Rel-Sel .86 to .95 kB and Ref-SJ-Clu⁺ .38 kB (Table 3). The last
three go through the network's first node to several others, so what a server gives to it is less."""

SEEDS, EVENTS = 11, 200
SIZES = f"""\
{WORKLOAD}. {SEEDS} seeds, of which the median is taken; {EVENTS} events each, the same for all schemes and sizes.
Messages and bytes are those that the server makes: one for each subscription where it enumerates, one for everybody
where it describes."""

FULL = (100_000, 300_000, 500_000)
QUOTED = {"enum-j": (484.8, 1464.0, 2461.5), "enum-sj": (27.3, 82.0, 137.6)}  # kB
RATIO = (10, 35)
LINEAR = 1.25
WITHIN = 2


def grid(scale: float) -> list[Point]:
    return [
        {"subscriptions": size, "seed": seed, "scheme": scheme, "events": EVENTS if scale >= 1 else 20}
        for size in scaled(FULL, scale, least=50)
        for seed in range(SEEDS)
        for scheme in STYLES
    ]


def medians(rows: Rows) -> list[Row]:
    """Medians over the seeds, by size and scheme."""
    found: list[Row] = []
    for size in sorted({int(row["subscriptions"]) for row in rows}):
        for scheme in STYLES:
            some = [row for row in rows if row["subscriptions"] == size and row["scheme"] == scheme]
            if some:
                middle = {name: median(float(row[name]) for row in some) for name in ("messages", "bytes")}
                found.append({"subscriptions": size, "scheme": scheme, **middle})
    return found


def draw(rows: Rows, picture: Picture) -> None:
    left, right = picture.subplots(1, 2)
    ours = medians(rows)
    ticks = {row["subscriptions"] for row in ours}
    for axes, name in ((left, "messages"), (right, "bytes")):
        curves(axes, ours, x="subscriptions", y=name, series="scheme", styles=STYLES)
        axes_of(axes, x="subscriptions", y=f"{name} for an event", title=name.capitalize(), ticks=ticks)
    for kilobytes in QUOTED.values():
        right.plot(FULL, [1000 * number for number in kilobytes], "*", color=PAPER, markersize=10, zorder=5)
    legend_beside(right, picture)


def table(rows: Rows) -> Table:
    lines = [
        [f"{row['subscriptions']:,}", NAMES[str(row["scheme"])], f"{row['messages']:,.2f}", f"{row['bytes']:,.0f}"]
        for row in medians(rows)
    ]
    return Table(["subscriptions", "scheme", "messages for an event", "bytes"], lines)


def verdict(rows: Rows) -> Verdict:
    ours = medians(rows)
    sizes = sorted({int(row["subscriptions"]) for row in ours})

    def size_of(scheme: str, size: int) -> float:
        return float(at(ours, scheme, "subscriptions", size)["bytes"])

    checks = []
    for name, kilobytes in QUOTED.items():
        for size, said in zip(sizes, kilobytes, strict=False):
            found = size_of(name, size) / 1000
            near = said / WITHIN <= found <= said * WITHIN
            checks.append(Check(f"{NAMES[name]} at {size:,}", f"{said} kB (within 2 times)", f"{found:.1f} kB", near))
        each = [size_of(name, size) / size for size in sizes]
        spread = max(each) / min(each)
        said_so = f"bytes for a subscription within {LINEAR} times"
        checks.append(Check(f"{NAMES[name]} is linear", said_so, f"{spread:.2f} times", spread <= LINEAR))
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
    "Each tuple is counted with its 100 bytes of payload, as the paper says, so a join result has two. With one for a "
    "result Enum-J would send 1.2 times what Table 3 says, and 17 times what Enum-SJ does, where Table 3 has 17.8. "
    "The sizes are of what leaves the server once, without the network's addresses. For schemes that go through a "
    "network, Table 3 counts what its first node sends on to its neighbours, which depends on the network."
)

FIGURE = Figure(
    "p3/messages", "messages and bytes for an event", CLAIM, SIZES,
    version=1, alone=False, grid=grid, run=sent, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
