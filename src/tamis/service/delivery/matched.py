"""Which conditions made a subscription match: what `tamis.matching.explanation` says, fast enough to say it always."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from tamis.errors import FilterError
from tamis.language import Filter, Limits, normalise, parse, print_filter
from tamis.language.predicates import Between, Not, attributes_of
from tamis.language.tree import Negation, Tree
from tamis.matching.naive import holds
from tamis.schema import Schema
from tamis.schema.timestamps import to_datetime
from tamis.service.delivery.opened_event import OpenedEvent
from tamis.service.delivery.serving import ServedSchema
from tamis.service.store import Subscription

_REMEMBERED: Final = 10_000


class _Condition(NamedTuple):
    """One condition of a normal form: `plain` if it is an interval on one attribute, which is most of them."""

    text: str
    tree: Tree
    attributes: tuple[str, ...]
    timestamps: frozenset[str]
    plain: Between | None


Alternatives = tuple[tuple[_Condition, ...], ...]


class Matched:
    """The `matched` of notifications. Normal forms are remembered by filter and schema. Safe from any thread."""

    def __init__(self, schema: ServedSchema, limits: Limits) -> None:
        self._schema = schema
        self._limits = limits
        self._alternatives = lru_cache(_REMEMBERED)(self._read)
        self._filters = lru_cache(_REMEMBERED)(_filters)

    def conditions(self, subscription: Subscription, event: OpenedEvent) -> list[Any]:
        """The conditions of the first alternative that holds, each with the values that it met.

        Empty if none holds any more, since the subscription was changed after it matched. A subscription in
        CloudEvents' dialect has its filters there as they were written.
        """
        if subscription.dialect == "cloudevents":
            return self._filters(subscription.text)
        schema = self._schema.now
        try:
            alternatives = self._alternatives(subscription.filter, schema)
        except FilterError:
            # It names what a later extension of the schema has brought.
            schema = self._schema.read()
            try:
                alternatives = self._alternatives(subscription.filter, schema)
            except FilterError:
                return []
        for conditions in alternatives:
            values = {name: event.values(name, schema) for one in conditions for name in one.attributes}
            if all(_holds(condition, values, schema) for condition in conditions):
                return [_shown(condition, values) for condition in conditions]
        return []

    def _read(self, text: str, schema: Schema) -> Alternatives:
        form = normalise(parse(text, schema, self._limits), schema, self._limits, text)
        return tuple(tuple(_condition(literal, schema) for literal in conjunct) for conjunct in form.conjuncts)


def _condition(literal: Any, schema: Schema) -> _Condition:
    attributes = attributes_of(literal)
    timestamps = frozenset(name for name in attributes if schema.attributes[name].domain.kind == "timestamp")
    tree = Negation(literal.leaf) if isinstance(literal, Not) else literal
    plain = literal if isinstance(literal, Between) else None
    return _Condition(print_filter(Filter(((literal,),)), schema), tree, attributes, timestamps, plain)


def _holds(condition: _Condition, values: dict[str, list[Any]], schema: Schema) -> bool:
    leaf = condition.plain
    if leaf is None:
        return holds(condition.tree, values, schema)
    low: Any = leaf.low
    high: Any = leaf.high
    for value in values[leaf.attribute]:
        above = low is None or low < value or (leaf.low_closed and low == value)
        if above and (high is None or value < high or (leaf.high_closed and value == high)):
            return True
    return False


def _shown(condition: _Condition, values: dict[str, list[Any]]) -> dict[str, Any]:
    if not condition.timestamps:
        return {"condition": condition.text, "values": {name: values[name] for name in condition.attributes}}
    shown = {
        name: [to_datetime(value) for value in values[name]] if name in condition.timestamps else values[name]
        for name in condition.attributes
    }
    return {"condition": condition.text, "values": shown}


def _filters(text: str) -> list[Any]:
    filters = orjson.loads(text)
    return filters if isinstance(filters, list) else [filters]
