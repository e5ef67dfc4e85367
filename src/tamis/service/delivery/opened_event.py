"""A stored event, opened: parsed once, however many subscriptions it is shown to."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import orjson

from tamis.matching.explanation import MOST, quotes
from tamis.schema import EVENT_TYPE, Schema
from tamis.schema.reading import flatten
from tamis.schema.timestamps import to_datetime, write_instant
from tamis.schema.values import InadmissibleError, read_value, shown_bytes
from tamis.service.base.event_body import published_text
from tamis.service.base.notification import Notification
from tamis.service.intake.cloudevents.binary import CONTEXT, to_structured

_ONE_LINE: Final = str.maketrans("\r\n", "  ")


def _nothing(_: str) -> None:
    return None


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


class OpenedEvent:
    """One event of the store. Made, used and dropped by one thread.

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
        """The attribute's values in canonical form, bytes as their number; empty where the schema knows of none."""
        if schema is not self._schema:
            self._schema, self._values, self._quotes = schema, {}, {}
        found = self._values.get(name)
        if found is None:
            found = self._values[name] = self._read(name, schema)
        return found

    def quotes(self, name: str, schema: Schema) -> tuple[list[Any], list[Any]]:
        """The attribute's values as they are quoted, the first time and from then on; moments as such."""
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


# A notification's event as a CloudEvent in structured mode, as it was published or as if it had been.

_SOURCE: Final = "urn:tamis"
_TYPE: Final = "tamis.event"
# Extension attributes, which have to be texts.
_BINDINGS: Final = "tamisbindings"
_CHANGES: Final = "tamischanges"


def structured_event(notification: Notification) -> bytes:
    """The CloudEvent as JSON. An event that was published as another thing gets the attributes it needs.

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
