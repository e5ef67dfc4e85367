"""Hypothesis strategies for schemas, filters and events, and for workloads of all three."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tamis.schema import EVENT_TYPE, Domain, Schema
from tamis.testing.edge_values import values
from tamis.testing.written import Written, conjunction, disjunction, draw_condition, negation, quoted_name

# Events that a schema accepts.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@st.composite
def events(draw: st.DrawFn, schema: Schema, max_values: int = 4) -> dict[str, Any]:
    """Events of one or more of the schema's types, valid by R1–R3, rich in the values that filters ask for."""
    types = draw(st.lists(st.sampled_from(list(schema.event_types)), min_size=1, unique=True))
    event: dict[str, Any] = {EVENT_TYPE: types}
    if types == [schema.default_event_type] and draw(st.booleans()):
        del event[EVENT_TYPE]
    for name, annotation in schema.view(types).items():
        domain = schema.attributes[name].domain
        if not annotation.mandatory and (absence := draw(_ABSENCE)):
            if absence == "null":
                event[name] = None
            elif absence == "empty" and annotation.multiple:
                event[name] = []
        elif annotation.multiple:
            event[name] = [_as_given(draw(values(domain)), domain) for _ in range(draw(st.integers(1, max_values)))]
        else:
            event[name] = _as_given(draw(values(domain)), domain)
    return event


def _as_given(value: Any, domain: Domain) -> Any:
    return _EPOCH + timedelta(microseconds=value) if domain.kind == "timestamp" else value


_ABSENCE = st.sampled_from(("", "", "", "", "missing", "null", "empty"))


# Filters: the whole language, for any schema.

_FORMS = ("condition", "condition", "and", "or", "not", "parenthesis")


@st.composite
def filters(draw: st.DrawFn, schema: Schema, depth: int = 3) -> str:
    """Filters that the schema accepts: AND, OR and NOT nested to a depth over comparisons of every form."""
    return _draw_filter(draw, schema, depth).text


@st.composite
def conjunctions(draw: st.DrawFn, schema: Schema, max_conditions: int = 5) -> str:
    """Filters that are plain conjunctions of comparisons, like most subscriptions."""
    return " AND ".join(draw_condition(draw, schema).text for _ in range(draw(st.integers(1, max_conditions))))


@st.composite
def written_filters(draw: st.DrawFn, schema: Schema, depth: int = 3) -> Written:
    """Filters as from `filters`, each text with its meaning."""
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


# Schemas: every kind of domain, several event types, names that need quotes.

NAMES = (
    "price", "bids", "title", "tags", "a", "b", "c", "x1", "Price", "old.price", "seller.rating.mean",
    "two words", "select", "AND", "größe", "日付", 'quo"ted', "it's", "1st", "semi;colon", "event", "null",
    "contains", "?x", "%", "new\nline",
)  # fmt: skip
_PLAIN = ("integer", "float", "string", "boolean", "timestamp", "binary")
_WORDS = ("I", "II", "III", "IV", "", "été", "it's", "a", "b")


@st.composite
def schemas(draw: st.DrawFn, max_attributes: int = 8, max_event_types: int = 3) -> Schema:
    """Schemas of a few attributes of every kind, unique and multiple, mandatory and optional."""
    domains = {
        "unordered": {"type": "enumerated", "values": draw(_words())},
        "ordered": draw(_ordered()),
        "tree": {"type": "hierarchical", "tree": draw(_trees())},
    }
    count = draw(st.integers(1, max_attributes))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=count, max_size=count, unique=True))
    kind = st.sampled_from((*_PLAIN, *_PLAIN[:3], *domains))
    attributes: dict[str, Any] = {name: draw(kind) for name in names}
    event_types = {
        f"type {number}" if number else "first": draw(_event_type(names))
        for number in range(draw(st.integers(1, max_event_types)))
    }
    for name in names:  # an attribute that no event may have would never be tested
        if not any(name in annotations for annotations in event_types.values()):
            event_types["first"][name] = draw(_annotations())
    return Schema.from_dict({"domains": domains, "attributes": attributes, "event_types": event_types})


def _annotations() -> st.SearchStrategy[str | list[str]]:
    return st.sampled_from(("optional", "optional", "mandatory", ["optional", "multiple"], ["mandatory", "multiple"]))


@st.composite
def _event_type(draw: st.DrawFn, names: list[str]) -> dict[str, str | list[str]]:
    return {name: draw(_annotations()) for name in names if draw(st.integers(0, 3))}


def _words() -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(_WORDS), min_size=1, max_size=5, unique=True)


@st.composite
def _ordered(draw: st.DrawFn) -> dict[str, Any]:
    """Partial order: pairs that agree with the order of the list, so there is no cycle."""
    words = draw(st.lists(st.sampled_from(_WORDS), min_size=2, max_size=5, unique=True))
    pairs = [[a, b] for k, a in enumerate(words) for b in words[k + 1 :]]
    order = draw(st.lists(st.sampled_from(pairs), min_size=1, unique_by=tuple))
    return {"type": "enumerated", "values": draw(st.permutations(words)), "order": order}


@st.composite
def _trees(draw: st.DrawFn) -> dict[str, Any]:
    """Forest: each node hangs under an earlier one, or is a root."""
    words = draw(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=7, unique=True))
    forest: dict[str, Any] = {}
    nodes: list[dict[str, Any]] = [forest]
    for word in words:
        nodes.append({})
        nodes[draw(st.integers(0, len(nodes) - 2))][word] = nodes[-1]
    return forest


@dataclass(frozen=True)
class Generated:
    """Small workload in plain Python: subscriptions by id, events as dicts."""

    schema: Schema
    subscriptions: dict[str, str]
    events: list[dict[str, Any]]

    def __repr__(self) -> str:
        form = self.schema.to_dict()
        return f"Generated(Schema.from_dict({form!r}), subscriptions={self.subscriptions!r}, events={self.events!r})"


@st.composite
def workloads(draw: st.DrawFn, max_subscriptions: int = 12, max_events: int = 8) -> Generated:
    """Workloads of a schema, one to a maximum of subscriptions, and events (none where the maximum is zero)."""
    schema = draw(schemas())
    # Counts are drawn first: hypothesis's own lists are mostly short, and short ones tell little about a matcher.
    text = st.one_of(filters(schema), conjunctions(schema))
    texts = [draw(text) for _ in range(draw(_counts(max_subscriptions)))]
    rows = [draw(events(schema)) for _ in range(draw(_counts(max_events)))]
    return Generated(schema, {f"s{number}": text for number, text in enumerate(texts)}, rows)


@st.composite
def crowds(draw: st.DrawFn, max_subscriptions: int = 400, max_events: int = 6) -> Generated:
    """Workloads of hundreds of subscriptions, composed of a few conditions: they fill an index's buckets.

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
    """Workloads like `crowds`, of filters with repetitions and contradictions: several texts, one meaning.

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
