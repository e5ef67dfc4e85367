"""A CloudEvent as the service's own JSON object, and back.

`{"ce": attributes, **members}` where the data is a JSON object, `{"ce": attributes, "data": value}` where it is another
value, `{"ce": attributes, "data_base64": text}` where it is bytes, and `{"ce": attributes}` where there is none.
What comes back is what went in, with one exception: an `event_type` in the data that only repeats the event's `type`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from tamis.service.intake.cloudevents.attributes import CloudEventError

Read = tuple[str, dict[str, object]]
"""An event as it was read: its id, which is its own within its source, and its body."""

CONTEXT: Final = "ce"
EVENT_TYPE: Final = "event_type"


def to_body(attributes: Mapping[str, Any], data: Mapping[str, Any], event_types: Collection[str]) -> Read:
    """The body of an event; `data` has `data` or `data_base64`, or nothing.

    Where the event's `type` is one of the schema's event types, and its data does not say otherwise, it is that one.
    """
    members = _members(data)
    if attributes["type"] in event_types and EVENT_TYPE not in members:
        members[EVENT_TYPE] = [attributes["type"]]
    return f"{attributes['source']} {attributes['id']}", {CONTEXT: dict(attributes), **members}


def to_structured(body: Mapping[str, Any]) -> dict[str, Any]:
    """The CloudEvent that a body was made from, in the JSON format. Leaves the body as it is."""
    attributes = body[CONTEXT]
    members = {name: value for name, value in body.items() if name != CONTEXT}
    if members.get(EVENT_TYPE) == [attributes.get("type")]:
        del members[EVENT_TYPE]
    if not members:
        return dict(attributes)
    return {**attributes, **(members if _stands_alone(members) else {"data": members})}


def _members(data: Mapping[str, Any]) -> dict[str, Any]:
    value = data.get("data")
    if not isinstance(value, dict) or not value:
        return dict(data)
    if CONTEXT in value:
        message = f"the data has a member {CONTEXT!r}, which is where the context attributes go; call it otherwise"
        raise CloudEventError(message, f"data.{CONTEXT}")
    if _stands_alone({name: given for name, given in value.items() if name != EVENT_TYPE}):
        message = "an object with this member alone cannot be told from data that is no object; add another"
        raise CloudEventError(message, "data")
    return dict(value)


def _stands_alone(members: Mapping[str, Any]) -> bool:
    """Whether the members are data that is no object of several members, rather than an object's own."""
    if members.keys() == {"data"}:
        return not isinstance(members["data"], dict) or not members["data"]
    return members.keys() == {"data_base64"}
