"""Generated workloads: a schema with subscriptions and events that belong to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tamis.schema import Schema
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


def _counts(most: int) -> st.SearchStrategy[int]:
    return st.integers(min(1, most), most)
