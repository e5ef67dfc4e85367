"""Figure 12 of P3 (joins): hop latency against the size of payload repositories (CN*)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.lab.experiments.p3.figure_11 import BY, EVENTS, LESS, PAYLOAD, WARM_UP, lines, points_for, table
from tamis.lab.experiments.p3.network import NETWORK, SUBSCRIPTIONS, carried, medians, over_seeds
from tamis.lab.experiments.p3.schemes import NAMES
from tamis.lab.measuring import Check, Figure, Point, Rows, Verdict, axes_of, one

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
Even with small repositories, the round trip for a payload that was dropped does not add much to the latency.
Ref-SJ-Clu⁺ is hardly affected. Rel-Sel has a higher latency, since messages have to reach many more nodes."""

R_ROWS = 200
REPOSITORIES = (0, 400, 3_100)
MORE = 1.1
SIZES = f"""\
{NETWORK}. {SUBSCRIPTIONS:,} subscriptions, R of {R_ROWS} rows (to penalise Ref-SJ-Clu⁺, as in the paper), payloads of
{PAYLOAD:,} bytes. Measured over {EVENTS:,} events after {WARM_UP["ref-sj-clu+"]:,} (Ref-SJ-Clu⁺) or
{WARM_UP["ref-j+"]:,} (Ref-J⁺) others; one seed. A hop is from node to node; a payload that has to be asked for takes
two more."""


def grid(scale: float) -> list[Point]:
    return over_seeds(points_for(R_ROWS, REPOSITORIES), scale)


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    lines(axes, rows, "hop_latency")
    axes_of(axes, x="entries of a repository", y="hops to a subscription", title="Hop latency", log="")
    axes.set_ylim(bottom=0)
    picture.legend(loc="outside right upper", frameon=False)


def verdict(rows: Rows) -> Verdict:
    ours = medians(rows, BY)
    checks = []
    for name in WARM_UP:
        without = one(ours, scheme=name, repository="none")["hop_latency"]
        for size in (400, REPOSITORIES[-1]):
            more = one(ours, scheme=name, repository=str(size))["hop_latency"] / without
            checks.append(
                Check(
                    f"{NAMES[name]}, CN* ÷ CN at {size:,}",
                    f"hardly more than 1 (ours: ≤ {MORE})",
                    f"{more:.3f}",
                    more <= MORE,
                )
            )
    clu, other = (one(ours, scheme=name, repository="none")["hop_latency"] for name in ("ref-sj-clu+", "rel-sel"))
    checks.append(Check("Rel-Sel ÷ Ref-SJ-Clu⁺, CN", "> 1", f"{other / clu:.2f}", other > clu))
    less = (
        one(ours, scheme="ref-sj-clu+", repository="none")["bytes"]
        / one(ours, scheme="ref-sj-clu+", repository="400")["bytes"]
    )
    checks.append(Check("Ref-SJ-Clu⁺, traffic in CN ÷ CN* at 400", f"(ours: ≥ {LESS:g})", f"{less:.1f}", less >= LESS))
    return Verdict(checks, WHY)


WHY = (
    "Latency is averaged over all messages to subscriptions. With 200 rows of R, two to a join key, most of these are "
    "rows of S that come into reach, and whoever has dropped one waits for it."
)

FIGURE = Figure(
    "p3/figure-12", "hop latency against the size of repositories", CLAIM, SIZES,
    version=1, alone=False, grid=grid, run=carried, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
