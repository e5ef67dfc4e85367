"""A notification's event as a CloudEvent in structured mode, as it was published or as if it had been."""

from __future__ import annotations

from typing import Any, Final

import orjson

from tamis.schema.timestamps import write_instant
from tamis.service.base.notification import Notification
from tamis.service.intake.cloudevents.body import CONTEXT, to_structured

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
