"""Generated filters: the whole language, for any schema."""

from __future__ import annotations

from hypothesis import strategies as st

from tamis.schema import Schema
from tamis.testing.conditions import draw_condition
from tamis.testing.written import Written, conjunction, disjunction, negation

_FORMS = ("condition", "condition", "and", "or", "not", "parenthesis")


@st.composite
def filters(draw: st.DrawFn, schema: Schema, depth: int = 3) -> str:
    """Texts that the schema accepts: AND, OR and NOT nested so deep over comparisons of every form."""
    return _draw_filter(draw, schema, depth).text


@st.composite
def conjunctions(draw: st.DrawFn, schema: Schema, max_conditions: int = 5) -> str:
    """Plain conjunctions of comparisons: what most subscriptions look like."""
    return " AND ".join(draw_condition(draw, schema).text for _ in range(draw(st.integers(1, max_conditions))))


@st.composite
def written_filters(draw: st.DrawFn, schema: Schema, depth: int = 3) -> Written:
    """As `filters`, each text with its meaning."""
    return _draw_filter(draw, schema, depth)


def _draw_filter(draw: st.DrawFn, schema: Schema, depth: int) -> Written:
    form = draw(st.sampled_from(_FORMS)) if depth else "condition"
    if form == "condition":
        return draw_condition(draw, schema)
    first = _draw_filter(draw, schema, depth - 1)
    if form == "not":
        return Written(f"NOT ({first.text})", negation(first.meaning))
    if form == "parenthesis":
        return Written(f"({first.text})", first.meaning)
    items = [first, *(_draw_filter(draw, schema, depth - 1) for _ in range(draw(st.integers(1, 2))))]
    join, meaning = (" AND ", conjunction) if form == "and" else (" OR ", disjunction)
    return Written(f"({join.join(item.text for item in items)})", meaning([item.meaning for item in items]))
