"""Common parts of P2's experiments: the algorithms, their plot styles, and the measurement of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tamis.lab.comparison import measure
from tamis.lab.measuring import Point, Row, Rows, Style
from tamis.workloads import Workload, le_subscribe

FAIR, PREFERRED, QUARANTINE = "fair-predicate", "equality-preferred", "quarantine"
OURS = (FAIR, PREFERRED, QUARANTINE)  # the paper's own, the ones in its figures
STYLES = {
    "naive": Style("naive (the oracle, plain Python)", "#555555", "x", ":"),
    "scan": Style("naive (compiled scan)", "#9a9a9a", "x", "--"),
    FAIR: Style("fair-predicate", "#7a8f3c"),
    PREFERRED: Style("equality-preferred", "#e09f3e", "s"),
    QUARANTINE: Style("nonequality quarantining", "#c8553d", "^"),
    "hanson": Style("Hanson", "#6a4c93", "v", "-."),
    "neon": Style("NEON", "#d16ba5", "<", "-."),
    "gough": Style("Gough & Smith", "#2a9d8f", ">", "-."),
    "tree": Style("Aguilera (tree)", "#8d5b3a", "d", "-."),
    "columnar": Style("columnar (Tamis)", "#1f5f8b", "D"),
}
NAMES = {name: style.label for name, style in STYLES.items()}
EVENTS = 8_192
NOISE = 1.15  # times that are less than that apart are no order: the same point twice may differ by as much
SAME = 1.2  # two algorithms that do the same take times no further apart than that
CLEARING = (
    " That the two are not alike is of our equality-preferred: its kernel clears a counter for every subscription at "
    "every event, also where nothing was counted for, and quarantining does not. So the code reads; we have not tested "
    "it by changing it."
)
WORKLOAD = (
    "Le Subscribe's workload: six optional attributes, three of 200 strings and three of 5,000 numbers, uniform; each "
    "is in a subscription and in an event with probability ½; on numbers equality with probability p, else < or >"
)


@lru_cache(maxsize=1)  # the algorithms at one size come one after the other
def workload(subscriptions: int, p: float) -> Workload:
    return le_subscribe(subscriptions, EVENTS, p=p)


def measured(point: Point) -> Rows:
    """Measurement of one algorithm at one point: microseconds of the processor for an event, Arrow in, all matches
    out."""
    chosen = workload(int(point["subscriptions"]), float(point["p"]))
    found = measure(str(point["matcher"]), chosen, budget_seconds=float(point["budget"]))
    return [{**found.to_row(), "us_per_event": found.seconds_per_event * 1e6}]


def curve(rows: Rows, matcher: str, x: str = "subscriptions") -> list[Row]:
    return sorted((row for row in rows if row["matcher"] == matcher), key=lambda row: row[x])


def at(rows: Sequence[Row], matcher: str, subscriptions: int) -> Row:
    """Row of one algorithm at the size nearest to this one."""
    return min(curve(rows, matcher), key=lambda row: abs(row["subscriptions"] - subscriptions))
