"""Generated schemas: every kind of domain, several event types, names that need quotes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tamis.schema import Schema

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
    """A partial order: pairs that agree with the order of the list, so there is no cycle."""
    words = draw(st.lists(st.sampled_from(_WORDS), min_size=2, max_size=5, unique=True))
    pairs = [[a, b] for k, a in enumerate(words) for b in words[k + 1 :]]
    order = draw(st.lists(st.sampled_from(pairs), min_size=1, unique_by=tuple))
    return {"type": "enumerated", "values": draw(st.permutations(words)), "order": order}


@st.composite
def _trees(draw: st.DrawFn) -> dict[str, Any]:
    """A forest: each node hangs under an earlier one, or is a root."""
    words = draw(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=7, unique=True))
    forest: dict[str, Any] = {}
    nodes: list[dict[str, Any]] = [forest]
    for word in words:
        nodes.append({})
        nodes[draw(st.integers(0, len(nodes) - 2))][word] = nodes[-1]
    return forest
