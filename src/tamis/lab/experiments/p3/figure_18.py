"""Figure 18 of P3 (joins): network traffic for an event against the size of payloads."""

from __future__ import annotations

from tamis.lab.experiments.p3.network import NETWORK, SUBSCRIPTIONS, against, carried
from tamis.lab.experiments.p3.swept import ONE_SEED, swept
from tamis.lab.measuring import Check, Figure, Point, Row, Rows, one

CLAIM = """\
With larger payloads all schemes have more traffic, and the differences between semijoin reformulations vanish, since
payloads outweigh descriptions."""

MEASURED = 1_000
FULL = (1, 10, 100, 1_000, 10_000, 100_000)
SIZES = f"""\
{NETWORK}. Payloads of 1 byte to 100 kB, as in the paper; {SUBSCRIPTIONS:,} subscriptions. {ONE_SEED}. Each scheme is
run with payloads of two sizes; in between and beyond, its traffic is a straight line."""


def run(point: Point) -> Rows:
    """Traffic with payloads of two sizes, from which other sizes follow: without CN* it is linear in the size."""
    small, large = (carried({**point, "payload": size})[0] for size in (0, MEASURED))
    return [{**small, "bytes_with_payload": large["bytes"]}]


def at_every_size(rows: Rows) -> Rows:
    return [
        {**row, "payload": size, "bytes": row["bytes"] + (row["bytes_with_payload"] - row["bytes"]) * size / MEASURED}
        for row in rows
        for size in FULL
    ]


def checks(ours: list[Row]) -> list[Check]:
    def apart(payload: int) -> float:
        some = [one(ours, scheme=f"ref-sj-{kind}", payload=payload)["bytes"] for kind in ("sub", "tup", "clu", "clu+")]
        return float(max(some) / max(1.0, min(some)))

    small, large = apart(FULL[0]), apart(FULL[-1])
    others = ("enum-j", "enum-sj", "ref-j+", "rel-sel")
    return [
        Check("semijoin reformulations apart at 1 byte", "much", f"{small:.1f} times", small > 2),
        Check("at 100 kB", "hardly", f"{large:.2f} times", large < 1.1),
        *against(ours, "ref-sj-clu+", others, "bytes", "payload", "> 1", 1),
    ]


FIGURE: Figure = swept(
    "p3/figure-18", "network traffic against the size of payloads", CLAIM, SIZES,
    x="payload", worded="bytes of payload a row", points=[{}], run=run, expanded=at_every_size, version=2,
    checks=checks,
    why="Where descriptions do not count, Tup, Clu and Clu⁺ are alike, and Ref-SJ-Sub has a fifth less: its region "
    "is the smallest there is and touches fewer zones. Enum-SJ sends a row once to each subscription, past the "
    "network: with payloads of a byte that is as little as a description from zone to zone.",
)  # fmt: skip
