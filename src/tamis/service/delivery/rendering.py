"""Notifications as JSON: each made once, off the event loop."""

from __future__ import annotations

from typing import Final

import orjson

from tamis.service.delivery.matched import Matched
from tamis.service.delivery.opened_event import OpenedEvent
from tamis.service.notification import Notification, notification_id
from tamis.service.store import Subscription

_OPTIONS: Final = orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z


class Renderer:
    """Makes notifications. Safe from any thread."""

    def __init__(self, matched: Matched) -> None:
        self._matched = matched

    def render(
        self,
        subscription: Subscription,
        event: OpenedEvent,
        bindings: str | None = None,
        changes: str | None = None,
        notice: str | None = None,
    ) -> Notification:
        """The notification of one subscription of one event, and what its variables were bound to, as JSON.

        Of a join: what the event changed in its content, as JSON. `notice`, JSON too: a message in place of a match.
        """
        id = notification_id(event.id, subscription.id)
        form = {
            "id": id,
            **({} if notice is None else orjson.loads(notice)),
            "subscription": subscription.id,
            "time": event.time,
            "event_id": event.id,
            "event": event.written,
            "matched": [] if notice is not None else self._matched.conditions(subscription, event, bindings),
            **({} if bindings is None else {"bindings": orjson.Fragment(bindings)}),
            **({} if changes is None else {"changes": orjson.Fragment(changes)}),
            "cursor": str(event.position),
        }
        body = orjson.dumps(form, option=_OPTIONS)
        return Notification(
            id, subscription, event.position, event.id, event.time, event.body, body, bindings, changes, notice
        )
