"""Figure 10 of P3 (joins): network traffic for an event with real events, against the number of subscriptions."""

from __future__ import annotations

from tamis.lab.experiments.p3.network import NETWORK, against, growth
from tamis.lab.experiments.p3.quotes import S_ROWS, quoted_joins
from tamis.lab.experiments.p3.schemes import NAMES
from tamis.lab.experiments.p3.swept import swept
from tamis.lab.measuring import Check, Point, Row, Rows
from tamis.lab.simulation.joins import simulate
from tamis.lab.simulation.simulation import overlay_of
from tamis.workloads.select_joins import R_ROWS

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


def run(point: Point) -> Rows:
    events = int(point["events"])
    chosen = quoted_joins(int(point["subscriptions"]), events, int(point["seed"]))
    traffic = simulate(str(point["scheme"]), chosen, overlay_of(int(point.get("nodes", 1_000))), events=events)
    return [{name: value for name, value in traffic.row.items() if name != "events"}]


def checks(ours: list[Row]) -> list[Check]:
    found = []
    for name in ("enum-j", "enum-sj"):
        grows = growth(ours, name, "bytes", "subscriptions")
        found.append(Check(f"{NAMES[name]} degrades", "yes", f"{grows:.1f} times over the sizes", grows > 2))
    others = ("enum-j", "enum-sj", "ref-j+", "rel-sel")
    return found + against(ours, "ref-sj-clu+", others, "bytes", "subscriptions", "≥ 10", 10)


FIGURE = swept(
    "p3/figure-10-network", "real events: network traffic against the number of subscriptions", CLAIM, SIZES,
    x="subscriptions", worded="subscriptions", points=[{"subscriptions": size, "events": EVENTS} for size in FULL],
    run=run, checks=checks, heading="Real events",
    why="Volumes spread over the whole domain, where the paper's ratings came in five steps, so that most rows of R "
    "join some row in somebody's range, and far more subscriptions are affected an event than with the synthetic rows. "
    "A join that nearly every selected row passes saves nothing over Rel-Sel, and its descriptions cost.",
)  # fmt: skip
