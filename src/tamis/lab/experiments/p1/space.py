"""Experiment on the space half of P1's figure: edges and successors against the number of subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.lab.experiments.p1.trees import (
    ANNOTATED,
    FACTORED,
    KINDS,
    PLAIN,
    SET_UP,
    SHARED,
    SHORT,
    SIZES,
    WAYS,
    counted,
    exponent_of,
    of,
)
from tamis.lab.measuring import PAPER, Check, Figure, Point, Row, Rows, Table, Verdict, axes_of, curves, pivot, scaled
from tamis.workloads.papers import ATTRIBUTES

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
A tree of N subscriptions on K attributes has O(N·K) nodes: at most N·K and a root. Space is counted as edges, plus
successors where these are annotated; annotation adds a linear part, factoring more."""

_WAYS = (PLAIN, ANNOTATED, FACTORED)
_KINDS = ("random", "hard")


def grid(scale: float) -> list[Point]:
    sizes = reversed(scaled(SIZES, scale, least=10))
    return [{"subscriptions": size, "kind": kind, "way": way} for size in sizes for kind in _KINDS for way in _WAYS]


def draw(rows: Rows, picture: Picture) -> None:
    sizes = sorted({row["subscriptions"] for row in rows})
    for axes, kind in zip(picture.subplots(1, 2, sharey=True), _KINDS, strict=True):
        some = [row for row in _spaces(rows) if row["kind"] == kind]
        axes.plot(sizes, [size * ATTRIBUTES for size in sizes], color=PAPER, linewidth=1.4, label="N·K")
        styles = {way: WAYS[way] for way in _WAYS}
        curves(axes, some, x="subscriptions", y="space", series="way", styles=styles)
        axes_of(axes, x="subscriptions", y="edges + successors" if kind == _KINDS[0] else "", title=KINDS[kind].label)
        axes.legend(frameon=False, fontsize="small")


def table(rows: Rows) -> Table:
    names = {f"{kind} {way}": f"{kind}: {SHORT[way]}" for kind in _KINDS for way in _WAYS}
    named = [{**row, "curve": f"{row['kind']} {row['way']}"} for row in _spaces(rows)]
    return pivot(named, x="subscriptions", series="curve", y="space", names=names, form="{:,.0f}".format)


def verdict(rows: Rows) -> Verdict:
    checks = []
    for kind in _KINDS:
        plain = of(rows, kind, PLAIN)
        within = all(row["nodes"] <= row["subscriptions"] * ATTRIBUTES + 1 for row in plain)
        most = max(row["nodes"] / row["subscriptions"] for row in plain)
        label = KINDS[kind].label
        checks.append(Check(f"nodes of the plain tree: {label}", f"≤ {ATTRIBUTES}·N + 1", f"≤ {most:.1f}·N", within))
        for way in _WAYS:
            slope = exponent_of(of(_spaces(rows), kind, way), "space")
            checks.append(Check(f"growth: {label}, {WAYS[way].label}", "linear", f"{slope:.2f}", slope <= 1.02))
        last = {way: of(_spaces(rows), kind, way)[-1] for way in _WAYS}
        added = last[ANNOTATED]["successors"] / last[ANNOTATED]["edges"]
        checks.append(Check(f"successors: {label}", "a linear part", f"{added:.0%} of the edges"))
        more = last[FACTORED]["space"] / last[ANNOTATED]["space"]
        checks.append(Check(f"factoring: {label}", "more space", f"{more:.1f}×", more > 1))
    return Verdict(checks, _why(rows))


def _why(rows: Rows) -> str:
    last = of(rows, "random", ANNOTATED)[-1]
    held = last["bytes"] / last["subscriptions"]
    return (
        "Counted, so the same on every machine. Paths share their beginnings, the more of them the more there are, so "
        "a tree has fewer nodes than a subscription has attributes, and collapsing the chains of *-edges leaves few "
        f"more than a subscription has tests. In memory, with room to grow, that is {held:,.0f} bytes a subscription "
        f"at {last['subscriptions']:,} random ones. Factoring copies a subscription into the trees of all values that "
        "it leaves open: cheap where few do, dear in the hard sets, where nearly all do."
    )


def _spaces(rows: Rows) -> list[Row]:
    return [{**row, "space": row["edges"] + row["successors"]} for row in rows]


FIGURE = Figure(
    "p1/space", "edges and successors of a tree", CLAIM, SET_UP,
    version=1, alone=False, grid=grid, run=counted, draw=draw, table=table, verdict=verdict, shared=SHARED,
)  # fmt: skip
