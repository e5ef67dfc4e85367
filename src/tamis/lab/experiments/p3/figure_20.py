"""Figure 20 of P3 (joins): network traffic for an event with the last hop, from nodes to subscribers."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from tamis.lab.experiments.p3.network import NETWORK, ONE_SEED, SUBSCRIPTIONS, carried, over_seeds
from tamis.lab.experiments.p3.schemes import NAMES, STYLES
from tamis.lab.measuring import GREY, Check, Figure, Point, Row, Rows, Table, Verdict, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
With the last hop, from nodes to subscribers by unicast, semijoins are more attractive still. Enum-SJ has the least
traffic, since it goes past the network, at the price of the server's stress; Ref-SJ-Clu⁺ has only slightly more."""

SIZES = f"{NETWORK}. {SUBSCRIPTIONS:,} subscriptions. {ONE_SEED}."


def grid(scale: float) -> list[Point]:
    return over_seeds([{"scheme": scheme, "counting": True} for scheme in STYLES], scale)


def _sums(rows: Rows) -> dict[str, tuple[float, float]]:
    """Bytes between nodes and of the last hop, medians over seeds, by scheme."""
    return {
        name: (median(float(row["bytes"]) for row in some), median(float(row["last_hop"]) for row in some))
        for name in STYLES
        if (some := [row for row in rows if row["scheme"] == name])
    }


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    sums = _sums(rows)
    names = sorted(sums, key=lambda name: sum(sums[name]))
    between = [sums[name][0] / 1000 for name in names]
    last = [sums[name][1] / 1000 for name in names]
    axes.barh([NAMES[name] for name in names], between, color=[STYLES[name].colour for name in names])
    axes.barh([NAMES[name] for name in names], last, left=between, color=GREY, alpha=0.55, label="the last hop")
    axes.set_xscale("log")
    axes.set_xlim(left=min(between) / 3)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.3g}")
    axes.set_xlabel("kB for an event (log scale: the grey part of a bar is what the last hop adds)")
    axes.set_title("Network traffic with the last hop", loc="left", fontsize="medium")
    plain(axes, "none")
    axes.legend(frameon=False, loc="lower right")


def table(rows: Rows) -> Table:
    lines: list[Row] = [
        {"name": NAMES[name], "between": between, "last": last} for name, (between, last) in _sums(rows).items()
    ]
    lines.sort(key=lambda row: -(row["between"] + row["last"]))
    return Table(
        ["scheme", "between nodes, kB", "the last hop, kB", "in all, kB"],
        [
            [
                row["name"],
                *(f"{part / 1000:,.1f}" for part in (row["between"], row["last"], row["between"] + row["last"])),
            ]
            for row in lines
        ],
    )


def verdict(rows: Rows) -> Verdict:
    sums = _sums(rows)
    whole = {name: sum(parts) for name, parts in sums.items()}
    least = min(whole, key=lambda name: whole[name])
    more = whole["ref-sj-clu+"] / whole["enum-sj"]
    checks = [
        Check("least traffic", "Enum-SJ", NAMES[least], least == "enum-sj"),
        Check("Ref-SJ-Clu⁺ ÷ Enum-SJ", "slightly more than 1", f"{more:.2f}", 1 <= more <= 2),
    ]
    for name in ("enum-j", "ref-j+", "rel-sel"):
        now, before = whole[name] / whole["ref-sj-clu+"], sums[name][0] / sums["ref-sj-clu+"][0]
        checks.append(Check(f"{NAMES[name]} ÷ Ref-SJ-Clu⁺", "> 1", f"{now:.1f} ({before:.1f} without)", now > 1))
    return Verdict(checks, WHY)


WHY = (
    "Every subscription gets the whole message, description included. What a scheme sends to subscribers is what it "
    "makes of the change: rows of semijoins, join results, or every row that is selected."
)

FIGURE = Figure(
    "p3/figure-20", "network traffic with the last hop", CLAIM, SIZES,
    version=1, alone=False, grid=grid, run=carried, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
