"""The `matched` of notifications: the conditions that made a subscription match, with the values that they met."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from threading import Lock
from typing import Any, Final

import orjson

from tamis.errors import FilterError
from tamis.language import Filter, Limits, Signatures, normal_form, parse
from tamis.matching.conditions import Alternative, CalledCondition, Condition, alternatives_of, what_held
from tamis.matching.explanation import quotes
from tamis.schema import Schema
from tamis.service.base.offering import NOTHING, Offering
from tamis.service.delivery.opened_event import OpenedEvent
from tamis.service.store import Subscription
from tamis.service.store.followed_schema import FollowedSchema

_REMEMBERED: Final = 10_000  # filters
_SHORT: Final = 1_000  # characters of a filter that is remembered before it matches
_FEW: Final = 8  # alternatives of such a filter
_LONGEST: Final = 64 << 10  # characters of conditions, and of what they quote, that a notification lists
_QUOTED: Final = 100  # characters that a condition quotes of an attribute, about


class _Filters:
    """Filters read under one version of the schema, by text: the alternatives of those that have matched.

    Of the others there is the normal form that the API made of them. The newest are kept.
    """

    def __init__(self, version: int, schema: Schema, limits: Limits, operators: Signatures) -> None:
        self.version = version
        self.schema = schema
        self._limits = limits
        self._operators = operators
        self._known: dict[str, tuple[Alternative, ...] | Filter] = {}
        self._lock = Lock()

    def alternatives(self, text: str) -> tuple[Alternative, ...]:
        known = self._known.get(text)
        if isinstance(known, tuple):
            return known
        form = known or normal_form(
            parse(text, self.schema, self._limits, self._operators), self.schema, self._limits, text
        )
        alternatives = alternatives_of(form, self.schema)
        self.keep(text, alternatives)
        return alternatives

    def keep(self, text: str, read: tuple[Alternative, ...] | Filter) -> None:
        with self._lock:
            if text in self._known and not isinstance(read, tuple):
                return
            if len(self._known) >= _REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[text] = read


class Matched:
    """The `matched` of notifications. A filter is read once for a version of the schema. Safe from any thread."""

    def __init__(self, followed: FollowedSchema, limits: Limits, offering: Offering = NOTHING) -> None:
        self._followed = followed
        self._limits = limits
        self._offering = offering
        self._filters: _Filters | None = None
        self._cloudevents = lru_cache(_REMEMBERED)(_as_written)

    def remember(self, text: str, form: Filter | None, schema: Schema | None) -> None:
        """Keeps the normal form that a filter has under a schema, so that it is not read again when it first matches.

        Large ones are read again: strangers write them, and they must not fill the memory before they match anything.
        """
        filters = self._current()
        if form is not None and schema is filters.schema and len(text) <= _SHORT and len(form.conjuncts) <= _FEW:
            filters.keep(text, form)

    def conditions(self, subscription: Subscription, event: OpenedEvent, bindings: str | None = None) -> list[Any]:
        """The conditions of the first alternative that holds, each with the values that it met.

        Empty if none holds any more, since the subscription was changed after it matched. A subscription in
        CloudEvents' dialect has its filters there as they were written, and a join nothing, for no one event decides.

        A notification has the event itself, so values are quoted, long ones once: what this adds to an event does not
        grow with it, and is bounded.
        """
        if subscription.kind == "join":
            return []
        if subscription.dialect == "cloudevents":
            return self._cloudevents(subscription.text)
        filters = self._current()
        try:
            alternatives = filters.alternatives(subscription.filter)
        except FilterError:
            # It names what a later extension of the schema has brought.
            self._followed.refresh()
            filters = self._current()
            try:
                alternatives = filters.alternatives(subscription.filter)
            except FilterError:
                return []
        bound = {} if bindings is None else orjson.loads(bindings)
        held = what_held(alternatives, partial(event.values, schema=filters.schema), bound.keys())
        return [] if held is None else _listed(held, event, filters.schema, bound)

    def _current(self) -> _Filters:
        """Filters under the schema in force; none yet where that is new."""
        filters, (version, schema) = self._filters, self._followed.serving
        if filters is None or filters.version != version:
            operators = self._offering.signatures(schema)
            filters = self._filters = _Filters(version, schema, self._limits, operators)
        return filters


def _listed(
    alternative: Alternative, event: OpenedEvent, schema: Schema, bound: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The conditions with the values that they met, calls with what their variables are bound to.

    After the first so many characters, only how many conditions more there are.
    """
    seen: set[str] = set()
    listed: list[dict[str, Any]] = []
    left = _LONGEST
    conditions: list[Condition | CalledCondition] = [*alternative.plain, *alternative.called]
    for one in conditions:
        if isinstance(one, Condition):
            values = {name: event.quotes(name, schema)[name in seen] for name in one.attributes}
        else:
            values = {f"?{name}": quotes([bound[name]])[f"?{name}" in seen] for name in one.names if name in bound}
        left -= len(one.text) + _QUOTED * len(values)
        if left < 0 and listed:
            return [*listed, {"condition": f"… and {len(conditions) - len(listed):,} more", "values": {}}]
        seen.update(values)
        listed.append({"condition": one.text, "values": values})
    return listed


def _as_written(text: str) -> list[Any]:
    """CloudEvents filters as a list of them."""
    filters = orjson.loads(text)
    return filters if isinstance(filters, list) else [filters]
