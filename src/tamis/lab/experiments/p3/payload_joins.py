"""Experiment on P3's App. I: filters over events with a bulky payload, run as joins of readings and payloads."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tamis.joins.client import Kept
from tamis.joins.payload import PAYLOADS, READINGS, PayloadServer
from tamis.lab.measuring import Check, Figure, Point, Rows, Style, Table, Verdict, axes_of, curves, scaled
from tamis.schema import Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLAIM = """\
A filter over ratings of products, whose events carry a photo, sends the photo with every match. As a join of (ID,
Rating) and (ID, Photo) it is not sent to a subscription whose range the product's previous rating was in already."""

PRODUCTS, EVENTS, SUBSCRIPTIONS, READING = 200, 2_000, 1_000, 12
STEPS = (1, 3, 10, 30)
PAYLOAD = 1_000
SIZES = f"""\
Ours, for the paper has no experiment on this: {SUBSCRIPTIONS:,} subscriptions to a range of ratings (5 to 40 of 100),
{PRODUCTS} products, {EVENTS:,} events; a rating differs from the one before by up to 1, 3, 10 or 30. A photo has
{PAYLOAD:,} bytes and stays the same, a reading {READING}. Counted is what subscriptions are handed; descriptions go to
nobody but nodes. Ref-SJ-Clu⁺."""

SCHEMA = Schema.from_dict(
    {
        "attributes": {"product": "integer", "rating": "float", "photo": "string"},
        "event_types": {"rated": {"product": "mandatory", "rating": "mandatory", "photo": "mandatory"}},
    }
)
STYLES = {"select": Style("a filter", "#c8553d"), "join": Style("the same as a join", "#1f5f8b", "D")}


def grid(scale: float) -> list[Point]:
    (size,) = scaled([SUBSCRIPTIONS], scale, least=20)
    return [{"subscriptions": size, "step": step, "events": EVENTS if scale >= 1 else 200} for step in STEPS]


def run(point: Point) -> Rows:
    """Counts of the readings and photos delivered to subscriptions, and of their matches."""
    count, step, events = int(point["subscriptions"]), int(point["step"]), int(point["events"])
    rng = np.random.default_rng(1)
    width = rng.uniform(5, 40, count)
    low = rng.uniform(0, 100 - width)
    high = low + width
    texts = {
        f"s{number}": f"rating BETWEEN {one!r} AND {other!r}"
        for number, (one, other) in enumerate(zip(low.tolist(), high.tolist(), strict=True))
    }
    server = PayloadServer(SCHEMA, texts, ["product"], ["photo"])
    rating = rng.uniform(0, 100, PRODUCTS)
    inside = np.zeros((PRODUCTS, count), np.bool_)
    matches = entries = 0
    shots = []
    for product in rng.integers(0, PRODUCTS, events).tolist():
        rating[product] = np.clip(rating[product] + rng.uniform(-step, step), 0, 100)
        now = (low <= rating[product]) & (rating[product] <= high)
        matches, entries = matches + int(now.sum()), entries + int((now & ~inside[product]).sum())
        inside[product] = now
        shots.append({"product": product, "rating": float(rating[product]), "photo": f"photo of {product}"})
    handed = {READINGS: 0, PAYLOADS: 0}
    for start in range(0, events, 100):
        applied = server.apply(shots[start : start + 100])
        for id in texts:
            for part in (part for note in server.notes(applied, id) for part in note.parts):
                if isinstance(part, Kept) and part.wanted:
                    handed[part.table] += 1
    return [{"matches": matches, "entries": entries, "readings": handed[READINGS], "photos": handed[PAYLOADS]}]


def sizes(rows: Rows) -> Rows:
    """Bytes delivered to subscriptions for an event, a row for each way."""
    return [
        {"step": row["step"], "way": way, "kilobytes": size / row["events"] / 1000}
        for row in rows
        for way, size in (
            ("select", row["matches"] * (READING + PAYLOAD)),
            ("join", row["readings"] * READING + row["photos"] * PAYLOAD),
        )
    ]


def draw(rows: Rows, picture: Picture) -> None:
    axes = picture.subplots()
    curves(axes, sizes(rows), x="step", y="kilobytes", series="way", styles=STYLES)
    axes_of(
        axes, x="how far a rating moves at most", y="kB handed to subscriptions for an event",
        log="x",
        title=f"Events with a photo of {PAYLOAD:,} bytes", ticks={row["step"] for row in rows},
    )  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)


def table(rows: Rows) -> Table:
    lines = [
        [
            str(row["step"]), f"{row['matches']:,}", f"{row['entries']:,}", f"{row['readings']:,}",
            f"{row['photos']:,}", f"{_saved(row['matches'], row['readings'], row['photos']):.0%}",
        ]
        for row in rows
    ]  # fmt: skip
    return Table(["moves by", "matches", "of them new", "readings handed", "photos handed", "bytes saved"], lines)


def _saved(matches: int, readings: int, photos: int) -> float:
    return 1 - (readings * READING + photos * PAYLOAD) / max(matches * (READING + PAYLOAD), 1)


def verdict(rows: Rows) -> Verdict:
    exact = all(row["photos"] == row["entries"] for row in rows)
    saved = [_saved(row["matches"], row["readings"], row["photos"]) for row in rows]
    falls = all(one > other for one, other in pairwise(saved))
    checks = [
        Check("photos handed", "when a rating comes into the range", "exactly then" if exact else "not so", exact),
        Check("bytes saved", "> 0", f"{saved[-1]:.0%} to {saved[0]:.0%}", min(saved) > 0),
        Check("the less ratings move, the more is saved", "yes", "yes" if falls else "no", falls),
    ]
    return Verdict(checks, WHY)


WHY = (
    "A subscription holds the photo while the product's rating stays in its range, and is not sent it again. When the "
    "rating has left the range it drops the photo, and gets it anew when the rating comes back; CN* saves that too, on "
    "the way to its node (figure 11)."
)

FIGURE = Figure(
    "p3/payload-joins", "filters with a bulky payload, run as joins", CLAIM, SIZES,
    version=1, alone=False, grid=grid, run=run, draw=draw, table=table, verdict=verdict,
)  # fmt: skip
