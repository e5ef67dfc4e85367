"""Figure 15 of P4 (covering, merging): false positives against the imperfect merging threshold."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

import tamis
from tamis.arrays import Bools
from tamis.lab.experiments.p4 import sets
from tamis.lab.experiments.p4.figure_14 import FULL, THRESHOLDS
from tamis.lab.experiments.p4.sets import IMPERFECT, SETS
from tamis.lab.measuring import (
    PAPER,
    Check,
    Figure,
    Point,
    Row,
    Rows,
    Style,
    Table,
    Verdict,
    axes_of,
    curves,
    legend_beside,
    one,
    scaled,
)
from tamis.workloads import padres_sets

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
The larger the IMT, the more publications match that nobody wants. "If the system tolerates up to 2.5% of false
positives, an IMT with value less than 0.1 can satisfy the requirement." """

SIZES = f"""\
100,000 subscriptions of set A, as in figure 14. {sets.GENERATOR} 50,000 publications of 2, 3 and 5 of the 20
attributes, values uniform: how many attributes the paper's have is lost, and the figure depends on it. A false
positive is a publication that the merged table lets through, and no subscription wants."""

EVENTS = 50_000
TOLERATED, BELOW = 0.025, 0.1
PUBLISHED = 3
STYLES = {
    "2 attributes": Style("publications of 2 attributes", "#c8553d", "^"),
    "3 attributes": Style("3 attributes", "#3d405b", "o"),
    "5 attributes": Style("5 attributes", "#2a9d8f", "s"),
}


def grid(scale: float) -> list[Point]:
    (size,) = scaled((FULL,), scale, least=20)
    return [
        {"subscriptions": size, "events": min(EVENTS, 10 * size), "imt": imt, "published": published}
        for imt in THRESHOLDS
        for published in STYLES
    ]


def run(point: Point) -> Rows:
    size, published = int(point["subscriptions"]), str(point["published"])
    events = int(point["events"])
    wanted, through = _wanted(size, events)[published], _through(size, events)[float(point["imt"])][published]
    lost = int((wanted & ~through).sum())
    return [
        {
            "wanted": int(wanted.sum()),
            "through": int(through.sum()),
            "vain": int((through & ~wanted).sum()),
            "lost": lost,
        }
    ]


@lru_cache(maxsize=1)
def _wanted(size: int, events: int) -> dict[str, Bools]:
    return _matched(sets.workload(SETS["A"], size).subscriptions, events)


@lru_cache(maxsize=1)
def _through(size: int, events: int) -> dict[float, dict[str, Bools]]:
    """Publications forwarded at each threshold, computed once for all points."""
    table = sets.inserted(SETS["A"], size, sets.policy(IMPERFECT))
    chosen = sets.workload(SETS["A"], size)
    return {
        imt: _matched(sets.as_table(list(here.forwarded()), chosen), events)
        for imt, here in zip(THRESHOLDS, sets.raised(table, THRESHOLDS), strict=True)
    }


def _matched(subscriptions: pa.Table, events: int) -> dict[str, Bools]:
    """Publications that match some subscription, by number of attributes."""
    found, index = {}, None
    for published in STYLES:
        chosen = padres_sets(1, events, values=SETS["A"], published=int(published[0]))
        index = index or tamis.compile(subscriptions, chosen.schema)
        found[published] = index.match(chosen.events).counts > 0
    return found


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    told: list[Row] = [{**row, "share": 100 * _share(row)} for row in rows]
    curves(axes, told, x="imt", y="share", series="published", styles=STYLES)
    axes_of(axes, x="imperfect merging threshold (IMT)", y="% of what is let through",
            title="False positives between brokers", log="")  # fmt: skip
    axes.set_xscale("symlog", linthresh=0.01)
    axes.set_xticks([0, 0.005, 0.01, 0.03, 0.1, 0.3, 1], ["0", ".005", ".01", ".03", ".1", ".3", "1"])
    axes.xaxis.minorticks_off()
    axes.plot(
        [0, BELOW], [100 * TOLERATED] * 2, color=PAPER, linestyle="--", linewidth=1.2, label="paper: at most 2.5%"
    )
    legend_beside(axes, picture)


def table(rows: Rows) -> Table:
    lines = [
        [f"{imt:g}", *(f"{_share(_row(rows, imt, name)):.2%}" for name in STYLES)]
        for imt in sorted({row["imt"] for row in rows})
    ]
    return Table(["IMT", *(f"false positives, {style.label}" for style in STYLES.values())], lines)


def verdict(rows: Rows) -> Verdict:
    checks = []
    for name in STYLES:
        worst = max(_share(row) for row in rows if row["published"] == name and row["imt"] <= BELOW)
        what = f"false positives up to IMT {BELOW:g}, {name}"
        checks.append(Check(what, f"≤ {TOLERATED:.1%}", f"{worst:.2%}", worst <= TOLERATED))
    name = f"{PUBLISHED} attributes"
    shares = [_share(_row(rows, imt, name)) for imt in THRESHOLDS]
    rises = all(a <= b + 1e-3 for a, b in pairwise(shares))
    checks.append(
        Check("the larger the IMT, the more of them", "yes", f"from {shares[0]:.2%} to {shares[-1]:.2%}", rises)
    )
    lost = sum(row["lost"] for row in rows)
    checks.append(Check("publications that somebody wants and the table stops", "(0)", f"{lost}", lost == 0))
    none = max(_share(row) for row in rows if row["imt"] == 0)
    checks.append(Check("false positives of perfect mergers", "(0)", f"{none:.2%}", none == 0))
    return Verdict(checks, _why(rows))


def _why(rows: Rows) -> str:
    wanted = {name: _row(rows, 0.0, name)["wanted"] / _row(rows, 0.0, name)["events"] for name in STYLES}
    told = ", ".join(f"{share:.0%} of those of {name}" for name, share in wanted.items())
    return (
        "The fewer attributes a publication has, the fewer are wanted at all, and the more of those that a merger lets "
        f"through are in vain: {told} are wanted. So the claim holds of some publications and not of all, and which "
        "the paper's were is lost. These are false positives between brokers; the broker at the edge matches with the "
        "subscriptions themselves, and no client gets one."
    )


def _share(row: Row) -> float:
    return float(row["vain"] / max(1, row["through"]))


def _row(rows: Rows, imt: float, published: str) -> Row:
    return one(rows, imt=imt, published=published)


FIGURE = Figure(
    "p4/figure-15", "false positives against the IMT", CLAIM, SIZES,
    version=1, alone=True, grid=grid, run=run, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
