"""Figure 14 of P4 (covering, merging): the size of the routing table against the imperfect merging threshold."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from tamis.lab.experiments.p4 import sets
from tamis.lab.experiments.p4.sets import IMPERFECT, NAMES, SETS
from tamis.lab.measuring import (
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
    quoted,
    scaled,
)
from tamis.language import normalise, parse

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
"After covering and perfect merging, where IMT equals 0, all 100,000 subscriptions have been compacted to about 32,852."
With a larger IMT the table shrinks further; "most mergers are generated with IMT ranging from 0 to 0.15". Knowing what
is advertised, more subscriptions are merged at the same IMT, and no more false positives come of it."""

SIZES = f"""\
100,000 subscriptions of set A, the paper's. {sets.GENERATOR} Mergers by the paper's Table 1, of subscriptions that
differ in their topmost attribute; the threshold is raised step by step on one table. Publications are uniform on all
attributes, as the paper assumes. What is advertised is
not in the paper: here, that each of the first three attributes is in the upper two thirds of its values. An IMT is a
share of all events, those that nobody advertises among them."""

FULL = 100_000
THRESHOLDS = (0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.3, 0.6, 1.0)
AT_ZERO, RANGE = 32_852, (30_000, 36_000)
MOST, BEFORE = 0.9, 0.15
ADVERTISED = 3
STYLES = {
    "everything": Style("anything may come", "#3d405b"),
    "two thirds": Style("three attributes advertised", "#2a9d8f", "s"),
}


def grid(scale: float) -> list[Point]:
    (size,) = scaled((FULL,), scale, least=20)
    return [
        {"subscriptions": size, "imt": imt, "advertised": advertised} for advertised in STYLES for imt in THRESHOLDS
    ]


def run(point: Point) -> Rows:
    return [_sweep(int(point["subscriptions"]), str(point["advertised"]))[float(point["imt"])]]


@lru_cache(maxsize=2)
def _sweep(subscriptions: int, advertised: str) -> dict[float, Row]:
    """Sweep of all thresholds on one table, which points share, as they run one after the other."""
    values = SETS["A"]
    table = sets.inserted(values, subscriptions, sets.policy(IMPERFECT))
    covered = table.forwarded_count
    if advertised != "everything":
        text = " AND ".join(f"{name} >= {values // 3}" for name in NAMES[:ADVERTISED])
        table.advertise([normalise(parse(text, table.schema), table.schema)])
    return {
        imt: {"covered": covered, "kept": here.forwarded_count, "mergers": len(here.mergers)}
        for imt, here in zip(THRESHOLDS, sets.raised(table, THRESHOLDS), strict=True)
    }


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    curves(axes, rows, x="imt", y="kept", series="advertised", styles=STYLES)
    axes_of(axes, x="imperfect merging threshold (IMT)", y="subscriptions in the routing table",
            title="What is left of 100,000 subscriptions (★ paper: 32,852 at IMT 0)", log="")  # fmt: skip
    axes.set_xscale("symlog", linthresh=0.01)
    axes.set_xticks([0, 0.005, 0.01, 0.03, 0.1, 0.3, 1], ["0", ".005", ".01", ".03", ".1", ".3", "1"])
    axes.xaxis.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_ylim(bottom=0)
    quoted(axes, 0, AT_ZERO, "")
    legend_beside(axes, picture)


def table(rows: Rows) -> Table:
    lines = [
        [f"{imt:g}", *(f"{_row(rows, imt, name)['kept']:,}" for name in STYLES)]
        for imt in sorted({row["imt"] for row in rows})
    ]
    return Table(["IMT", *(style.label for style in STYLES.values())], lines)


def verdict(rows: Rows) -> Verdict:
    low, high = RANGE
    zero, all_ = _row(rows, 0.0, "everything")["kept"], _row(rows, 1.0, "everything")["kept"]
    at = max(imt for imt in THRESHOLDS if imt <= BEFORE)
    share = (zero - _row(rows, at, "everything")["kept"]) / max(1, zero - all_)
    checks = [
        Check("left at IMT 0", f"{AT_ZERO:,} ({low:,} to {high:,})", f"{zero:,}", low <= zero <= high),
        Check(f"of the further reduction below IMT {BEFORE:g}", f"most (≥ {MOST:.0%})", f"{share:.1%}", share >= MOST),
    ]
    falls = all(
        _row(rows, a, name)["kept"] >= _row(rows, b, name)["kept"] for name in STYLES for a, b in pairwise(THRESHOLDS)
    )
    checks.append(Check("the larger the IMT, the smaller the table", "yes", f"from {zero:,} to {all_:,}", falls))
    more = all(_row(rows, imt, "two thirds")["kept"] <= _row(rows, imt, "everything")["kept"] for imt in THRESHOLDS)
    told = f"{zero:,} → {_row(rows, 0.0, 'two thirds')['kept']:,} at IMT 0"
    checks.append(Check("advertisements let more be merged", "yes", told, more))
    return Verdict(checks, _why(zero, all_))


def _why(zero: int, all_: int) -> str:
    return (
        "A merger's IMT is the share of events that match it and none of its parts. With one equality left, `= v` of "
        "33 values, no merger can forward more than 3% of the events in vain, so that all but the mergers under an "
        f"inequality are made below .03. Table 1 joins open ranges with what lies beyond them, and of {zero:,} leaves "
        f"{all_:,}: two equalities that are apart stay apart (Tamis has a rule for these too, `Rules.HULLS`). "
        "That advertisements help at every IMT depends on what an IMT is a share of. It was first taken as a share of "
        "the advertised events alone, with all twenty attributes advertised: each of these is likelier then, and "
        "between .01 and .03 fewer mergers were allowed than without advertisements."
    )


def _row(rows: Rows, imt: float, advertised: str) -> Row:
    return one(rows, imt=imt, advertised=advertised)


FIGURE = Figure(
    "p4/figure-14", "the size of the routing table against the IMT", CLAIM, SIZES,
    version=1, alone=True, grid=grid, run=run, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
