"""Experiment on P3's App. C: several selection attributes a table, all of them described or one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tamis.joins.index.messages import accepts
from tamis.joins.index.ranges import LEFT, RIGHT, Ranges, Shape
from tamis.joins.index.tables import NO_ROW, Changes
from tamis.joins.multiway import most_selective_first
from tamis.joins.schemes.scheme import SCHEMES
from tamis.lab.measuring import Check, Figure, Point, Row, Rows, Style, Table, Verdict, axes_of, curves, scaled

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
Descriptions can speak of all selection attributes of a table, by skyline envelopes in as many dimensions as there are
ends of ranges. That sends least, but descriptions grow and the processing becomes hard, so one attribute a table may be
chosen instead, and subscribers check the other conditions themselves. How to choose it the paper leaves open."""

ROWS, KEYS, EVENTS, SUBSCRIPTIONS = 2_000, 100, 200, 5_000
WIDTHS = (0.6, 0.45, 0.3, 0.2)
"""How much of its domain a range takes, by attribute."""
SIZES = f"""\
Ours, for the paper has no experiment on this: {SUBSCRIPTIONS:,} subscriptions under Ref-SJ-Clu, {ROWS:,} rows of R and
of S on {KEYS} join keys, one to four attributes each, uniform values. Ranges take up to {WIDTHS[0]:.0%},
{WIDTHS[1]:.0%}, {WIDTHS[2]:.0%} and {WIDTHS[3]:.0%} of the domain, by attribute. {EVENTS} events: a row of R that
comes and the oldest that goes."""

STYLES = {
    "all": Style("all attributes described", "#1f5f8b", "D"),
    "most selective": Style("the one that fewest rows pass", "#2a9d8f", "s"),
    "least selective": Style("the one that most rows pass", "#c8553d", "o", "--"),
}


def grid(scale: float) -> list[Point]:
    (size,) = scaled([SUBSCRIPTIONS], scale, least=50)
    return [
        {
            "subscriptions": size,
            "attributes": attributes,
            "described": described,
            "events": EVENTS if scale >= 1 else 20,
        }
        for attributes in range(1, len(WIDTHS) + 1)
        for described in STYLES
    ]


def run(point: Point) -> Rows:
    """Bytes a description, tuples delivered to subscriptions, and the processor's time for an event."""
    count, attributes, events = int(point["subscriptions"]), int(point["attributes"]), int(point["events"])
    rng = np.random.default_rng(1)
    low, high = _intervals(rng, count, attributes)
    values = [rng.random((rows, attributes)) for rows in (ROWS + events, ROWS)]
    keys = [rng.integers(0, KEYS, len(some)) for some in values]
    order = most_selective_first(low[:, :attributes], high[:, :attributes], values[RIGHT])
    if point["described"] == "least selective":
        order = order[::-1]
    both = np.concatenate([order, order + attributes])
    considered = (attributes, attributes) if point["described"] == "all" else (1, 1)
    shape = Shape((attributes, attributes), ((LEFT, RIGHT),), considered)
    subscriptions = Ranges.of(shape, low[:, both], high[:, both], np.zeros((count, 2)), np.zeros(count))
    scheme = SCHEMES["ref-sj-clu"](shape)
    scheme.subscribe(subscriptions)
    there = scheme.state.load(LEFT, values[LEFT][:ROWS][:, order], keys[LEFT][:ROWS])
    scheme.state.load(RIGHT, values[RIGHT][:, order], keys[RIGHT])
    coming = scheme.state.rows[LEFT].put(values[LEFT][ROWS:][:, order], keys[LEFT][ROWS:])
    scheme.change(_coming_and_going(coming[:1], there[:1]))  # compiles what has to be
    begun = time.process_time()
    messages = scheme.change(_coming_and_going(coming[1:], there[1:]))
    seconds, events = time.process_time() - begun, len(coming) - 1
    handed = 0
    for message in range(len(messages)):
        tuples = messages.tuples(message)
        handed += (tuples.stop - tuples.start) * int(accepts(messages, message, subscriptions, shape).sum())
    return [
        {
            "description": 4 * len(messages.numbers) / max(len(messages), 1),
            "handed": handed / events,
            "us_per_event": seconds / events * 1e6,
        }
    ]


def _intervals(rng: np.random.Generator, count: int, attributes: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Ranges on the attributes of R, then of S."""
    widths = np.tile(WIDTHS[:attributes], 2) * rng.random((count, 2 * attributes))
    low = rng.random((count, 2 * attributes)) * (1 - widths)
    return low, low + widths


def _coming_and_going(coming: npt.NDArray[np.int64], there: npt.NDArray[np.int64]) -> Changes:
    old, new = (np.full(2 * len(coming), NO_ROW, np.int64) for _ in range(2))
    new[0::2], old[1::2] = coming, there[: len(coming)]
    return Changes(np.full(len(new), LEFT, np.int64), old, new)


def draw(rows: Rows, picture: Picture) -> None:
    left, right = picture.subplots(1, 2)
    ticks = {row["attributes"] for row in rows}
    for axes, name, worded in (
        (left, "handed", "tuples handed to subscriptions for an event"),
        (right, "description", "bytes of a message's description"),
    ):
        curves(axes, rows, x="attributes", y=name, series="described", styles=STYLES)
        axes_of(axes, x="selection attributes a table", y=worded, log="y", ticks=ticks)
    left.legend(frameon=False, fontsize="small")


def table(rows: Rows) -> Table:
    lines = [
        [
            str(row["attributes"]), STYLES[str(row["described"])].label, f"{row['handed']:,.1f}",
            f"{row['description']:,.0f}", f"{row['us_per_event']:,.0f}",
        ]
        for row in rows
    ]  # fmt: skip
    return Table(["attributes", "described", "tuples handed", "bytes a description", "µs of processor"], lines)


def verdict(rows: Rows) -> Verdict:
    def at(attributes: int, described: str) -> Row:
        return next(row for row in rows if row["attributes"] == attributes and row["described"] == described)

    several = sorted({int(row["attributes"]) for row in rows})[1:]
    most = several[-1]
    vain = [at(some, "most selective")["handed"] / max(at(some, "all")["handed"], 1e-9) for some in several]
    worse = [
        at(some, "least selective")["handed"] / max(at(some, "most selective")["handed"], 1e-9) for some in several
    ]
    grown = at(most, "all")["description"] / max(at(1, "all")["description"], 1e-9)
    longer = at(most, "all")["us_per_event"] / max(at(most, "most selective")["us_per_event"], 1e-9)
    checks = [
        Check("tuples handed, one attribute ÷ all", "> 1", f"{min(vain):.1f} to {max(vain):.1f}", min(vain) > 1),
        Check("descriptions of all attributes grow", f"> 1, from 1 to {most}", f"{grown:.1f} times", grown > 1),
        Check("the server's time, all ÷ one", f"> 1 with {most}", f"{longer:,.0f} times", longer > 1),
        Check("the choice matters: worst ÷ best", "left open", f"{min(worse):.1f} to {max(worse):.1f}"),
    ]
    return Verdict(checks, WHY)


WHY = (
    "Clients come to the same contents either way; what they are handed in vain they drop. With all attributes "
    "described the server looks at every subscription for every change, with one it goes by the clusters of that "
    "attribute. So the default is one, chosen from a sample as the one that fewest rows pass, and all of them on "
    "request (`planned(..., every_attribute=True)`)."
)

FIGURE = Figure(
    "p3/attributes", "several selection attributes: all described, or one", CLAIM, SIZES,
    version=1, alone=False, grid=grid, run=run, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
