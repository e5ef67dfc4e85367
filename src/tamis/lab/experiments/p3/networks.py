"""Experiment: P3's join schemes over both kinds of network: a CAN, and links that know the ranges behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.lab.experiments.p3.network import ONE_SEED, SUBSCRIPTIONS, carried, medians, over_seeds
from tamis.lab.experiments.p3.schemes import NAMES, STYLES
from tamis.lab.measuring import Check, Figure, Point, Rows, Table, Verdict, axes_of, one

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
Any content-driven network will do (App. A): the schemes need nothing but its interface. The paper measures a CAN
only."""

KINDS = {"zones": "CAN", "links": "content-based"}
SIZES = f"""\
1,000 nodes on a generated Internet-like topology of 20,000, {SUBSCRIPTIONS:,} subscriptions. As a CAN, each node owns
the subscriptions of its zone. As a content-based network the nodes are a tree of the topology's near neighbours, with
subscriptions at nodes drawn at random, and each link knows at most 256 boxes around the ranges behind it.
{ONE_SEED}."""
BY = ("network", "scheme")


def grid(scale: float) -> list[Point]:
    return over_seeds(
        [{"network": kind, "scheme": scheme, "counting": True} for kind in KINDS for scheme in STYLES], scale
    )


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    ours = medians(rows, BY)
    names = list(STYLES)
    for shift, (kind, label) in zip((-0.2, 0.2), KINDS.items(), strict=True):
        sizes = [one(ours, network=kind, scheme=name)["kilobytes"] for name in names]
        axes.bar([place + shift for place in range(len(names))], sizes, width=0.38, label=label,
                 color="#1f5f8b" if kind == "zones" else "#e09f3e")  # fmt: skip
    axes_of(axes, x="", y="kB between nodes for an event", title="Network traffic", log="y")
    axes.set_xticks(range(len(names)), [NAMES[name] for name in names], rotation=25)
    axes.legend(frameon=False)


def table(rows: Rows) -> Table:
    return Table(
        ["scheme", "network", "traffic, kB", "over links, kB", "messages", "reached in vain", "hop latency"],
        [
            [
                NAMES[row["scheme"]], KINDS[row["network"]], f"{row['kilobytes']:,.1f}",
                f"{row['link_bytes'] / 1000:,.1f}",
                f"{row['hops']:,.1f}", f"{row['idle']:,.1f}", f"{row['hop_latency']:.2f}",
            ]
            for row in medians(rows, BY)
        ],
    )  # fmt: skip


def verdict(rows: Rows) -> Verdict:
    ours = medians(rows, BY)
    checks = []
    for name in STYLES:
        there = {kind: one(ours, network=kind, scheme=name)["delivered"] for kind in KINDS}
        same = there["zones"] == there["links"]
        checks.append(
            Check(f"{NAMES[name]}: messages to subscriptions", "the same over both", "yes" if same else "no", same)
        )
    for kind, label in KINDS.items():
        clu = one(ours, network=kind, scheme="ref-sj-clu+")["bytes"]
        least = all(
            one(ours, network=kind, scheme=name)["bytes"] > clu
            for name in ("enum-j", "ref-j", "ref-j+", "rel-sel", "ref-sj-tup")
        )
        checks.append(
            Check(
                f"Ref-SJ-Clu⁺ below Enum-J, Ref-J, Ref-J⁺, Rel-Sel and Ref-SJ-Tup: {label}",
                "yes",
                "yes" if least else "no",
                least,
            )
        )
    return Verdict(checks, WHY)


WHY = (
    "In the CAN subscriptions with like interests share a node, in the content-based network those of one place do, so "
    "a message has to come to more nodes there; in return a hop is to a near neighbour, which shows in the bytes over "
    "the topology's links. Nodes that are reached in vain there are on the way to others, or behind a filter of too "
    "few boxes. Enumerating schemes use neither."
)

FIGURE = Figure(
    "p3/networks", "schemes over a CAN and over a content-based network", CLAIM, SIZES,
    version=1, alone=False, grid=grid, run=carried, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
