"""Figure 19 of P3 (joins): network traffic for an event against the overlap of subscriptions."""

from __future__ import annotations

from tamis.lab.experiments.p3.network import NETWORK, SUBSCRIPTIONS, growth
from tamis.lab.experiments.p3.schemes import NAMES
from tamis.lab.experiments.p3.swept import ONE_SEED, swept
from tamis.lab.measuring import Check, Row, one

CLAIM = """\
The more subscriptions overlap, the fewer an event affects, as interest is in narrow regions. Ref-J does not care.
Ref-J⁺, Enum-J, Enum-SJ and Ref-SJ have less traffic; of Ref-SJ, Tup gains least, and Sub, Clu and Clu⁺ converge.
Rel-Sel degrades."""

FULL = (0, 2_000, 4_000, 6_000)
SIZES = f"""\
{NETWORK}. Range centres spread with standard deviations of 13,000 - 2x on A and 7,500 - x on C, x from 0 to 6,000, as
in the paper; {SUBSCRIPTIONS:,} subscriptions. {ONE_SEED}."""


def checks(ours: list[Row]) -> list[Check]:
    ratios = {name: growth(ours, name, "bytes", "overlap") for name in NAMES}
    found = [
        Check("Ref-J over the overlaps", "unaffected", f"{ratios['ref-j']:.2f} times", 0.8 <= ratios["ref-j"] <= 1.25)
    ]
    found += [
        Check(f"{NAMES[name]} over the overlaps", "less", f"{ratios[name]:.2f} times", ratios[name] < 1)
        for name in ("ref-j+", "enum-j", "enum-sj", "ref-sj-sub", "ref-sj-tup", "ref-sj-clu", "ref-sj-clu+")
    ]
    least = max(("ref-sj-sub", "ref-sj-tup", "ref-sj-clu", "ref-sj-clu+"), key=lambda name: ratios[name])
    found.append(Check("gains least of Ref-SJ", "Ref-SJ-Tup", NAMES[least], least == "ref-sj-tup"))
    last = [one(ours, scheme=f"ref-sj-{kind}", overlap=FULL[-1])["bytes"] for kind in ("sub", "clu", "clu+")]
    apart = max(last) / max(1.0, min(last))
    found.append(
        Check("Sub, Clu and Clu⁺ at the greatest overlap", "converge", f"within {apart:.2f} times", apart <= 1.25)
    )
    found.append(Check("Rel-Sel over the overlaps", "more", f"{ratios['rel-sel']:.2f} times", ratios["rel-sel"] > 1))
    return found


FIGURE = swept(
    "p3/figure-19", "network traffic against the overlap of subscriptions", CLAIM, SIZES,
    x="overlap", worded="x (spreads of 13,000 - 2x and 7,500 - x)", log="y",
    points=[{"overlap": x, "spread_a": 13_000 - 2 * x, "spread_c": 7_500 - x} for x in FULL], checks=checks,
    why="Only Ref-SJ-Sub looks at who is affected. The others describe rows of S, near the anchors or all of them, and "
    "their region touches zones whose subscriptions it just misses, and zones that are wide because few subscriptions "
    "lie there. With interest in narrow regions that is most of what they send, and Sub's smallest region saves more "
    "than its longer description costs: the paper's remark that a larger area may cost more in some networks, seen "
    "here.",
)  # fmt: skip
