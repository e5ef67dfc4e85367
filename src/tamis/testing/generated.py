"""Generated workloads: a schema with subscriptions and events that belong to it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tamis.schema import Schema
from tamis.testing.conditions import draw_condition
from tamis.testing.events import events
from tamis.testing.filters import conjunctions, filters
from tamis.testing.literals import quoted_name
from tamis.testing.schemas import schemas


@dataclass(frozen=True)
class Generated:
    """A small workload in plain Python: subscriptions by id, events as dicts."""

    schema: Schema
    subscriptions: dict[str, str]
    events: list[dict[str, Any]]

    def __repr__(self) -> str:
        form = self.schema.to_dict()
        return f"Generated(Schema.from_dict({form!r}), subscriptions={self.subscriptions!r}, events={self.events!r})"


@st.composite
def workloads(draw: st.DrawFn, max_subscriptions: int = 12, max_events: int = 8) -> Generated:
    """Schemas with one to so many subscriptions and events (none where the most is zero)."""
    schema = draw(schemas())
    # Counts are drawn first: hypothesis's own lists are mostly short, and short ones tell little about a matcher.
    text = st.one_of(filters(schema), conjunctions(schema))
    texts = [draw(text) for _ in range(draw(_counts(max_subscriptions)))]
    rows = [draw(events(schema)) for _ in range(draw(_counts(max_events)))]
    return Generated(schema, {f"s{number}": text for number, text in enumerate(texts)}, rows)


@st.composite
def crowds(draw: st.DrawFn, max_subscriptions: int = 400, max_events: int = 6) -> Generated:
    """Schemas with hundreds of subscriptions, put together from a few conditions: what fills an index's buckets.

    How they are put together follows from one drawn number, so hundreds cost no more than a few to generate.
    """
    schema = draw(schemas())
    conditions = [draw_condition(draw, schema).text for _ in range(draw(st.integers(1, 12)))]
    rng = random.Random(draw(st.integers(0, 2**16)))
    texts = [_composed(rng, conditions) for _ in range(draw(st.integers(1, max_subscriptions)))]
    rows = [draw(events(schema)) for _ in range(draw(_counts(max_events)))]
    return Generated(schema, {f"s{number}": text for number, text in enumerate(texts)}, rows)


@st.composite
def redundant_crowds(
    draw: st.DrawFn, max_subscriptions: int = 120, max_events: int = 6, schema: Schema | None = None
) -> Generated:
    """As `crowds`, of filters that say things twice, or the opposite of what they said: several texts, one meaning.

    What is left of such a filter may have fewer literals than its text, or none. There are at least half of the most.
    """
    schema = schema or draw(schemas())
    conditions = [draw_condition(draw, schema).text for _ in range(draw(st.integers(2, 12)))]
    presence = [f"{quoted_name(attribute)} IS {no}NULL" for attribute in schema.attributes for no in ("", "NOT ")]
    rng = random.Random(draw(st.integers(0, 2**16)))
    count = draw(st.integers(-(-max_subscriptions // 2), max_subscriptions))
    texts = [_redundant(rng, conditions, presence) for _ in range(count)]
    rows = [draw(events(schema)) for _ in range(draw(_counts(max_events)))]
    return Generated(schema, {f"s{number}": text for number, text in enumerate(texts)}, rows)


def _redundant(rng: random.Random, conditions: list[str], presence: list[str]) -> str:
    text = rng.choice((*conditions, *presence))
    for _ in range(rng.choice((0, 1, 1, 2))):
        other, third = rng.choice((*conditions, *presence)), rng.choice(conditions)
        text = rng.choice(_REDUNDANT).format(text, other, third)
    return text


_REDUNDANT = (
    "{0} AND {1}", "{0} OR {1}", "{0} AND {0}", "({0}) OR ({0})", "({0}) AND ({0} OR {1})", "({0}) OR ({0}) AND {1}",
    "({0}) AND NOT ({0})", "({0}) OR NOT ({0})", "NOT (NOT ({0}))", "({0}) AND TRUE", "({0}) OR TRUE",
    "({0}) AND FALSE", "({0}) OR FALSE", "({0}) AND {1} AND NOT {1}", "({0}) OR ({1} AND NOT {1} AND {2})",
    "({0}) AND ({1} OR {2} OR TRUE)", "({1} AND ({0})) OR ({1} AND ({0}) AND {2})",
)  # fmt: skip


def _composed(rng: random.Random, conditions: list[str]) -> str:
    parts = [rng.choice(conditions) for _ in range(rng.choice((1, 1, 2, 2, 3, 4)))]
    form = rng.random()
    if form < 0.6:
        return " AND ".join(parts)
    if form < 0.8:
        return " OR ".join(parts)
    if form < 0.9:
        return f"NOT ({' AND '.join(parts)})"
    return f"({' OR '.join(parts)}) AND {rng.choice(conditions)}"


def _counts(most: int) -> st.SearchStrategy[int]:
    return st.integers(min(1, most), most)
