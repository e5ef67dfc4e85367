"""Common parts of P1's experiments: sets of subscriptions, optimisations, and counts of a matching tree.

The text we have of the paper has lost its digits. Ours: 30 attributes of 5 values. *Random* sets are the paper's, with
attributes of decaying popularity and Zipf values. In *held* sets the decay depends on the number of subscriptions, so
that an event matches about ten of them however many there are: the paper holds that number too. *Hard* sets have as
many nodes as can be where most events come. Events are uniform.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np

import tamis
from tamis.lab.measuring import Point, Row, Rows, Style
from tamis.lab.tree.matcher import TreeMatcher
from tamis.workloads import Workload
from tamis.workloads.papers import ATTRIBUTES, POPULARITY, VALUES, gryphon, gryphon_hard, index_attributes

SIZES = (1_000, 3_200, 10_000, 32_000, 100_000, 320_000, 1_000_000)
SET_UP = (
    f"1,000 to 1,000,000 subscriptions on {ATTRIBUTES} attributes of {VALUES} values, of which each next one is tested "
    "0.85 times as often, the first by 98 in 100; the paper went to some tens of thousands, with digits that are lost "
    "from the text we have. *Random* sets are made as the paper's are, with Zipf values. In *held* ones the 0.85 is "
    "another number for each size, with which an event matches ten: the paper holds its matches too. *Hard* sets have "
    "as many nodes as can be where most events come: all subscriptions of no test, of one, of two, and so on. "
    "Factoring is by the first three attributes, in hard sets by the first. 1,000 uniform events."
)
SHARED = "p1/trees"  # where the figures that count keep their points: they are the same trees
EVENTS = 1_000
HELD = 10  # matches an event
KINDS = {
    "random": Style("random sets", "#1f6f8b"),
    "held": Style(f"random sets, {HELD} matches an event", "#4b6b2f", "s"),
    "hard": Style("sets made to be hard", "#c8553d", "^"),
}

# Each optimisation on top of those before it.
PLAIN, COLLAPSED, ANNOTATED, FACTORED = "plain", "collapsed", "annotated", "factored"
WAYS = {
    PLAIN: Style("plain tree", "#555555"),
    COLLAPSED: Style("1: chains of *-edges collapsed", "#1f6f8b", "s"),
    ANNOTATED: Style("1 + 2: successors annotated", "#c8922b", "^"),
    FACTORED: Style("1 + 2 + 3: factored", "#c8553d", "D"),
}
SHORT = {PLAIN: "plain", COLLAPSED: "1", ANNOTATED: "1 + 2", FACTORED: "1 + 2 + 3"}
# Index attributes: those that subscriptions rarely leave open. Hard sets have none, and pay for one in space.
FACTORS = {"random": 3, "held": 3, "hard": 1}


def options(kind: str, way: str) -> dict[str, Any]:
    """Options of the tree (`tamis.lab.tree.tree.TreeOptions`)."""
    switched: dict[str, Any] = {"collapse": way != PLAIN, "successors": way in (ANNOTATED, FACTORED)}
    return switched | ({"factor": index_attributes(FACTORS[kind])} if way == FACTORED else {})


@lru_cache(maxsize=1)  # the ways to grow a tree of one set come one after the other
def workload(kind: str, subscriptions: int, events: int = EVENTS) -> Workload:
    if kind == "hard":
        return gryphon_hard(subscriptions, events)
    if kind == "held":
        return gryphon(subscriptions, events, decay=decay_for(HELD / subscriptions))
    return gryphon(subscriptions, events)


def decay_for(share: float) -> float:
    """Decay of popularity with which a uniform event matches this share of the subscriptions on average."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        popularity = POPULARITY * middle ** np.arange(ATTRIBUTES)
        if np.prod(1 - popularity * (1 - 1 / VALUES)) > share:
            low = middle
        else:
            high = middle
    return low


def counted(point: Point) -> Rows:
    """Counts of a tree grown and searched: nodes visited by an event on average, and its nodes, edges and
    successors."""
    kind, way = str(point["kind"]), str(point["way"])
    chosen = workload(kind, int(point["subscriptions"]))
    index = tamis.compile(chosen.subscriptions, chosen.schema, "tree", options=options(kind, way))
    matches = index.match(chosen.events)
    tree = cast(TreeMatcher, index.matcher).tree
    row: Row = {
        "visits": matches.work.nodes / EVENTS,
        "matches": len(matches) / EVENTS,
        "nodes": tree.count,
        "edges": tree.edges,
        "successors": tree.successors if tree.options.successors else 0,
        "bytes": index.matcher.bytes_held,
    }
    return [row]


def of(rows: Rows, kind: str, way: str) -> list[Row]:
    """Rows of one curve, by number of subscriptions."""
    return sorted((r for r in rows if (r["kind"], r["way"]) == (kind, way)), key=lambda row: row["subscriptions"])


def exponent_of(rows: Sequence[Row], y: str) -> float:
    """Exponent of a curve's growth in the number of subscriptions: the slope between logarithms."""
    logs = np.log([[row["subscriptions"], row[y]] for row in rows])
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
