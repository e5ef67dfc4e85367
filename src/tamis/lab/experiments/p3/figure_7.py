"""Figure 7 of P3 (joins): network traffic for an event against the size of the database."""

from __future__ import annotations

from tamis.lab.experiments.p3.network import NETWORK, SUBSCRIPTIONS, against, growth
from tamis.lab.experiments.p3.swept import swept
from tamis.lab.measuring import Check, Row

CLAIM = """\
With fewer rows of R in the database, a new one brings rows of S to more subscriptions, since fewer have another row of
R with its key. So semijoin reformulations degrade slightly where the database is small; they still outperform the
others easily."""

EVENTS = 300
FULL = (1_000, 4_000, 16_000, 31_000)
SIZES = f"""\
{NETWORK}. R has 1,000 to 31,000 rows, as in the paper; {SUBSCRIPTIONS:,} subscriptions. One
seed, {EVENTS} events, the same for all schemes, not for all sizes."""
OTHERS = ("enum-j", "enum-sj", "ref-j", "ref-j+", "rel-sel")


def checks(ours: list[Row]) -> list[Check]:
    grows = 1 / growth(ours, "ref-sj-clu+", "bytes", "r_rows")
    found = [
        Check("Ref-SJ-Clu⁺ with fewest rows ÷ with most", "slightly more than 1 (≤ 2)", f"{grows:.1f}", 1 < grows <= 2)
    ]
    flat = growth(ours, "rel-sel", "bytes", "r_rows")
    found.append(Check("Rel-Sel over the sizes", "indifferent", f"{flat:.2f} times", 0.8 <= flat <= 1.25))
    return found + against(ours, "ref-sj-clu+", OTHERS, "bytes", "r_rows", "> 1", 1)


FIGURE = swept(
    "p3/figure-7", "network traffic against the size of the database", CLAIM, SIZES,
    x="r_rows", worded="rows of R", points=[{"r_rows": rows, "events": EVENTS} for rows in FULL], checks=checks,
    why="A row of S that comes into reach is a message of its own to all zones whose ranges of C hold it: with 1,000 "
    "rows of R, ten to a join key, there are several of them an event, with 31,000 hardly any. That is more than "
    "slight, and brings Ref-SJ up to Rel-Sel. Which rows are the events depends on how many come before, and a few "
    "keys carry most joins, so that Ref-J and Ref-J⁺ vary from size to size.",
)  # fmt: skip
