"""Figure 14 of P3 (joins): network traffic of a mix of multi-way joins, star schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.lab.experiments.p3.figure_13 import BEST
from tamis.lab.experiments.p3.mixes import MIX, SUBSCRIPTIONS, carried_mix
from tamis.lab.experiments.p3.schemes import NAMES, STYLES
from tamis.lab.measuring import Check, Figure, Point, Rows, Table, Verdict, axes_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
In a star schema every fact has one join result, and still Ref-SJ-Clu⁺ has 5, 9 and 127 times less traffic than Rel-Sel,
Ref-J and Enum-J where facts have no payload, since it sends bulky rows of dimensions only when they are needed. Where
facts have payloads too, it has less of an advantage, but still a clear one."""

EVENTS = 500
SIZES = f"""\
A CAN of 1,000 nodes for each group of semijoins, each signature or each table, as the scheme needs. {MIX}; S a fact
table of 25,000 rows, the others dimensions of 1,000 rows, as in the paper. An event is a new fact (the oldest goes) or
a new version of a row of a dimension, all four tables alike. Dimensions have payloads of 100 bytes, facts none or the
same. One seed, {EVENTS} events."""

SCHEMES = ("enum-j", "ref-j", "rel-sel", "ref-sj-clu+")
BULKY = {"0 2 3": "no payload", "0 1 2 3": "100 bytes"}
SAID = {"rel-sel": 5, "ref-j": 9, "enum-j": 127}


def grid(scale: float) -> list[Point]:
    common: dict[str, str | int | float | bool] = {
        "star": True, "seed": 1, "events": EVENTS, "subscriptions": SUBSCRIPTIONS, "decomposition": BEST,
    }  # fmt: skip
    if scale < 1:
        common |= {"events": 10, "subscriptions": max(100, round(SUBSCRIPTIONS * scale)), "nodes": 50}
    return [{**common, "scheme": scheme, "bulky": bulky} for bulky in BULKY for scheme in SCHEMES]


def _traffic(rows: Rows) -> dict[tuple[str, str], float]:
    return {(row["scheme"], row["bulky"]): row["bytes"] / 1000 for row in rows}


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    traffic = _traffic(rows)
    for shift, (bulky, label) in zip((-0.2, 0.2), BULKY.items(), strict=True):
        places = [place + shift for place in range(len(SCHEMES))]
        colours = [STYLES[name].colour for name in SCHEMES]
        bars = axes.bar(places, [traffic[name, bulky] for name in SCHEMES], width=0.38, color=colours, label=label)
        for bar in bars:
            bar.set_alpha(1.0 if bulky == "0 2 3" else 0.55)
    axes_of(
        axes,
        x="",
        y="kB between nodes for an event",
        title="Star schema: facts without payload, and (pale) with",
        log="y",
    )
    axes.set_xticks(range(len(SCHEMES)), [NAMES[name] for name in SCHEMES])


def table(rows: Rows) -> Table:
    traffic = _traffic(rows)
    return Table(
        ["scheme", *(f"facts with {label}, kB" for label in BULKY.values())],
        [[NAMES[name], *(f"{traffic[name, bulky]:,.2f}" for bulky in BULKY)] for name in SCHEMES],
    )


def verdict(rows: Rows) -> Verdict:
    traffic = _traffic(rows)
    bare, full = BULKY
    checks = []
    for name, said in SAID.items():
        ratio = traffic[name, bare] / max(0.001, traffic["ref-sj-clu+", bare])
        checks.append(
            Check(
                f"{NAMES[name]} ÷ Ref-SJ-Clu⁺, facts without payload",
                f"{said} (at least half)",
                f"{ratio:.1f}",
                ratio >= said / 2,
            )
        )
    for name in SAID:
        ratio = traffic[name, full] / max(0.001, traffic["ref-sj-clu+", full])
        checks.append(Check(f"{NAMES[name]} ÷ Ref-SJ-Clu⁺, facts with payload", "> 1", f"{ratio:.1f}", ratio > 1))
    return Verdict(checks, WHY)


WHY = (
    "How events are shared among the tables is not stated; ours come to each dimension as often as to the facts. A new "
    "version of a row of a dimension ends and begins results of all its facts, 25 on average: Ref-J tells of each in "
    "every signature, and Ref-SJ-Clu⁺ brings facts into reach and drops them, which costs most where facts have "
    "payloads themselves. Enum-J's messages take one hop each here, and few subscriptions are affected an event."
)

FIGURE = Figure(
    "p3/figure-14", "multi-way joins, star schema", CLAIM, SIZES,
    version=1, alone=False, grid=grid, run=carried_mix, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
