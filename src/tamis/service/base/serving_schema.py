"""The schema that a service matches by: the user's, and on every event type what CloudEvents carry."""

from __future__ import annotations

from typing import Final

from tamis.errors import SchemaError
from tamis.schema import Schema
from tamis.service.base.event_body import PASSED_OVER

CONTEXT_ATTRIBUTES: Final = {
    "ce.id": "string",
    "ce.source": "string",
    "ce.type": "string",
    "ce.subject": "string",
    "ce.specversion": "string",
    "ce.datacontenttype": "string",
    "ce.dataschema": "string",
    "ce.time": "timestamp",
}
"""The core context attributes. Extensions are not among them: filters on those are checked on each event by itself."""


def serving_schema(schema: Schema | None) -> Schema:
    """The schema with the context attributes, all optional; without one, a single event type `event` with only these.

    Serving a serving schema changes nothing.
    """
    if schema is None:
        schema = Schema.from_dict({"attributes": {}, "event_types": {"event": {}}})
    for name in schema.attributes:
        if name == PASSED_OVER or name.startswith(f"{PASSED_OVER}."):
            message = "events have under this name what the schema had no attribute for when they were published"
            raise SchemaError(message, f"attributes.{name}", "call it otherwise")
    for name, domain in CONTEXT_ATTRIBUTES.items():
        known = schema.attributes.get(name)
        if known is not None and (known.domain.kind != domain or known.multiple):
            message = f"{name!r} is an attribute of CloudEvents, and holds one {domain}"
            raise SchemaError(message, f"attributes.{name}", "take it out of the schema, or call it otherwise")
    added = {name: domain for name, domain in CONTEXT_ATTRIBUTES.items() if name not in schema.attributes}
    optional = {
        event_type.name: {name: "optional" for name in CONTEXT_ATTRIBUTES if name not in event_type.annotations}
        for event_type in schema.event_types.values()
    }
    optional = {event_type: names for event_type, names in optional.items() if names}
    return schema.extend(attributes=added, optional=optional) if added or optional else schema
