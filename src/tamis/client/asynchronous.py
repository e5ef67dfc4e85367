"""Client of the HTTP service for asyncio: each method is awaited."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from math import ceil
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

import httpx

from tamis.client.answers import (
    Content,
    Delivery,
    LiveTable,
    Notification,
    OwnedSubscription,
    Published,
    accepted,
    address,
    unreachable,
)

# Requests of clients, blocking and asynchronous alike: paths, headers and bodies.

Event = Mapping[str, Any]
Validity: TypeAlias = timedelta | Literal["forever"] | None
"""How long from now; `forever`: until it is cancelled."""

ATTEMPTS = 5
FIRST_WAIT, LONGEST_WAIT = 0.2, 10.0
"""Seconds before a lost connection is taken up again: they double until the service answers."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, ready to be sent; `again` says that sending it twice does no harm."""

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
    """One event, or many as JSON lines. The key makes a repeat after a lost answer harmless.

    Bytes go as base64, times as texts.
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


def cancel(id: str, ticket: str) -> Request:
    return Request("DELETE", f"/v1/subscriptions/{id}", with_ticket(ticket))


def stream(id: str, ticket: str, cursor: str) -> Request:
    """The notifications after a cursor, as they come."""
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


# Server-sent events, from lines of text.


@dataclass(slots=True)
class EventStream:
    """Takes lines one by one and gives the data of an event when its last line is in.

    What else a stream may say, such as when to come back, is passed over: the client knows that by itself.
    """

    _data: list[str] = field(default_factory=list)

    def take(self, line: str) -> Iterator[str]:
        """The event that this line completes, if it does."""
        if not line:
            if self._data:
                data, self._data = "\n".join(self._data), []
                yield data
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)


# Position of a reader in a subscription's notifications.

_REMEMBERED = 10_000


@dataclass(slots=True)
class Reading:
    """A cursor, and the ids seen of late: however often the connection is lost, each notification comes out once."""

    cursor: str = ""
    _seen: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def new(self, notifications: Iterator[Notification]) -> Iterator[Notification]:
        """Notifications not seen before; the cursor is moved when the one before was dealt with."""
        for notification in notifications:
            if notification.id not in self._seen:
                self._seen[notification.id] = None
                if len(self._seen) > _REMEMBERED:
                    self._seen.popitem(last=False)
                yield notification
            self.cursor = notification.cursor

    def from_line(self, stream: EventStream, line: str) -> Iterator[Notification]:
        """Event that a line of an event stream completes."""
        return self.new(Notification.read(json.loads(data)) for data in stream.take(line))


_PATIENCE = httpx.Timeout(30.0, connect=5.0)


class AsyncClient:
    """Talks to one service; `key` is an API key, which an open service does not need. Close it, or use `async with`."""

    def __init__(self, url: str, key: str = "", *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.AsyncClient(base_url=address(url), headers=headers, timeout=_PATIENCE, transport=transport)

    async def subscribe(
        self,
        filter: str,
        *,
        delivery: Delivery | None = None,
        validity: Validity = None,
        label: str = "",
    ) -> AsyncSubscription:
        """A new subscription, which lasts until it is cancelled unless `validity` says otherwise. Keep its `ticket`.

        Before one ends that does, a notification of the type `subscription.expiring` tells so.
        """
        return AsyncSubscription(self, await self.send(subscribe(filter, delivery, validity, label)))

    async def subscription(self, id: str, ticket: str = "") -> AsyncSubscription:
        """A subscription made before, with its ticket (or as its owner, by the key)."""
        about = Request("GET", f"/v1/subscriptions/{id}", with_ticket(ticket), again=True)
        return AsyncSubscription(self, {**await self.send(about), "ticket": ticket})

    async def publish(self, events: Event | Sequence[Event], *, key: str | None = None) -> Published:
        """Publishes one event or many; what is accepted is on disk when this returns.

        A repeat with the same `key` publishes nothing twice; without one, a key is made up for this call's own retries.
        """
        return Published.read(await self.send(publish(events, key)))

    async def schema(self) -> dict[str, Any]:
        """The schema that filters and events are held to."""
        answer: dict[str, Any] = await self.send(get("/v1/schema"))
        return answer

    async def operators(self) -> list[dict[str, Any]]:
        """The operators that filters may call, each with its signature, what it costs and how it fares."""
        answer = await self.send(get("/v1/operators"))
        items: list[dict[str, Any]] = answer["items"]
        return items

    async def send(self, request: Request) -> Any:
        """The answer to a request; one that may be repeated is, when the service cannot be reached."""
        wait = FIRST_WAIT
        for attempt in range(1, ATTEMPTS + 1):
            try:
                response = await self._http.request(
                    request.method,
                    request.path,
                    headers=request.headers,
                    content=request.content,
                    params=request.params or None,  # none given must not take away what the path has
                )
                return accepted(response)
            except httpx.TransportError as error:
                if not request.again or attempt == ATTEMPTS:
                    raise unreachable(str(self._http.base_url), error) from error
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)
        raise AssertionError("the last attempt returns or raises")

    async def follow(self, id: str, ticket: str, reading: Reading) -> AsyncIterator[Notification]:
        """The notifications after where the reading stands, for ever; lost connections are taken up again."""
        wait = FIRST_WAIT
        while True:
            request = stream(id, ticket, reading.cursor)
            events = EventStream()
            try:
                async with self._http.stream(
                    request.method, request.path, headers=request.headers, timeout=httpx.Timeout(60.0, connect=5.0)
                ) as response:
                    if not response.is_success:
                        await response.aread()
                        accepted(response)
                    async for line in response.aiter_lines():
                        wait = FIRST_WAIT
                        for notification in reading.from_line(events, line):
                            yield notification
            except httpx.TransportError:
                # A service that restarts comes back; readers need not know.
                await asyncio.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()


class AsyncSubscription(OwnedSubscription):
    """A subscription as its owner sees it, whose methods are awaited."""

    def __init__(self, client: AsyncClient, about: dict[str, Any]) -> None:
        super().__init__(about)
        self._client = client

    def notifications(self, cursor: str = "") -> AsyncIterator[Notification]:
        """Every notification after the cursor (of one seen before; empty: from the first), as they come, each once."""
        return self._client.follow(self.id, self.ticket, Reading(cursor))

    async def poll(self, cursor: str = "", *, limit: int = 100, wait: float = 0.0) -> list[Notification]:
        """The notifications after the cursor that there are, waiting so many seconds for the first."""
        answer = await self._client.send(poll(self.id, self.ticket, cursor, limit, wait))
        return [Notification.read(form) for form in answer["notifications"]]

    async def content(self) -> Content:
        """All results that a join has now, and the cursor that they are as of."""
        return Content.read(await self._client.send(content(self.id, self.ticket)))

    async def table(self) -> AsyncIterator[LiveTable]:
        """The content of a join as a table that changes: given at first, and after every change. It is the same table.

        Lost connections are taken up again; where notifications were missed, the table starts anew by itself.
        """
        table = LiveTable(await self.content())
        yield table
        while True:
            async for notification in self.notifications(table.cursor):
                if not table.take(notification):
                    table.reset(await self.content())
                    yield table
                    break
                if table.changes:
                    yield table

    async def renew(self, validity: Validity = None) -> datetime | None:
        """Makes it last anew from now on; returns until when (None: it is cancelled)."""
        return self.renewed(await self._client.send(renew(self.id, self.ticket, validity)))

    async def cancel(self) -> None:
        """Ends it: nothing published from now on matches it."""
        await self._client.send(cancel(self.id, self.ticket))
