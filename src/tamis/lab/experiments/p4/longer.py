"""Experiment beyond P4's figures: subscriptions of more than two conditions, whose diagrams share hardly anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.lab.comparison import measure
from tamis.lab.experiments.p4 import sets
from tamis.lab.experiments.p4.table_2 import BUDGET, MATCHERS
from tamis.lab.measuring import (
    Check,
    Figure,
    Point,
    Row,
    Rows,
    Table,
    Verdict,
    axes_of,
    budget,
    curves,
    legend_beside,
    one,
    scaled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
"The MBD-based routing is much faster than the naive approach, because distinct predicates are evaluated only once." The
paper does not say how many conditions its subscriptions have. Ours: with three or more there is hardly a node that two
of them share, and to evaluate all diagrams is no better than a scan in the end."""

SIZES = """\
50,000 subscriptions of 2 to 8 of 20 attributes, `=` with probability .97, integers uniform on 33 values (set A but for
the number of conditions); up to 20,000 publications of 3 attributes, values uniform. No covering, no merging."""

FULL = 50_000
EVENTS = 20_000
PUBLISHED = 3
LENGTHS = (2, 3, 4, 6, 8)


def grid(scale: float) -> list[Point]:
    (size,) = scaled((FULL,), scale, least=20)
    seconds = budget(BUDGET, scale)
    return [
        {"subscriptions": size, "conditions": length, "matcher": matcher, "budget": seconds}
        for length in LENGTHS
        for matcher in MATCHERS
    ]


def run(point: Point) -> Rows:
    size = int(point["subscriptions"])
    chosen = sets.workload(sets.SETS["A"], size, min(EVENTS, 10 * size), PUBLISHED, int(point["conditions"]))
    found = measure(str(point["matcher"]), chosen, budget_seconds=float(point["budget"]))
    return [{"us": found.seconds_per_event * 1e6, "nodes": found.nodes_visited / size}]


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    curves(axes, rows, x="conditions", y="us", series="matcher", styles=MATCHERS)
    title = "Routing time where subscriptions have more conditions"
    axes_of(axes, x="conditions a subscription", y="µs a publication", title=title, log="y", ticks=LENGTHS)
    legend_beside(axes, picture)


def table(rows: Rows) -> Table:
    header = ["conditions", "nodes a subscription", *(f"{style.label}, µs" for style in MATCHERS.values())]
    lines = [
        [str(n), f"{_row(rows, n, 'mbd')['nodes']:.2f}", *(f"{_row(rows, n, name)['us']:,.1f}" for name in MATCHERS)]
        for n in LENGTHS
    ]
    return Table(header, lines)


def verdict(rows: Rows) -> Verdict:
    checks = []
    for length in LENGTHS:
        ratio = _row(rows, length, "scan")["us"] / _row(rows, length, "mbd")["us"]
        told = f"{ratio:.2f} times as fast, {_row(rows, length, 'mbd')['nodes']:.2f} nodes a subscription"
        checks.append(Check(f"{length} conditions: MBDs against the scan", "", told))
    first, last = (_row(rows, length, "mbd")["us"] for length in (LENGTHS[0], LENGTHS[-1]))
    checks.append(
        Check("MBDs are slower the more conditions there are", "(yes)", f"{last / first:.1f} times", last > first)
    )
    shared = [_row(rows, length, "scan")["us"] / _row(rows, length, "mbd")["us"] for length in LENGTHS]
    told = f"from {shared[0]:.2f} to {shared[-1]:.2f} times as fast"
    checks.append(Check("and lose against the scan in the end", "(yes)", told, shared[-1] < 1))
    return Verdict(checks, _why(rows))


def _why(rows: Rows) -> str:
    last = LENGTHS[-1]
    return (
        "Two conditions share their lower node with some of the others, and an output node each is left. From three on "
        "the nodes in between are distinct too: "
        f"{_row(rows, last, 'mbd')['nodes']:.1f} nodes a subscription at {last} conditions, all of them evaluated for "
        "every event. A scan stops at the first condition that does not hold, so that further ones cost it nothing."
    )


def _row(rows: Rows, length: int, matcher: str) -> Row:
    return one(rows, conditions=length, matcher=matcher)


FIGURE = Figure(
    "p4/longer", "routing time where subscriptions have more conditions", CLAIM, SIZES,
    version=1, alone=True, grid=grid, run=run, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
