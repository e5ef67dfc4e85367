"""Answers of the service as Python values: notifications, publish receipts, contents of joins, live tables, errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from httpx import Response

from tamis.errors import TamisError

# Errors of requests to the service.

_SCHEMES = ("http://", "https://")


class ServiceError(TamisError):
    """Refusal of a request. `status` is HTTP's status code, `problem` the problem details of the service."""

    def __init__(self, status: int, detail: str, problem: Mapping[str, Any] | None = None) -> None:
        super().__init__(status, detail, problem)
        self.status = status
        self.detail = detail
        self.problem = dict(problem or {})

    def __str__(self) -> str:
        errors = [str(each.get("message", "")) for each in self.problem.get("errors") or () if isinstance(each, dict)]
        more = [message for message in errors if message and message not in self.detail]
        return f"{self.detail} (HTTP {self.status})" + "".join(f"\n  {message}" for message in more)


class ServiceUnreachable(TamisError):  # noqa: N818 - reads as what happened
    """No answer from the service. A publish that ends so may have been accepted: retry it with the same key."""


def address(url: str) -> str:
    """URL of a service; refuses a name and a port alone, which would be parsed as something else."""
    if not url.startswith(_SCHEMES):
        raise ServiceUnreachable(
            f"{url!r} is no address of a service; write http:// before it: 'http://127.0.0.1:8080'"
        )
    return url


def unreachable(url: str, error: Exception) -> ServiceUnreachable:
    """Error after the last retry."""
    return ServiceUnreachable(f"{url} does not answer: {error}; is `tamis serve` running there?")


Delivery = Mapping[str, Any]
"""`{"mode": "pull"}`, `{"mode": "webhook", "url": …}` or `{"mode": "kafka", "topic": …}`.

A webhook may have `parallel`, calls under way at a time, and `batch`, notifications in one call."""


@dataclass(frozen=True, slots=True)
class Change:
    """Change of a join's content: a result that was `added` or `removed`; one that changed is removed and added, under
    the same id.

    `begins` has neither id nor row: earlier results are void.
    """

    change: str
    id: str = ""
    row: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Content:
    """Content (result set) of a join as of a cursor: results by id. `begun` is False if the first notifications will
    bring it.
    """

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
    """Notification: an event that a subscription matched, or a message about the subscription, by `type`.

    `id` is a function of event and subscription: a reader that keeps the ids it has processed can deduplicate by it.
    Reading continues after `cursor`. `matched` names the conditions that held, with the event's values. `bindings` are
    the values of the filter's variables, by name. `changes` are changes of the content of a join. `type` is `match`; or
    `subscription.expiring`, which has no event, and gives the end of the validity in `expires`.
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
    """Subscription as its owner sees it. `ticket` proves ownership without a key; `expires` is None if it never
    expires.
    """

    def __init__(self, about: dict[str, Any]) -> None:
        self.id: str = about["id"]
        self.ticket: str = about.get("ticket", "")
        self.filter: str = about["filter"]
        self.expires = _moment(about.get("expires"))
        self.about = about

    def renewed(self, answer: Mapping[str, Any]) -> datetime | None:
        """Records the new end of validity that the service returned."""
        self.expires = _moment(answer.get("expires"))
        return self.expires


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def accepted(response: Response) -> Any:
    """Content of an answer, if the request succeeded; else raises a `ServiceError`."""
    if response.is_success:
        return response.json() if response.content else None
    problem: dict[str, Any] = {}
    if "json" in response.headers.get("content-type", ""):
        read = response.json()
        problem = read if isinstance(read, dict) else {}
    raise ServiceError(response.status_code, str(problem.get("detail") or response.reason_phrase), problem)


# Content of a join, kept current by its notifications.


class LiveTable:
    """Results of a join by id, as of a cursor: the service's content once every notification up to there is applied.

    `changes` are those of the notifications applied last. One thread at a time.
    """

    def __init__(self, content: Content) -> None:
        self.rows: dict[str, Mapping[str, Any]] = {}
        self.columns = content.columns
        self.cursor = ""
        self.changes: list[Change] = []
        self.reset(content)

    def take(self, notification: Notification) -> bool:
        """Applies a notification; returns False, and applies nothing, if earlier ones were missed: then `reset`."""
        held = dict(self.rows)
        for change in notification.changes:
            if change.change == "begins":
                held.clear()
            elif change.change == "removed":
                if held.pop(change.id, None) != change.row:
                    return False
            elif change.id in held:
                return False
            else:
                held[change.id] = change.row
        self._become(held, notification.cursor)
        return True

    def reset(self, content: Content) -> None:
        """Starts anew from a content; the difference is in `changes`, as if it had been notified."""
        self._become(dict(content.rows), content.cursor)

    def _become(self, rows: dict[str, Mapping[str, Any]], cursor: str) -> None:
        gone = [Change("removed", id, row) for id, row in self.rows.items() if rows.get(id) != row]
        come = [Change("added", id, row) for id, row in rows.items() if self.rows.get(id) != row]
        self.rows, self.cursor, self.changes = rows, cursor, gone + come

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows.values())
