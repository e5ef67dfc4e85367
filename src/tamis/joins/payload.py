"""Payload server: filters over events with a bulky payload, run as joins so that the payload is sent once (App. I)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tamis.errors import FilterError, SchemaError
from tamis.joins.client import Note
from tamis.joins.server import Applied, JoinServer
from tamis.schema import EVENT_TYPE, OPERATION, Schema

READINGS, PAYLOADS = "readings", "payloads"


class PayloadServer:
    """Events about things, each a reading and a payload, as changes of two tables that join on the thing.

    `about` are the attributes that say what an event is about, `payload` those that are bulky; filters are over the
    others. A thing's payload goes out to a subscription when its reading comes into the filter, and not again while it
    stays there and the payload is the same: semijoins see to that. A client holds, for each thing, its last reading
    and payload, if they pass. `server` is the join server behind it.
    """

    def __init__(
        self,
        schema: Schema,
        filters: Mapping[str, str],
        about: Sequence[str],
        payload: Sequence[str],
        scheme: str = "ref-sj-clu+",
    ) -> None:
        self._about, self._payload = tuple(about), tuple(payload)
        self.server = JoinServer(_split_schema(schema, self._about, self._payload), scheme=scheme)
        self._sent: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.errors = self.add(filters)

    def add(self, filters: Mapping[str, str]) -> list[tuple[str, FilterError]]:
        """Adds filters over readings; returns those that are refused, with the reasons."""
        head = f"SELECT * FROM {READINGS} JOIN {PAYLOADS} USING ({', '.join(map(_quoted, self._about))})"
        return self.server.add({id: f"{head} WHERE {text}" for id, text in filters.items()})

    def apply(self, events: Sequence[Mapping[str, object]]) -> Applied:
        """Applies events; each is a whole one, its payload included."""
        return self.server.apply([change for event in events for change in self.split(event)])

    def notes(self, applied: Applied, id: str) -> list[Note]:
        return self.server.notes(applied, id)

    def split(self, event: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Splits an event into changes: of the payload only if it is another than before."""
        thing = {name: event[name] for name in self._about}
        payload = {name: event[name] for name in self._payload if name in event}
        reading = {name: value for name, value in event.items() if name not in (*self._payload, EVENT_TYPE)}
        known = self._sent.get(tuple(thing.values()))
        changes: list[dict[str, Any]] = [{EVENT_TYPE: READINGS, **reading}]
        if known != payload:
            # Another payload comes after the reading, and the old one goes before: whoever the reading leaves does not
            # get the new one, and whoever it enters does not get the old one.
            if known is not None:
                changes.insert(0, {EVENT_TYPE: PAYLOADS, OPERATION: "delete", **thing})
            changes.append({EVENT_TYPE: PAYLOADS, **thing, **payload})
            self._sent[tuple(thing.values())] = payload
        return changes


def _split_schema(schema: Schema, about: tuple[str, ...], payload: tuple[str, ...]) -> Schema:
    """Schema of readings and payloads, out of one whose events are both."""
    form: dict[str, Any] = schema.to_dict()
    attributes: dict[str, Any] = {
        name: one for name, one in form["attributes"].items() if name not in (EVENT_TYPE, OPERATION)
    }
    for name in (*about, *payload):
        if name not in attributes:
            raise SchemaError(f"there is no attribute {name!r}", "attributes", "name attributes of the schema")
    bulky = dict.fromkeys(about, "mandatory") | dict.fromkeys(payload, "optional")
    plain = dict.fromkeys(about, "mandatory") | {name: "optional" for name in attributes if name not in bulky}
    tables = {name: {"key": list(about), "join": list(about)} for name in (READINGS, PAYLOADS)}
    types = {READINGS: plain, PAYLOADS: bulky}
    return Schema.from_dict({"attributes": attributes, "event_types": types, "tables": tables})


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
