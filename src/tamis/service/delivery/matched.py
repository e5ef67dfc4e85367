"""Which conditions made a subscription match: what `tamis.matching.explanation` says, fast enough to say it always."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from tamis.errors import FilterError
from tamis.language import Filter, Limits, normal_form, parse, print_filter
from tamis.language.calls import Call, Called, Variable, parts_of, with_parts
from tamis.language.predicates import Between, Not, attributes_of
from tamis.language.printing import print_called
from tamis.language.tree import Negation, Tree
from tamis.matching.naive import holds
from tamis.schema import Schema
from tamis.schema.timestamps import to_datetime
from tamis.service.delivery.opened_event import OpenedEvent
from tamis.service.followed_schema import FollowedSchema
from tamis.service.offering import NOTHING, Offering
from tamis.service.store import Subscription

_REMEMBERED: Final = 10_000


class _Condition(NamedTuple):
    """One condition of a normal form: `plain` if it is an interval on one attribute, which is most of them."""

    text: str
    tree: Tree
    attributes: tuple[str, ...]
    timestamps: frozenset[str]
    plain: Between | None


class _Called(NamedTuple):
    """A call or a constraint: not decided here, for operators are called once. `names` are of its variables."""

    text: str
    names: tuple[str, ...]


class _Alternative(NamedTuple):
    """Conditions of which all hold; `binds` are the names of the variables that its calls bind."""

    plain: tuple[_Condition, ...]
    called: tuple[_Called, ...] = ()
    binds: frozenset[str] = frozenset()


Alternatives = tuple[_Alternative, ...]


class Matched:
    """The `matched` of notifications. Normal forms are remembered by filter and schema. Safe from any thread."""

    def __init__(self, followed: FollowedSchema, limits: Limits, offering: Offering = NOTHING) -> None:
        self._followed = followed
        self._limits = limits
        self._offering = offering
        self._alternatives = lru_cache(_REMEMBERED)(self._read)
        self._filters = lru_cache(_REMEMBERED)(_filters)

    def conditions(self, subscription: Subscription, event: OpenedEvent, bindings: str | None = None) -> list[Any]:
        """The conditions of the first alternative that holds, each with the values that it met.

        Empty if none holds any more, since the subscription was changed after it matched. A subscription in
        CloudEvents' dialect has its filters there as they were written, and a join nothing, for no one event decides.
        Where operators are called, several alternatives may hold by what is known here: then it is what all of them
        have in common.
        """
        if subscription.kind == "join":
            return []
        if subscription.dialect == "cloudevents":
            return self._filters(subscription.text)
        schema = self._followed.schema
        try:
            alternatives = self._alternatives(subscription.filter, schema)
        except FilterError:
            # It names what a later extension of the schema has brought.
            self._followed.refresh()
            schema = self._followed.schema
            try:
                alternatives = self._alternatives(subscription.filter, schema)
            except FilterError:
                return []
        bound = {} if bindings is None else orjson.loads(bindings)
        possible: list[list[Any]] = []
        for plain, called, binds in alternatives:
            values = {name: event.values(name, schema) for one in plain for name in one.attributes}
            if binds == bound.keys() and all(_holds(condition, values, schema) for condition in plain):
                shown = [_shown(condition, values) for condition in plain]
                if not called:
                    return shown
                possible.append(shown + [_shown_called(one, bound) for one in called])
        return [one for one in possible[0] if all(one in other for other in possible)] if possible else []

    def _read(self, text: str, schema: Schema) -> Alternatives:
        operators = self._offering.signatures(schema)
        form = normal_form(parse(text, schema, self._limits, operators), schema, self._limits, text)
        if isinstance(form, Filter):
            return tuple(_Alternative(_conditions(conjunct, schema)) for conjunct in form.conjuncts)
        return tuple(
            _Alternative(_conditions(conjunct, schema), tuple(map(_called, case.called)), _bound_by(case.called))
            for case in form.cases
            for conjunct in case.guard
        )


def _conditions(conjunct: Iterable[Any], schema: Schema) -> tuple[_Condition, ...]:
    return tuple(_condition(literal, schema) for literal in conjunct)


def _called(leaf: Called) -> _Called:
    """With the names that the text gives to variables."""

    def named(part: Any) -> Any:
        return Variable(part.written or part.name) if isinstance(part, Variable) else part

    written = (part.written for part in parts_of(leaf) if isinstance(part, Variable))
    return _Called(print_called(with_parts(leaf, named)), tuple(dict.fromkeys(filter(None, written))))


def _bound_by(called: Iterable[Called]) -> frozenset[str]:
    calls = (leaf for leaf in called if isinstance(leaf, Call) and not leaf.negated)
    return frozenset(name for call in calls for name in _called(call).names)


def _shown_called(called: _Called, bound: Mapping[str, Any]) -> dict[str, Any]:
    values = {f"?{name}": [bound[name]] for name in called.names if name in bound}
    return {"condition": called.text, "values": values}


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
