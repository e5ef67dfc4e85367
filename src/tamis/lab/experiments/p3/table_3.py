"""Table 3 of P3 (joins): what the server's node sends for an event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.lab.experiments.p3.figure_6 import BY, SHARED, SIZES, VERSION
from tamis.lab.experiments.p3.figure_6 import FIGURE as FIGURE_6
from tamis.lab.experiments.p3.network import carried, medians, order
from tamis.lab.experiments.p3.schemes import NAMES, STYLES
from tamis.lab.measuring import PAPER, Check, Figure, Rows, Table, Verdict, axes_of, curves, legend_beside, one
from tamis.lab.timing import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
The server sends for an event, at 100,000, 300,000 and 500,000 subscriptions, in kB: Enum-J 484.8, 1464 and 2461.5;
Enum-SJ 27.3, 82 and 137.6; Ref-J⁺ 13.4, 14.3 and 14.6; Rel-Sel .86, .95 and .88; Ref-SJ-Clu⁺ .38, .38 and .39."""
QUOTED = {
    "enum-j": (484.8, 1464.0, 2461.5), "enum-sj": (27.3, 82.0, 137.6), "ref-j+": (13.4, 14.3, 14.6),
    "rel-sel": (0.86, 0.95, 0.88), "ref-sj-clu+": (0.38, 0.38, 0.39),
}  # fmt: skip
SIZES_QUOTED = (100_000, 300_000, 500_000)
LESS, GROWTH, WITHIN = 1_000, 1.3, 2


def _stress(rows: Rows) -> list[dict[str, object]]:
    ours = medians(rows, BY)
    return [{**row, "kilobytes": row["server"] / 1000} for row in ours]


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    ours = _stress(rows)
    shown = {name: style for name, style in STYLES.items() if name in QUOTED}
    curves(axes, ours, x="subscriptions", y="kilobytes", series="scheme", styles=shown)
    for said in QUOTED.values():
        axes.plot(SIZES_QUOTED, said, "*", color=PAPER, markersize=9, zorder=5)
    ticks = {int(str(row["subscriptions"])) for row in ours}
    axes_of(axes, x="subscriptions", y="kB that the server's node sends for an event (stars: the paper)",
            title="Server stress", ticks=ticks)  # fmt: skip
    legend_beside(axes, picture)


def table(rows: Rows) -> Table:
    ours = _stress(rows)
    lines = []
    for name, said in QUOTED.items():
        for row in (row for row in ours if row["scheme"] == name):
            size = int(str(row["subscriptions"]))
            theirs = f"{said[SIZES_QUOTED.index(size)]:g}" if size in SIZES_QUOTED else "–"
            kilobytes, fan_out = float(str(row["kilobytes"])), float(str(row["fan_out"]))
            lines.append([NAMES[name], f"{size:,}", theirs, figures(kilobytes), f"{fan_out:.2f}"])
    return Table(["scheme", "subscriptions", "paper, kB", "ours, kB", "our fan-out"], lines)


def verdict(rows: Rows) -> Verdict:
    ours = medians(rows, BY)
    sizes = sorted({row["subscriptions"] for row in ours})
    checks = order(ours, tuple(QUOTED), "server", "subscriptions")
    at = SIZES_QUOTED[-1] if SIZES_QUOTED[-1] in sizes else sizes[-1]
    least = sizes[0]

    def server(scheme: str, size: int) -> float:
        return float(one(ours, scheme=scheme, subscriptions=size)["server"])

    less = server("enum-j", at) / server("ref-sj-clu+", at)
    checks.append(Check(f"Enum-J ÷ Ref-SJ-Clu⁺ at {at:,}", f"6,300 (ours: ≥ {LESS:,})", f"{less:,.0f}", less >= LESS))
    grows = server("ref-sj-clu+", at) / server("ref-sj-clu+", least)
    checks.append(
        Check(
            f"Ref-SJ-Clu⁺ from {least:,} to {at:,}",
            f"1.03 times (ours: ≤ {GROWTH})",
            f"{grows:.2f} times",
            grows <= GROWTH,
        )
    )
    for name in ("enum-j", "enum-sj"):
        for size, said in zip(SIZES_QUOTED, QUOTED[name], strict=True):
            if size in sizes:
                found = server(name, size) / 1000
                near = said / WITHIN <= found <= said * WITHIN
                checks.append(
                    Check(f"{NAMES[name]} at {size:,}", f"{said} kB (within 2 times)", f"{found:.1f} kB", near)
                )
    fan_out = {
        name: one(ours, scheme=name, subscriptions=least)["fan_out"] for name in ("ref-j+", "rel-sel", "ref-sj-clu+")
    }
    told = ", ".join(f"{NAMES[name]} {value:.1f}" for name, value in fan_out.items())
    checks.append(Check("neighbours that the server's node sends a message to", "not stated", told))
    return Verdict(checks, WHY)


WHY = (
    "What the server's node sends of a message that goes through the network depends on how many of its neighbours in "
    "the CAN it hands it to, which the paper does not state; ours is given with each line. So order and growth are "
    "held to the paper, kB only where messages have an address."
)

FIGURE = Figure(
    "p3/table-3", "server stress", CLAIM, SIZES,
    version=VERSION, alone=False, grid=FIGURE_6.grid, run=carried, draw=draw, table=table, verdict=verdict,
    shared=SHARED,
)  # fmt: skip
