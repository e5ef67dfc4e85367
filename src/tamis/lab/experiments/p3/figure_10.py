"""Experiment: P3's Figure 10 without its network: messages and server time for an event on stock quotes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tamis.lab.experiments.p3.quotes import S_ROWS, quoted_joins
from tamis.lab.experiments.p3.schemes import NAMES, PAYLOAD, STYLES, at
from tamis.lab.measuring import Check, Figure, Point, Rows, Table, Verdict, axes_of, curves, legend_beside, scaled
from tamis.lab.simulation.joins import SHAPE, Trial
from tamis.workloads.select_joins import R_ROWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
On real stock data Enum-J and Enum-SJ are very expensive, and degrade with the number of subscriptions. Ref-J⁺ does
better than on the synthetic events, for an event has fewer join results (around 23). Ref-SJ-Clu⁺ is at least an order
of magnitude better than the other schemes, in traffic on the network."""

EVENTS = 200
SIZES = f"""\
The paper's prices and ratings of 100 stocks are not to be had. Here R has the closing prices of 100 stocks as they
came, {R_ROWS:,} quotes at a time, and S {S_ROWS:,} traded volumes of earlier days for 70 of the stocks: {S_ROWS // 100}
join results for an event on average, as in the paper. Subscriptions are those of the other figures. {EVENTS} events.
What is counted is what leaves the server; what the network makes of it depends on the network."""

FULL = (100_000, 300_000, 500_000)
ORDER_OF_MAGNITUDE = 10


def grid(scale: float) -> list[Point]:
    return [
        {"subscriptions": size, "scheme": scheme, "events": EVENTS if scale >= 1 else 20}
        for size in scaled(FULL, scale, least=50)
        for scheme in STYLES
    ]


def run(point: Point) -> Rows:
    events = int(point["events"])
    trial = Trial(str(point["scheme"]), quoted_joins(int(point["subscriptions"]), events + 20))
    trial.play(20)
    messages = size = 0
    seconds = 0.0
    for _ in range(events // 10):
        changes = trial.next(10)
        begun = time.process_time()
        batch = trial.scheme.change(changes)
        seconds += time.process_time() - begun
        messages, size = messages + len(batch), size + int(batch.sizes(SHAPE, PAYLOAD).sum())
    return [{"messages": messages / events, "bytes": size / events, "us_per_event": seconds / events * 1e6}]


def draw(rows: Rows, picture: Picture) -> None:
    left, right = picture.subplots(1, 2)
    ticks = {row["subscriptions"] for row in rows}
    for axes, name in ((left, "messages"), (right, "bytes")):
        curves(axes, rows, x="subscriptions", y=name, series="scheme", styles=STYLES)
        axes_of(axes, x="subscriptions", y=f"{name} for an event", title=name.capitalize(), ticks=ticks)
    legend_beside(right, picture)


def table(rows: Rows) -> Table:
    lines = [
        [
            f"{row['subscriptions']:,}",
            NAMES[str(row["scheme"])],
            f"{row['messages']:,.2f}",
            f"{row['bytes']:,.0f}",
            f"{row['us_per_event']:,.0f}",
        ]
        for row in rows
    ]
    return Table(["subscriptions", "scheme", "messages for an event", "bytes", "µs"], lines)


def verdict(rows: Rows) -> Verdict:
    sizes = sorted({int(row["subscriptions"]) for row in rows})
    least, largest = sizes[0], sizes[-1]

    def size_of(scheme: str, size: int) -> float:
        return float(at(rows, scheme, "subscriptions", size)["bytes"])

    checks = []
    for name in ("enum-j", "enum-sj"):
        growth = size_of(name, largest) / size_of(name, least)
        checks.append(Check(f"{NAMES[name]} degrades", "yes", f"{growth:.1f} times the bytes", growth > 2))
    for name in ("enum-j", "enum-sj", "ref-j+"):
        ratio = min(size_of(name, size) / size_of("ref-sj-clu+", size) for size in sizes)
        checks.append(
            Check(
                f"{NAMES[name]} ÷ {NAMES['ref-sj-clu+']}, bytes",
                f"≥ {ORDER_OF_MAGNITUDE} (traffic)",
                f"{ratio:.1f} at least",
                ratio >= ORDER_OF_MAGNITUDE,
            )
        )
    sent = size_of("rel-sel", largest) / size_of("ref-sj-clu+", largest)
    checks.append(Check("Rel-Sel ÷ Clu⁺, bytes", "(less goes to the network, but everywhere in it)", f"{sent:.1f}"))
    return Verdict(checks, WHY)


WHY = (
    "What the paper plots is traffic over all links. Rel-Sel hands the network little, and the network takes it to "
    "whoever selects the row, joined or not; that is not seen here. For the other schemes bytes at the server are in "
    "the paper's order."
)

FIGURE = Figure(
    "p3/figure-10", "real events: messages and bytes for an event", CLAIM, SIZES,
    version=1, alone=False, grid=grid, run=run, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
