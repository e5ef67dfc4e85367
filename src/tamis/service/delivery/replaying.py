"""A dead letter as the notification that it was."""

from __future__ import annotations

from datetime import datetime

import orjson

from tamis.errors import TamisError
from tamis.service.delivery.standing import standing
from tamis.service.notification import Notification
from tamis.service.store import DeadLetter, Subscription


class NotReplayable(TamisError):  # noqa: N818 - reads as what it is
    """A dead letter that nobody is waiting for any more."""


def notification_of(letter: DeadLetter, subscription: Subscription | None, now: datetime) -> Notification:
    """The notification, to be sent as its subscription would have it now; `NotReplayable` if it is not to be sent."""
    if subscription is None or standing(subscription, now) != "active":
        raise NotReplayable("its subscription is not active")
    if subscription.delivery["mode"] == "pull":
        raise NotReplayable("its subscription has neither webhook nor topic any more")
    form = orjson.loads(letter.body)
    return Notification(
        id=str(letter.detail["notification"]),
        subscription=subscription,
        position=int(letter.detail["cursor"]),
        event_id=str(letter.detail["event_id"]),
        time=now,
        event=orjson.dumps(form["event"]).decode(),
        body=letter.body.encode(),
        bindings=orjson.dumps(form["bindings"]).decode() if "bindings" in form else None,
        changes=orjson.dumps(form["changes"]).decode() if "changes" in form else None,
        notice=orjson.dumps({"type": form["type"], "expires": form["expires"]}).decode() if "type" in form else None,
    )
