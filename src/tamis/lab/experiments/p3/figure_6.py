"""Figure 6 of P3 (joins): network traffic for an event against the number of subscriptions."""

from __future__ import annotations

from tamis.lab.experiments.p3.network import EVENTS, NETWORK, ONE_SEED, against, growth, order
from tamis.lab.experiments.p3.schemes import NAMES
from tamis.lab.experiments.p3.swept import swept
from tamis.lab.measuring import Check, Row

CLAIM = """\
Enum-J's traffic is extremely high; Enum-SJ's is less, and grows quickly with the number of subscriptions.
Reformulations are drastically lower; of these Ref-J and Ref-J⁺ have more than Rel-Sel, and Ref-SJ-Clu⁺ has the least,
by an order of magnitude at least."""

SIZES = f"{NETWORK}. 100,000 to 1,000,000 subscriptions, as in the paper. {ONE_SEED} (the paper: 59,000)."
FULL = (100_000, 300_000, 500_000, 1_000_000)
SHARED = "p3/subscriptions"
VERSION = 1
BY = ("subscriptions", "scheme")


def checks(ours: list[Row]) -> list[Check]:
    found = order(ours, ("enum-j", "enum-sj"), "bytes", "subscriptions")
    for name in ("enum-j", "enum-sj"):
        grows = growth(ours, name, "bytes", "subscriptions")
        found.append(Check(f"{NAMES[name]} grows", "quickly", f"{grows:.1f} times over the sizes", grows > 3))
    found += order(ours, ("ref-j", "ref-j+", "rel-sel", "ref-sj-clu+"), "bytes", "subscriptions")
    found += order(ours, ("ref-sj-tup", "ref-sj-sub", "ref-sj-clu", "ref-sj-clu+"), "bytes", "subscriptions")
    found += against(
        ours, "ref-sj-clu+", ("enum-j", "enum-sj", "ref-j+", "rel-sel"), "bytes", "subscriptions", "≥ 10", 10
    )
    flat = growth(ours, "ref-sj-clu+", "bytes", "subscriptions")
    found.append(Check("Ref-SJ-Clu⁺ over the sizes", "hardly grows", f"{flat:.2f} times", flat <= 1.5))
    return found


FIGURE = swept(
    "p3/figure-6", "network traffic against the number of subscriptions", CLAIM, SIZES,
    x="subscriptions", worded="subscriptions", points=[{"subscriptions": size, "events": EVENTS} for size in FULL],
    checks=checks, version=VERSION, shared=SHARED,
    why="Messages of the enumerating schemes go straight to their subscribers here, one hop each, as in the paper. A "
    "zone of the CAN gets a message if the message's region touches it, whether or not a subscription in it wants it, "
    "so that schemes differ in the number of messages and in the regions that these name. Rel-Sel, whose region is all "
    "ranges of A that hold a value, reaches a third of all zones with every row that comes and every row that goes.",
)  # fmt: skip
