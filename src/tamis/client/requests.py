"""Requests to the service and parsing of its event streams, for the blocking and the asynchronous client alike."""

from __future__ import annotations

import base64
import json
import secrets
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from math import ceil
from typing import Any, Literal, TypeAlias

from tamis.client.answers import Delivery, Notification

Event = Mapping[str, Any]
Validity: TypeAlias = timedelta | Literal["forever"] | None
"""How long from now; `forever`: until it is cancelled."""

ATTEMPTS = 5
FIRST_WAIT, LONGEST_WAIT = 0.2, 10.0
"""Seconds before a lost connection is taken up again: they double until the service answers."""


@dataclass(frozen=True, slots=True)
class Request:
    """Request, ready to be sent; `again` is True if a retry is harmless."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    again: bool = False


def subscribe(filter: str, delivery: Delivery | None, validity: Validity, label: str) -> Request:
    form: dict[str, Any] = {"filter": filter, "label": label}
    if delivery is not None:
        form["delivery"] = dict(delivery)
    if validity is not None:
        form["validity"] = _written_validity(validity)
    # A ticket of one's own makes a repeat after a lost answer harmless.
    return _post("/v1/subscriptions", form, f"tkt_{secrets.token_urlsafe(32)}", again=True)


def publish(events: Event | Sequence[Event], key: str | None) -> Request:
    """Request to publish one event, or many as JSON lines. The idempotency key makes a retry after a lost answer
    harmless.

    Bytes are sent as base64, timestamps as strings.
    """
    headers = {"Idempotency-Key": key or uuid.uuid4().hex}
    if isinstance(events, Mapping):
        content, kind = _written(events), "application/json"
    else:
        content, kind = "\n".join(map(_written, events)), "application/x-ndjson"
    return Request("POST", "/v1/events", {**headers, "Content-Type": kind}, content.encode(), again=True)


def _written(event: Event) -> str:
    return json.dumps(event, default=_as_json)


def _as_json(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, date):  # a datetime is one
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no form in JSON; write it as a text or a number")


def _written_validity(validity: timedelta | Literal["forever"]) -> int | str:
    if validity == "forever":
        return "forever"
    if not isinstance(validity, timedelta):
        raise TypeError(f"validity is a timedelta, such as timedelta(days=7), or 'forever', not {validity!r}")
    return ceil(validity.total_seconds())


def renew(id: str, ticket: str, validity: Validity) -> Request:
    form = {} if validity is None else {"validity": _written_validity(validity)}
    return _post(f"/v1/subscriptions/{id}/renew", form, ticket, again=True)


def replay(id: str, ticket: str, since: datetime | None, cursor: str) -> Request:
    if (since is None) == (not cursor):
        raise TypeError("give since or cursor, one of them")
    form = {"cursor": cursor} if since is None else {"since": since.astimezone().isoformat()}
    return _post(f"/v1/subscriptions/{id}/replay", form, ticket, again=True)


def rotate_secret(id: str, ticket: str, overlap: timedelta) -> Request:
    # A secret of one's own makes a repeat after a lost answer harmless.
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    form = {"secret": secret, "overlap": ceil(overlap.total_seconds())}
    return _post(f"/v1/subscriptions/{id}/rotate-secret", form, ticket, again=True)


def cancel(id: str, ticket: str) -> Request:
    return Request("DELETE", f"/v1/subscriptions/{id}", with_ticket(ticket))


def stream(id: str, ticket: str, cursor: str) -> Request:
    """Request for a stream of the notifications after a cursor."""
    headers = {**with_ticket(ticket), "Accept": "text/event-stream"}
    if cursor:
        headers["Last-Event-ID"] = cursor
    return Request("GET", f"/v1/subscriptions/{id}/stream", headers)


def poll(id: str, ticket: str, cursor: str, limit: int, wait: float) -> Request:
    params = {"limit": str(limit), "wait": str(wait)} | ({"cursor": cursor} if cursor else {})
    return Request("GET", f"/v1/subscriptions/{id}/notifications", with_ticket(ticket), params=params, again=True)


def content(id: str, ticket: str) -> Request:
    return Request("GET", f"/v1/subscriptions/{id}/content", with_ticket(ticket), again=True)


def get(path: str) -> Request:
    return Request("GET", path, again=True)


def with_ticket(ticket: str) -> dict[str, str]:
    return {"Tamis-Ticket": ticket} if ticket else {}


def _post(path: str, form: Mapping[str, Any], ticket: str, again: bool) -> Request:
    headers = {"Content-Type": "application/json", **with_ticket(ticket)}
    return Request("POST", path, headers, json.dumps(form).encode(), again=again)


# Server-sent events, parsed from lines of text.


@dataclass(slots=True)
class EventStream:
    """Parser of server-sent events: takes lines one by one, and yields the data of an event at its last line.

    Other fields, such as the time to reconnect, are ignored: the client has its own.
    """

    _data: list[str] = field(default_factory=list)

    def take(self, line: str) -> Iterator[str]:
        """Yields the event that this line completes, if it does."""
        if not line:
            if self._data:
                data, self._data = "\n".join(self._data), []
                yield data
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)


# Position of a reader in a subscription's notifications, with deduplication.

_REMEMBERED = 10_000


@dataclass(slots=True)
class Reading:
    """Cursor, and the ids of recent notifications: however often the connection is lost, each notification is returned
    once.
    """

    cursor: str = ""
    _seen: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def new(self, notifications: Iterator[Notification]) -> Iterator[Notification]:
        """Notifications not seen before; the cursor moves on once the previous one was processed."""
        for notification in notifications:
            if notification.id not in self._seen:
                self._seen[notification.id] = None
                if len(self._seen) > _REMEMBERED:
                    self._seen.popitem(last=False)
                yield notification
            self.cursor = notification.cursor

    def from_line(self, stream: EventStream, line: str) -> Iterator[Notification]:
        """Notification of the event that a line of a stream completes."""
        return self.new(Notification.read(json.loads(data)) for data in stream.take(line))
