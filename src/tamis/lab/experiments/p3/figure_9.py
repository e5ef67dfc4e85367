"""Figure 9 of P3 (joins): network traffic for an event against the relative join output rate."""

from __future__ import annotations

from tamis.lab.experiments.p3.network import NETWORK, SUBSCRIPTIONS, against, growth
from tamis.lab.experiments.p3.schemes import NAMES
from tamis.lab.experiments.p3.swept import ONE_SEED, swept
from tamis.lab.measuring import Check, Row

CLAIM = """\
With more rows in S an event has more join results. Ref-SJ-Tup degrades with them, the other semijoin reformulations do
well; Ref-J and Ref-J⁺ are good where results are few, and degrade quickly. Ref-SJ-Clu⁺ is usually more than an order of
magnitude better than what is not a semijoin reformulation."""

FULL = (100, 1_100, 5_100, 10_100)
SIZES = f"""\
{NETWORK}. S has 100 to 10,100 rows, as in the paper: a hundredth of that is the average number of results an event;
{SUBSCRIPTIONS:,} subscriptions. {ONE_SEED}."""


def checks(ours: list[Row]) -> list[Check]:
    found = []
    for name in ("ref-j", "ref-j+"):
        grows = growth(ours, name, "bytes", "s_rows")
        found.append(Check(f"{NAMES[name]} over the rates", "degrades quickly", f"{grows:.0f} times", grows > 20))
    tup, clu = (growth(ours, name, "bytes", "s_rows") for name in ("ref-sj-tup", "ref-sj-clu+"))
    found.append(Check("Ref-SJ-Tup over the rates", "degrades", f"{tup:.1f} times", tup > 2 * clu))
    found.append(Check("Ref-SJ-Clu⁺ over the rates", "does well", f"{clu:.1f} times", clu < 10))
    usual = [row for row in ours if row["s_rows"] >= FULL[2]]
    others = ("enum-j", "enum-sj", "ref-j", "ref-j+", "rel-sel")
    return found + against(usual, "ref-sj-clu+", others, "bytes", "s_rows", "> 10 usually", 10)


FIGURE = swept(
    "p3/figure-9", "network traffic against the join output rate", CLAIM, SIZES,
    x="s_rows", worded="rows of S", points=[{"s_rows": rows} for rows in FULL], checks=checks,
    why="Rows that come and go reach about the same zones at every rate, so Ref-SJ-Clu⁺ hardly changes, and Rel-Sel "
    "not at all. Enum-SJ takes one hop a subscription, and 100,000 subscriptions are few; with more of them it falls "
    "behind (Figure 6).",
)  # fmt: skip
