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
