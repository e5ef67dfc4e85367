"""Figure 8 of P3 (joins): server time for an event against the relative join output rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamis.lab.experiments.p3.schemes import NAMES, STYLES, WORKLOAD, at, measured
from tamis.lab.measuring import (
    Check,
    Figure,
    Point,
    Rows,
    Table,
    Verdict,
    axes_of,
    budget,
    curves,
    legend_beside,
    pivot,
)
from tamis.lab.timing import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
With more rows in S, an event has more join results. Ref-J is very good where they are few, and degrades quickly by what
it has to send; Ref-SJ-Clu⁺ scales well."""

SUBSCRIPTIONS = 100_000
SIZES = f"""\
{WORKLOAD}, but S has 100 to 10,100 rows; {SUBSCRIPTIONS:,} subscriptions. An event has as many join results as its key
has rows of S: a hundredth of S on average."""

FULL = (100, 1_100, 2_600, 5_100, 10_100)
KEYS = 100
BUDGET = 1.0
STEEP, EASY = 5.0, 3.0


def grid(scale: float) -> list[Point]:
    subscriptions = max(50, round(SUBSCRIPTIONS * min(1.0, scale)))
    return [
        {"subscriptions": subscriptions, "s_rows": rows, "scheme": scheme, "budget": budget(BUDGET, scale)}
        for rows in FULL
        for scheme in STYLES
    ]


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    curves(axes, rows, x="s_rows", y="us_per_event", series="scheme", styles=STYLES)
    axes_of(axes, x="rows of S", y="µs of the processor for an event", title="Processing time", ticks=set(FULL))
    legend_beside(axes, picture)


def table(rows: Rows) -> Table:
    names = {name: f"{label}, µs" for name, label in NAMES.items()}
    return pivot(rows, x="s_rows", series="scheme", y="us_per_event", names=names, form=figures)


def verdict(rows: Rows) -> Verdict:
    def time(scheme: str, s_rows: int) -> float:
        return float(at(rows, scheme, "s_rows", s_rows)["us_per_event"])

    least, largest = FULL[0], FULL[-1]
    growth = {name: time(name, largest) / time(name, least) for name in ("ref-j", "ref-sj-clu+")}
    rate = f"from {least / KEYS:.0f} to {largest / KEYS:.0f} results"
    checks = [
        Check(f"Ref-J {rate}", f"degrades (> {STEEP} times)", f"{growth['ref-j']:.1f} times", growth["ref-j"] > STEEP),
        Check(
            f"Clu⁺ {rate}",
            f"scales well (< {EASY} times)",
            f"{growth['ref-sj-clu+']:.1f} times",
            growth["ref-sj-clu+"] < EASY,
        ),
        Check(
            "Ref-J beside Clu⁺ at the lowest rate",
            "very good",
            f"{time('ref-j', least) / time('ref-sj-clu+', least):.2f} times as long",
            time("ref-j", least) <= 1.5 * time("ref-sj-clu+", least),
        ),
        Check(
            "Ref-J ÷ Clu⁺ at the highest rate",
            "> 1",
            f"{time('ref-j', largest) / time('ref-sj-clu+', largest):.1f}",
            time("ref-j", largest) > time("ref-sj-clu+", largest),
        ),
    ]
    return Verdict(checks, WHY)


WHY = (
    "Ref-J writes a message for every row of S with the event's key. Ref-SJ-Clu⁺ leaps from anchor to anchor and "
    "looks at no more rows than there are anchors beside them."
)

FIGURE = Figure(
    "p3/figure-8", "server time against the join output rate", CLAIM, SIZES,
    version=1, alone=True, grid=grid, run=measured, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
