"""Figure 18: network traffic for an event against the size of payloads."""

from __future__ import annotations

from experiments.figure import Check, Row
from experiments.p3.network import MEDIANS, NETWORK, SUBSCRIPTIONS, against, one
from experiments.p3.swept import swept

CLAIM = """\
With larger payloads all schemes have more traffic, and the differences between semijoin reformulations vanish, since
payloads outweigh descriptions."""

FULL = (1, 10, 100, 1_000, 10_000, 100_000)
SIZES = f"{NETWORK}. Payloads of 1 byte to 100 kB, as in the paper; {SUBSCRIPTIONS:,} subscriptions. {MEDIANS}."


def checks(ours: list[Row]) -> list[Check]:
    def apart(payload: int) -> float:
        some = [one(ours, scheme=f"ref-sj-{kind}", payload=payload)["bytes"] for kind in ("sub", "tup", "clu", "clu+")]
        return float(max(some) / min(some))

    small, large = apart(FULL[0]), apart(FULL[-1])
    found = [
        Check("semijoin reformulations apart at 1 byte", "much", f"{small:.1f} times", small > 2),
        Check("at 100 kB", "hardly", f"{large:.2f} times", large < 1.1),
    ]
    return found + against(
        ours, "ref-sj-clu+", ("enum-j", "enum-sj", "ref-j+", "rel-sel"), "bytes", "payload", "> 1", 1
    )


FIGURE = swept(
    "p3/figure-18", "network traffic against the size of payloads", CLAIM, SIZES,
    x="payload", worded="bytes of payload a row", points=[{"payload": size} for size in FULL], checks=checks,
    why="Enum-SJ sends each row once to each subscription and past the network, so with few subscriptions affected an event "
    "it comes near to what goes from zone to zone.",
)  # fmt: skip
