"""Answers of the service, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from httpx import Response

from tamis.client.errors import ServiceError

Delivery = Mapping[str, Any]
"""`{"mode": "pull"}`, `{"mode": "webhook", "url": …}` or `{"mode": "kafka", "topic": …}`."""


@dataclass(frozen=True, slots=True)
class Change:
    """A result of a join that was `added` or `removed`; one that changed is removed and added, under the same id.

    `begins` has neither id nor row: what was known before counts no more.
    """

    change: str
    id: str = ""
    row: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Content:
    """Content of a join as of a cursor: results by id. `begun` is false if the first notifications will bring it."""

    rows: Mapping[str, Mapping[str, Any]]
    cursor: str
    columns: Sequence[str] = ()
    begun: bool = True

    @classmethod
    def read(cls, form: Mapping[str, Any]) -> Content:
        columns = (form.get("join") or {}).get("columns", ())
        return cls({one["id"]: one["row"] for one in form["rows"]}, form["cursor"], columns, form["begun"])


@dataclass(frozen=True, slots=True)
class Notification:
    """An event that a subscription matched, or a message about the subscription: `type` tells which.

    `id` is a function of event and subscription: whoever keeps the ids they have dealt with deals with each once.
    `cursor` is where to go on from. `matched` names the conditions that held, with the event's values. `bindings` are
    what the filter's variables were bound to, by name. `changes` are what the event did to the content of a join.
    `type` is `match`; or `subscription.expiring`, which has no event, and says until when it is valid in `expires`.
    """

    id: str
    subscription: str
    cursor: str
    time: datetime
    event_id: str
    event: Mapping[str, Any]
    matched: Sequence[Mapping[str, Any]]
    bindings: Mapping[str, Any] = field(default_factory=dict)
    changes: Sequence[Change] = ()
    type: str = "match"
    expires: datetime | None = None

    @classmethod
    def read(cls, form: Mapping[str, Any]) -> Notification:
        return cls(
            id=form["id"],
            subscription=form["subscription"],
            cursor=form["cursor"],
            time=datetime.fromisoformat(form["time"]),
            event_id=form["event_id"],
            event=form["event"],
            matched=form["matched"],
            bindings=form.get("bindings", {}),
            changes=[Change(**change) for change in form.get("changes", ())],
            type=form.get("type", "match"),
            expires=_moment(form.get("expires")),
        )


@dataclass(frozen=True, slots=True)
class Published:
    """Result of a publish. `refused` has the index and the reason of events that break the schema.

    `ids` are the events' own, in order: the `event_id` of their notifications. One that was refused has None. `ignored`
    are attributes that the schema does not have, each with the number of events, where a service is set to ignore them:
    the most frequent of `ignored_count`.
    """

    accepted: int
    refused: Sequence[Mapping[str, Any]]
    repeated: bool
    ids: Sequence[str | None] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    ignored_count: int = 0

    @classmethod
    def read(cls, form: Mapping[str, Any]) -> Published:
        return cls(
            form["accepted"],
            form.get("refused", ()),
            form.get("repeated", False),
            form.get("ids", ()),
            form.get("ignored", {}),
            form.get("ignored_count", 0),
        )


class OwnedSubscription:
    """A subscription as its owner sees it. `ticket` proves it where no key does; `expires` is None if it never does."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.id: str = about["id"]
        self.ticket: str = about.get("ticket", "")
        self.filter: str = about["filter"]
        self.expires = _moment(about.get("expires"))
        self.about = about

    def renewed(self, answer: Mapping[str, Any]) -> datetime | None:
        """Subscription that lasts until the moment that the service says now."""
        self.expires = _moment(answer.get("expires"))
        return self.expires


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def accepted(response: Response) -> Any:
    """The answer's content, if the service did what it was asked."""
    if response.is_success:
        return response.json() if response.content else None
    problem: dict[str, Any] = {}
    if "json" in response.headers.get("content-type", ""):
        read = response.json()
        problem = read if isinstance(read, dict) else {}
    raise ServiceError(response.status_code, str(problem.get("detail") or response.reason_phrase), problem)
