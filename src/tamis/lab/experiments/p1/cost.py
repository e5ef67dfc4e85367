"""Experiment on P1's theorem and the cost half of its figure: nodes visited against the number of subscriptions."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tamis.lab.experiments.p1.trees import FACTORED, KINDS, PLAIN, SET_UP, SHARED, SIZES, counted, exponent_of, of
from tamis.lab.measuring import (
    GREY,
    PAPER,
    Check,
    Figure,
    Point,
    Rows,
    Style,
    Table,
    Verdict,
    axes_of,
    curves,
    pivot,
    scaled,
)
from tamis.workloads.papers import exponent, visits_bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
For uniform events the expected number of visited nodes is at most V·K₁·(K₁·|S|^(1−λ) − 1)·(ln V + ln K₁) /
((V·K₁ − 1)·ln K₁) for *any* set S of subscriptions on K attributes of V values, where K₁ = K + 1 and λ = ln V / (ln V +
ln K₁): it grows less than linearly. The simulations agree, with factoring on and the matches of an event held."""

# The theorem is about the plain tree; the paper's simulations had all optimisations, and held the matches.
_CURVES = (("random", PLAIN), ("held", PLAIN), ("hard", PLAIN), ("held", FACTORED))
_STYLES = {f"{kind} {way}": KINDS[kind] for kind, way in _CURVES if way == PLAIN} | {
    "held factored": Style(f"{KINDS['held'].label}, all optimisations", KINDS["held"].colour, "D", "--")
}


def grid(scale: float) -> list[Point]:
    sizes = reversed(scaled(SIZES, scale, least=10))
    return [{"subscriptions": size, "kind": kind, "way": way} for size in sizes for kind, way in _CURVES]


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    sizes = sorted({row["subscriptions"] for row in rows})
    bound = f"the theorem's bound: 1−λ = {exponent():.2f}"
    axes.plot(sizes, [visits_bound(size) for size in sizes], color=PAPER, linewidth=1.4, label=bound)
    curves(axes, _named(rows), x="subscriptions", y="visits", series="curve", styles=_with_exponents(rows))
    least = min(row["visits"] for row in rows)
    linear = [least * size / sizes[0] for size in sizes]
    axes.plot(sizes, linear, color=GREY, linewidth=1, linestyle=":", label="linear growth: 1")
    axes_of(axes, x="subscriptions", y="nodes visited by an event", title="Visited nodes, uniform events")
    axes.set_ylim(bottom=least / 2, top=2 * visits_bound(sizes[-1]))
    axes.legend(frameon=False, fontsize="small", title="with the exponent of growth", alignment="left")


def _with_exponents(rows: Rows) -> dict[str, Style]:
    slopes = {f"{kind} {way}": exponent_of(of(rows, kind, way), "visits") for kind, way in _CURVES}
    return {name: style._replace(label=f"{style.label}: {slopes[name]:.2f}") for name, style in _STYLES.items()}


def table(rows: Rows) -> Table:
    names = {name: style.label for name, style in _STYLES.items()} | {"bound": "bound"}
    bounds = [{**row, "curve": "bound", "visits": visits_bound(row["subscriptions"])} for row in rows]
    return pivot(
        [*_named(rows), *bounds], x="subscriptions", series="curve", y="visits", names=names, form="{:,.0f}".format
    )


def verdict(rows: Rows) -> Verdict:
    under = all(row["visits"] < visits_bound(row["subscriptions"]) for row in rows)
    nearest = max(row["visits"] / visits_bound(row["subscriptions"]) for row in rows)
    checks = [Check("visits under the bound, every set and size", "always", f"at most {nearest:.1%} of it", under)]
    for kind, way in _CURVES:
        slope = exponent_of(of(rows, kind, way), "visits")
        name = _STYLES[f"{kind} {way}"].label
        told = f"{slope:.2f}"
        checks.append(Check(f"growth: {name}", f"exponent ≤ 1−λ = {exponent():.2f}", told, slope <= exponent()))
    return Verdict(checks, _why(rows))


def _why(rows: Rows) -> str:
    largest = max(row["subscriptions"] for row in rows)
    last = {f"{row['kind']} {row['way']}": row for row in rows if row["subscriptions"] == largest}
    share = last["hard plain"]["visits"] / largest
    steps = [exponent_of(pair, "visits") for pair in pairwise(of(rows, "hard", PLAIN))]
    return (
        f"Counted, so the same on every machine. At {largest:,} subscriptions an event visits "
        f"{last['random plain']['visits']:,.0f} nodes of the plain tree, and {last['hard plain']['visits']:,.0f} where "
        f"the subscriptions are made to be hard, {share:.2f} for each of them. In random sets an event matches ever "
        f"more subscriptions ({last['random plain']['matches']:,.0f} at the end), and each match is a path to a leaf: "
        "so these grow faster than those whose matches are held. The hard sets grow in steps, as the subscriptions of "
        f"two tests, of three, of four come in: from one size to the next with exponents of {min(steps):.2f} to "
        f"{max(steps):.2f}. The bound is for any set, so it says nothing of a step from one to another."
    )


def _named(rows: Rows) -> Rows:
    return [{**row, "curve": f"{row['kind']} {row['way']}"} for row in rows]


FIGURE = Figure(
    "p1/cost", "nodes visited by an event", CLAIM, SET_UP,
    version=1, alone=False, grid=grid, run=counted, draw=draw, table=table, verdict=verdict, shared=SHARED,
)  # fmt: skip
