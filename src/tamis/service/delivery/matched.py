"""Content of notifications: the event, parsed and as a CloudEvent, and `matched`, the conditions that held with the
values they met.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache, partial
from threading import Lock
from typing import Any, Final

import orjson

from tamis.errors import FilterError
from tamis.language import Filter, Limits, Signatures, normal_form, parse
from tamis.matching.conditions import Alternative, CalledCondition, Condition, alternatives_of, what_held
from tamis.matching.explanation import MOST, quotes
from tamis.schema import EVENT_TYPE, Schema
from tamis.schema.reading import flatten
from tamis.schema.timestamps import to_datetime, write_instant
from tamis.schema.values import InadmissibleError, read_value, shown_bytes
from tamis.service.base.events import Notification, published_text
from tamis.service.base.offering import NOTHING, Offering
from tamis.service.intake.cloudevents import CONTEXT, to_structured
from tamis.service.store import Subscription
from tamis.service.store.store import FollowedSchema

# Stored events, parsed once for all their subscriptions.

_ONE_LINE: Final = str.maketrans("\r\n", "  ")


def _nothing(_: str) -> None:
    return None


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


class OpenedEvent:
    """Event of the store, parsed. Created, used and dropped by one thread.

    `body` is the event as it was published, and `written` what goes into a notification of it: that text as it stands,
    where it is JSON in the strict sense, in one line. `values` are of what the door read of it.
    `values(name, schema)` are an attribute's values as the language sees them; they are read when first asked for.
    `quotes(name, schema)` are those values as notifications quote them, at first and again.
    """

    def __init__(self, position: int, id: str, time: datetime, body: str) -> None:
        self.position = position
        self.id = id
        self.time = time
        stored, body = body, published_text(body)
        self.body = body
        # Line ends between tokens mean nothing to JSON, and would end the line of a server-sent event.
        self.written: Any = orjson.Fragment(body.translate(_ONE_LINE) if "\r" in body or "\n" in body else body)
        self._values: dict[str, list[Any]] = {}
        self._quotes: dict[str, tuple[list[Any], list[Any]]] = {}
        self._schema: Schema | None = None
        self._given: dict[str, object] = {}
        members = self._parse(body)
        if stored is not body:
            members = json.loads(stored)
        if isinstance(members, Mapping):
            self._given = dict(flatten(members))

    def _parse(self, body: str) -> object:
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            # Python's reader takes NaN and numbers beyond all floats, which others choke on: they become null.
            try:
                members = json.loads(body, parse_constant=_nothing, parse_float=_finite)
                self.written = orjson.Fragment(json.dumps(members, separators=(",", ":")))
            except (ValueError, RecursionError):
                self.written, members = body, None
            return members

    def values(self, name: str, schema: Schema) -> list[Any]:
        """Values of an attribute in canonical form, bytes as their number; empty where the schema does not know it."""
        if schema is not self._schema:
            self._schema, self._values, self._quotes = schema, {}, {}
        found = self._values.get(name)
        if found is None:
            found = self._values[name] = self._read(name, schema)
        return found

    def quotes(self, name: str, schema: Schema) -> tuple[list[Any], list[Any]]:
        """Values of an attribute as they are quoted, the first time and afterwards; timestamps as such."""
        values = self.values(name, schema)
        found = self._quotes.get(name)
        if found is None:
            if values and schema.attributes[name].domain.kind == "timestamp":
                values = [*map(to_datetime, values[:MOST]), *values[MOST:]]  # the others are counted only
            found = self._quotes[name] = quotes(values)
        return found

    def _read(self, name: str, schema: Schema) -> list[Any]:
        value = self._given.get(name)
        items = [item for item in value if item is not None] if isinstance(value, list) else [value]
        if value is None or not items:
            default = schema.default_event_type
            return [default] if name == EVENT_TYPE and default is not None else []
        domain = schema.attributes[name].domain
        try:
            read = [read_value(domain, item) for item in items]
        except InadmissibleError:
            return []
        return [shown_bytes(value) if isinstance(value, bytes) else value for value in read]


# Event of a notification as a CloudEvent in structured mode.

_SOURCE: Final = "urn:tamis"
_TYPE: Final = "tamis.event"
# Extension attributes; their values must be strings.
_BINDINGS: Final = "tamisbindings"
_CHANGES: Final = "tamischanges"


def structured_event(notification: Notification) -> bytes:
    """CloudEvent as JSON. An event that was published in another form gets the required attributes.

    What a filter's variables were bound to is an attribute too, `tamisbindings`, as JSON, and so is what the event
    changed in a join, `tamischanges`. A message about the subscription has its id as the subject.
    """
    if notification.notice is not None:
        notice = orjson.loads(notification.notice)
        kind, subject = f"tamis.{notice.pop('type')}", notification.subscription.id
        data = {"subscription": subject, **notice}
        return orjson.dumps({**_made_up(notification, {}), "type": kind, "subject": subject, "data": data})
    try:
        body = orjson.loads(notification.event)
    except orjson.JSONDecodeError:
        body = notification.event
    told = {_BINDINGS: notification.bindings, _CHANGES: notification.changes}
    bound = {name: text for name, text in told.items() if text is not None}
    if isinstance(body, dict) and isinstance(body.get(CONTEXT), dict):
        return orjson.dumps(to_structured(body) | bound)
    return orjson.dumps({**_made_up(notification, body), **bound, "data": body})


def _made_up(notification: Notification, body: object) -> dict[str, Any]:
    types = body.get("event_type") if isinstance(body, dict) else None
    first = types[0] if isinstance(types, list) and types else types
    return {
        "specversion": "1.0",
        "id": notification.event_id,
        "source": _SOURCE,
        "type": first if isinstance(first, str) and first else _TYPE,
        "time": write_instant(notification.time),
        "datacontenttype": "application/json",
    }


_REMEMBERED: Final = 10_000  # filters
_SHORT: Final = 1_000  # characters of a filter that is remembered before it matches
_FEW: Final = 8  # alternatives of such a filter
_LONGEST: Final = 64 << 10  # characters of conditions, and of what they quote, that a notification lists
_QUOTED: Final = 100  # characters that a condition quotes of an attribute, about


class _Filters:
    """Cache of the parsed filters of one schema version, by text: the alternatives of those that have matched.

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
    """Computes the `matched` of notifications. A filter is parsed once per schema version. Safe from any thread."""

    def __init__(self, followed: FollowedSchema, limits: Limits, offering: Offering = NOTHING) -> None:
        self._followed = followed
        self._limits = limits
        self._offering = offering
        self._filters: _Filters | None = None
        self._cloudevents = lru_cache(_REMEMBERED)(_as_written)

    def remember(self, text: str, form: Filter | None, schema: Schema | None) -> None:
        """Caches the normal form of a filter under a schema, so that its first match need not parse it.

        Large ones are read again: strangers write them, and they must not fill the memory before they match anything.
        """
        filters = self._current()
        if form is not None and schema is filters.schema and len(text) <= _SHORT and len(form.conjuncts) <= _FEW:
            filters.keep(text, form)

    def conditions(self, subscription: Subscription, event: OpenedEvent, bindings: str | None = None) -> list[Any]:
        """Conditions of the first alternative that holds, each with the values that it met.

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
        """Cache of the schema version in force; a new version starts with an empty one."""
        filters, (version, schema) = self._filters, self._followed.serving
        if filters is None or filters.version != version:
            operators = self._offering.signatures(schema)
            filters = self._filters = _Filters(version, schema, self._limits, operators)
        return filters


def _listed(
    alternative: Alternative, event: OpenedEvent, schema: Schema, bound: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Conditions with the values that they met, calls with the values of their variables.

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
    """CloudEvents filters as a list."""
    filters = orjson.loads(text)
    return filters if isinstance(filters, list) else [filters]
