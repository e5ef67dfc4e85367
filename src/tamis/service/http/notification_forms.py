"""Answers of the routes of delivery, for the description of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_EXAMPLE: dict[str, Any] = {
    "id": "ntf_0f3c6f6f0b7c4b1f9a3e5d2c1b0a9f8e",
    "subscription": "sub_3q2-8xYhT0m5nKc7vZJdQw",
    "time": "2026-05-01T10:00:00.123456Z",
    "event_id": "evt_1f0c",
    "event": {"event_type": ["antiques"], "price": 9.5},
    "matched": [{"condition": "price < 10", "values": {"price": [9.5]}}],
    "cursor": "3355443201",
}


class ResultChangeForm(BaseModel):
    """A result of a join that came (`added`) or went (`removed`); one that changed is removed and added.

    `begins`, always the first: what the subscriber knows counts no more, since the subscription has begun anew.
    """

    change: Literal["begins", "added", "removed"]
    id: str | None = Field(None, description="The same for as long as the rows are there that the result is made of")
    row: dict[str, Any] | None = None


class NotificationForm(BaseModel):
    """One event for one subscription; the same in a poll, a stream, a socket, a webhook and a topic.

    One with a `type` is no match but a message about the subscription: its `event` and `matched` are empty.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: str = Field(description="The same however often it is sent: what was seen before can be passed over")
    type: Literal["subscription.expiring"] | None = Field(
        None, description="Left out for matches. `subscription.expiring`: the subscription ends at `expires`; renew it"
    )
    expires: datetime | None = Field(None, description="Of `subscription.expiring`: until when it is valid")
    subscription: str
    time: datetime = Field(description="When the event was received")
    event_id: str
    event: Any = Field(description="The event as it was published")
    matched: list[Any] = Field(description="The conditions that held, with the event's values")
    bindings: dict[str, Any] = Field(
        default_factory=dict, description="What the filter's variables were bound to; left out if it has none"
    )
    changes: list[ResultChangeForm] = Field(
        default_factory=list, description="What the event changed in the content of a join; left out for filters"
    )
    cursor: str = Field(description="Where to go on after this one")


class NotificationPage(BaseModel):
    """Notifications in the order asked for. `cursor` is where the next poll goes on; `more`: there may be some."""

    notifications: list[NotificationForm]
    cursor: str
    state: Literal["active", "paused", "suspended", "expired", "cancelled"]
    more: bool


class DeadLetterForm(BaseModel):
    """An event that could not be read, or a notification that could not be delivered."""

    id: int
    kind: Literal["event", "delivery"]
    subject: str = Field(description="The event's id, or the subscription's")
    reason: str
    body: str
    detail: dict[str, Any]
    time: datetime


class DeadLetterPage(BaseModel):
    """Dead letters in the order asked for; `next` is the `after` of the page after this one."""

    dead_letters: list[DeadLetterForm]
    next: int | None


class Replayed(BaseModel):
    """Result of sending a dead letter again."""

    delivered: Literal[True]
