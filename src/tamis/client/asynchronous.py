"""Client of the HTTP service and its subscriptions (`AsyncSubscription`) for asyncio: each method is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self

import httpx

from tamis.client import requests
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
from tamis.client.requests import ATTEMPTS, FIRST_WAIT, LONGEST_WAIT, Event, EventStream, Reading, Request, Validity

_PATIENCE = httpx.Timeout(30.0, connect=5.0)


class AsyncClient:
    """Client of one service; `key` is an API key, not needed by an open service. Close it, or use `async with`."""

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
        """Creates a subscription, valid until it is cancelled unless `validity` says otherwise. Keep its `ticket`.

        Before its validity ends, a notification of the type `subscription.expiring` is sent.
        """
        return AsyncSubscription(self, await self.send(requests.subscribe(filter, delivery, validity, label)))

    async def subscription(self, id: str, ticket: str = "") -> AsyncSubscription:
        """Existing subscription, by its ticket (or as its owner, by the key)."""
        about = Request("GET", f"/v1/subscriptions/{id}", requests.with_ticket(ticket), again=True)
        return AsyncSubscription(self, {**await self.send(about), "ticket": ticket})

    async def publish(self, events: Event | Sequence[Event], *, key: str | None = None) -> Published:
        """Publishes one event or many; accepted events are on disk when this returns.

        A retry with the same `key` is deduplicated; without one, a key is made up for this call's own retries.
        """
        return Published.read(await self.send(requests.publish(events, key)))

    async def schema(self) -> dict[str, Any]:
        """Schema that filters and events are checked against."""
        answer: dict[str, Any] = await self.send(requests.get("/v1/schema"))
        return answer

    async def operators(self) -> list[dict[str, Any]]:
        """Operators that filters may call, each with its signature, cost and health."""
        answer = await self.send(requests.get("/v1/operators"))
        items: list[dict[str, Any]] = answer["items"]
        return items

    async def send(self, request: Request) -> Any:
        """Sends a request and returns its answer; retries if the service is unreachable and a repeat is harmless."""
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
        """Streams notifications after the reader's position, without end; reconnects after lost connections."""
        wait = FIRST_WAIT
        while True:
            request = requests.stream(id, ticket, reading.cursor)
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
    """Subscription as its owner sees it, whose methods are awaited."""

    def __init__(self, client: AsyncClient, about: dict[str, Any]) -> None:
        super().__init__(about)
        self._client = client

    def notifications(self, cursor: str = "") -> AsyncIterator[Notification]:
        """Streams every notification after the cursor (of one seen before; empty: from the first), each once."""
        return self._client.follow(self.id, self.ticket, Reading(cursor))

    async def poll(self, cursor: str = "", *, limit: int = 100, wait: float = 0.0) -> list[Notification]:
        """Polls the notifications after the cursor, waiting up to so many seconds for the first."""
        answer = await self._client.send(requests.poll(self.id, self.ticket, cursor, limit, wait))
        return [Notification.read(form) for form in answer["notifications"]]

    async def content(self) -> Content:
        """Current results of a join, and the cursor that they are as of."""
        return Content.read(await self._client.send(requests.content(self.id, self.ticket)))

    async def table(self) -> AsyncIterator[LiveTable]:
        """Content of a join as a table that changes: yielded at first, and after every change. Always one and the same
        object.

        Reconnects after lost connections; where notifications were missed, the table starts anew by itself.
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

    async def replay(self, since: datetime | None = None, *, cursor: str = "") -> str:
        """Has notifications sent once more, of events received since then or after a cursor: by webhook, or to Kafka.

        Returns the cursor that they follow: who reads gives it to `notifications` or `poll`. Ids are as they were.
        """
        answer = await self._client.send(requests.replay(self.id, self.ticket, since, cursor))
        return str(answer["cursor"])

    async def renew(self, validity: Validity = None) -> datetime | None:
        """Renews the validity from now on; returns its end (None: until it is cancelled)."""
        return self.renewed(await self._client.send(requests.renew(self.id, self.ticket, validity)))

    async def rotate_secret(self, overlap: timedelta = timedelta(days=1)) -> str:
        """Gives a webhook a new secret, and returns it; the old one signs calls too until the overlap is over."""
        request = requests.rotate_secret(self.id, self.ticket, overlap)
        secret: str = (await self._client.send(request))["delivery"]["secret"]
        return secret

    async def cancel(self) -> None:
        """Cancels the subscription: no event published from now on matches it."""
        await self._client.send(requests.cancel(self.id, self.ticket))
