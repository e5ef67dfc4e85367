"""Which conditions made a subscription match: what `tamis.matching.explanation` says, fast enough to say it always."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from tamis.errors import FilterError
from tamis.language import Filter, Limits, normal_form, parse, print_filter
from tamis.language.calls import Call, Called, Variable, parts_of, with_parts
from tamis.language.predicates import Between, Not, attributes_of
from tamis.language.printing import print_called
from tamis.language.tree import Negation, Tree
from tamis.matching.explanation import quotes
from tamis.matching.naive import holds
from tamis.schema import Schema
from tamis.service.delivery.opened_event import OpenedEvent
from tamis.service.followed_schema import FollowedSchema
from tamis.service.offering import NOTHING, Offering
from tamis.service.store import Subscription

_REMEMBERED: Final = 10_000
_LONGEST: Final = 64 << 10  # characters of conditions, and of what they quote, that a notification lists
_QUOTED: Final = 100  # characters that a condition quotes of an attribute, about


class _Condition(NamedTuple):
    """One condition of a normal form: `plain` if it is an interval on one attribute, which is most of them.

    `number` tells the distinct conditions of a filter apart: each may stand in hundreds of alternatives.
    """

    number: int
    text: str
    tree: Tree
    attributes: tuple[str, ...]
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

        A notification has the event itself, so values are quoted, long ones once: what this adds to an event does not
        grow with it, and is bounded.
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
        possible: list[_Alternative] = []
        verdicts: dict[int, bool] = {}
        for alternative in alternatives:
            if alternative.binds == bound.keys() and all(
                _holds(condition, event, schema, verdicts) for condition in alternative.plain
            ):
                if not alternative.called:
                    return _listed(alternative, event, schema, bound)
                possible.append(alternative)
        return _listed(_common(possible), event, schema, bound) if possible else []

    def _read(self, text: str, schema: Schema) -> Alternatives:
        operators = self._offering.signatures(schema)
        form = normal_form(parse(text, schema, self._limits, operators), schema, self._limits, text)
        known: dict[Any, _Condition] = {}
        if isinstance(form, Filter):
            return tuple(_alternative(conjunct, (), schema, known) for conjunct in form.conjuncts)
        return tuple(
            _alternative(conjunct, case.called, schema, known) for case in form.cases for conjunct in case.guard
        )


def _alternative(
    conjunct: Iterable[Any], called: Iterable[Called], schema: Schema, known: dict[Any, _Condition]
) -> _Alternative:
    plain = []
    for literal in conjunct:
        if literal not in known:
            known[literal] = _condition(literal, len(known), schema)
        plain.append(known[literal])
    return _Alternative(tuple(plain), tuple(map(_called, called)), _bound_by(called))


def _common(alternatives: Sequence[_Alternative]) -> _Alternative:
    """What all of these ask for."""
    first, *others = alternatives
    plain = [one for one in first.plain if all(one in other.plain for other in others)]
    called = [one for one in first.called if all(one in other.called for other in others)]
    return _Alternative(tuple(plain), tuple(called))


def _called(leaf: Called) -> _Called:
    """With the names that the text gives to variables."""

    def named(part: Any) -> Any:
        return Variable(part.written or part.name) if isinstance(part, Variable) else part

    written = (part.written for part in parts_of(leaf) if isinstance(part, Variable))
    return _Called(print_called(with_parts(leaf, named)), tuple(dict.fromkeys(filter(None, written))))


def _bound_by(called: Iterable[Called]) -> frozenset[str]:
    calls = (leaf for leaf in called if isinstance(leaf, Call) and not leaf.negated)
    return frozenset(name for call in calls for name in _called(call).names)


def _condition(literal: Any, number: int, schema: Schema) -> _Condition:
    tree = Negation(literal.leaf) if isinstance(literal, Not) else literal
    plain = literal if isinstance(literal, Between) else None
    return _Condition(number, print_filter(Filter(((literal,),)), schema), tree, attributes_of(literal), plain)


def _holds(condition: _Condition, event: OpenedEvent, schema: Schema, verdicts: dict[int, bool]) -> bool:
    leaf = condition.plain
    if leaf is None:
        # To look something up takes longer than to compare two numbers, and a moment against a pattern.
        held = verdicts.get(condition.number)
        if held is None:
            values = {name: event.values(name, schema) for name in condition.attributes}
            held = verdicts[condition.number] = holds(condition.tree, values, schema)
        return held
    low: Any = leaf.low
    high: Any = leaf.high
    for value in event.values(leaf.attribute, schema):
        above = low is None or low < value or (leaf.low_closed and low == value)
        if above and (high is None or value < high or (leaf.high_closed and value == high)):
            return True
    return False


def _listed(
    alternative: _Alternative, event: OpenedEvent, schema: Schema, bound: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The conditions with the values that they met, calls with what their variables are bound to.

    After the first so many characters, only how many conditions more there are.
    """
    seen: set[str] = set()
    listed: list[dict[str, Any]] = []
    left = _LONGEST
    conditions: list[_Condition | _Called] = [*alternative.plain, *alternative.called]
    for one in conditions:
        if isinstance(one, _Condition):
            values = {name: event.quotes(name, schema)[name in seen] for name in one.attributes}
        else:
            values = {f"?{name}": quotes([bound[name]])[f"?{name}" in seen] for name in one.names if name in bound}
        left -= len(one.text) + _QUOTED * len(values)
        if left < 0 and listed:
            return [*listed, {"condition": f"… and {len(conditions) - len(listed):,} more", "values": {}}]
        seen.update(values)
        listed.append({"condition": one.text, "values": values})
    return listed


def _filters(text: str) -> list[Any]:
    filters = orjson.loads(text)
    return filters if isinstance(filters, list) else [filters]
