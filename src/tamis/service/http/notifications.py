"""Routes to read notifications (polling, server-sent events, WebSocket) of one subscription or many, and checks of the
readers and their places.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeVar

import orjson
from fastapi import APIRouter, Depends, Header, Query, Response, WebSocket
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from tamis.service.base.events import Cursor, CursorError, Notification
from tamis.service.delivery.delivery import Admitted, Delivery, Polled, TooManyListeners
from tamis.service.delivery.fanout import Feed
from tamis.service.http import dead_letters as dead_letter_routes
from tamis.service.http.access import Asking, Caller, Opening, SubscriptionId, Ticket, look_up
from tamis.service.http.forms import NotificationPage
from tamis.service.http.live_streams import MEDIA_TYPE, EventStream, refuse_socket, serve_socket
from tamis.service.http.service import Service, Serving
from tamis.service.intake.problems import Problem, responses
from tamis.service.store import Subscription

router = APIRouter(prefix="/v1", tags=["notifications"])
router.include_router(dead_letter_routes.router)

F = TypeVar("F", bound=Feed)
_LONGEST_WAIT: Final = 60.0
_FULL: Final = "there are as many readers as this server takes of one caller, or of all; try again later, or poll"
_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}, "description": "Events, as they come"}
}

AfterCursor = Annotated[
    str | None,
    Query(
        alias="cursor",
        max_length=40,
        description="`cursor` of the last notification seen; left out: from the first, or `latest`: only new ones",
        examples=["3355443201"],
    ),
]
LastEventId = Annotated[str | None, Header(max_length=40, description="Cursor, as browsers send it to reconnect")]
Observe = Annotated[
    bool,
    Query(description="Observer, such as a console: notifications read do not count as delivered"),
]


@dataclass(frozen=True, slots=True)
class Reader:
    """Reader of one subscription; `subscribes` is False for an administrator who only looks on.

    The subscriber is the holder of the ticket, or the key that owns the subscription.
    """

    subscription: Subscription
    subscribes: bool
    delivery: Delivery
    admitted: Admitted

    def took(self, notifications: Sequence[Notification]) -> None:
        """Counts notifications delivered to the subscriber."""
        if self.subscribes:
            self.delivery.count_handed_out(len(notifications))


@dataclass(frozen=True, slots=True)
class ReaderOfMany:
    """Reader of all subscriptions of a key, or of everybody's; only their own count as delivered."""

    owner: str | None
    delivery: Delivery

    def took(self, notifications: Sequence[Notification]) -> None:
        """Counts notifications delivered to their owner."""
        self.delivery.count_handed_out(sum(one.subscription.owner == self.owner for one in notifications))


async def _reader(
    id: SubscriptionId, caller: Asking, ticket: Ticket, service: Serving, observe: Observe = False
) -> Reader:
    let_in = await run_in_threadpool(look_up, service, id, caller, ticket)
    found = let_in.subscription
    return Reader(found, not observe and let_in.subscribes, service.delivery, Admitted(let_in.key, found.owner))


Reading = Annotated[Reader, Depends(_reader)]


@router.get(
    "/subscriptions/{id}/notifications",
    operation_id="poll_notifications",
    summary="Poll a subscription's notifications",
    response_model=NotificationPage,
    responses=responses(401, 404, 410, 422, 503),
)
async def poll_notifications(
    reader: Reading,
    caller: Asking,
    service: Serving,
    cursor: AfterCursor = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    wait: Annotated[float, Query(ge=0, le=_LONGEST_WAIT, description="Seconds to wait for the first one")] = 0.0,
    order: Annotated[
        Literal["oldest", "newest"],
        Query(description="`newest`: newest first, back from the cursor, without waiting"),
    ] = "oldest",
) -> Response:
    """Polls notifications after the cursor, oldest first; an expired subscription's until they are swept away."""
    found = reader.subscription
    if found.state == "cancelled":
        raise _ended("cancelled")
    place = _checked(cursor)
    if order == "newest":
        return _answer(await service.delivery.look_back(found.number, place, limit))
    if wait > 0:
        _require_room(service, caller)
    try:
        with service.readers.place(caller.claimant) if wait > 0 else nullcontext():
            polled = await service.delivery.poll(found.number, place, limit, wait, reader.admitted)
    except TooManyListeners as error:
        raise _no_room(str(error)) from None
    reader.took(polled.notifications)
    return _answer(polled)


def _answer(polled: Polled) -> Response:
    listed = b",".join(one.body for one in polled.notifications)
    about = orjson.dumps({"cursor": str(polled.cursor), "state": polled.standing, "more": polled.more})
    return Response(b'{"notifications":[%b],%b' % (listed, about[1:]), media_type="application/json")


@router.get(
    "/subscriptions/{id}/stream",
    operation_id="stream_notifications",
    summary="Stream a subscription's notifications (SSE)",
    response_class=StreamingResponse,
    responses={**_STREAM, **responses(401, 404, 410, 422, 503)},
)
async def stream_notifications(
    caller: Opening,
    reader: Reading,
    service: Serving,
    cursor: AfterCursor = None,
    last_event_id: LastEventId = None,
) -> EventStream:
    """Streams notifications as server-sent events. Each id is a cursor: Last-Event-ID resumes a lost connection."""
    _require_listenable(reader.subscription)
    place = _checked(last_event_id or cursor)
    _require_room(service, caller)
    listening = _placed(service, caller, service.delivery.listen(reader.subscription.number, place, reader.admitted))
    return EventStream(listening, service.settings.delivery.heartbeat, reader.took)


@router.get(
    "/stream",
    operation_id="stream_all",
    summary="Stream the notifications of all of a key's subscriptions (SSE)",
    response_class=StreamingResponse,
    responses={**_STREAM, **responses(401, 422, 503)},
)
async def stream_all(
    caller: Opening,
    service: Serving,
    cursor: AfterCursor = None,
    last_event_id: LastEventId = None,
    mine: Annotated[bool, Query(description="For administrators: only the key's own ones, not everybody's")] = False,
    observe: Observe = False,
) -> EventStream:
    """Streams notifications of all subscriptions of the key, or of everybody's for an administrator, from now on."""
    place = _checked(last_event_id or cursor)
    _require_room(service, caller)
    listening = _placed(
        service, caller, service.delivery.listen_to_all(_whose(caller, mine), place, Admitted(caller.owner))
    )
    reader = _reader_of_many(service, caller, observe)
    return EventStream(listening, service.settings.delivery.heartbeat, reader.took)


@router.websocket("/subscriptions/{id}/socket")
async def socket_notifications(
    socket: WebSocket, caller: Opening, reader: Reading, service: Serving, cursor: AfterCursor = None
) -> None:
    """Sends notifications over a WebSocket, a message each; `{"cursor": "…"}` may be the first message."""
    found = reader.subscription
    _require_listenable(found)
    place, delivery = _checked(cursor), service.delivery
    try:
        await serve_socket(
            socket,
            place,
            lambda after: _placed(service, caller, delivery.listen(found.number, after, reader.admitted)),
            reader.took,
        )
    except TooManyListeners as error:
        await refuse_socket(socket, str(error))


@router.websocket("/socket")
async def socket_all(
    socket: WebSocket,
    caller: Opening,
    service: Serving,
    cursor: AfterCursor = None,
    mine: bool = False,
    observe: Observe = False,
) -> None:
    """Sends notifications of all of the key's subscriptions over a WebSocket."""
    owner, place, delivery = _whose(caller, mine), _checked(cursor), service.delivery
    reader = _reader_of_many(service, caller, observe)
    admitted = Admitted(caller.owner)
    here = str(delivery.here)  # before the other side knows that it is listened to
    try:
        await serve_socket(
            socket,
            place,
            lambda after: _placed(service, caller, delivery.listen_to_all(owner, after or here, admitted)),
            reader.took,
        )
    except TooManyListeners as error:
        await refuse_socket(socket, str(error))


def _reader_of_many(service: Service, caller: Caller, observe: bool) -> ReaderOfMany:
    return ReaderOfMany(None if observe else caller.owner, service.delivery)


def _checked(cursor: str | None) -> str | None:
    """Cursor, if it is valid; an empty one is none."""
    if not cursor:
        return None
    if cursor != "latest":
        try:
            Cursor.parse(cursor)
        except CursorError as error:
            raise Problem(422, "cursor", str(error)) from None
    return cursor


def _whose(caller: Caller, mine: bool) -> str | None:
    """Owner of the followed subscriptions: the key, or everybody (None) for an administrator."""
    if caller.key is None:
        detail = "following all subscriptions needs an API key; one made without a key is followed by its ticket"
        raise Problem(401, "key", detail, headers={"WWW-Authenticate": "Bearer"})
    if caller.administers and not mine:
        return None
    return caller.owner


def _require_listenable(found: Subscription) -> None:
    if found.state in ("expired", "cancelled"):
        # Browsers that come back after the end are told so, and stay away.
        raise _ended(found.state)


def _require_room(service: Service, caller: Caller) -> None:
    if not service.delivery.has_room or not service.readers.has_room(caller.claimant):
        raise _no_room(_FULL)


@asynccontextmanager
async def _placed(service: Service, caller: Caller, listening: AbstractAsyncContextManager[F]) -> AsyncIterator[F]:
    """Feed that takes one of the caller's places for readers while it is open."""
    if not service.readers.has_room(caller.claimant):
        raise TooManyListeners(_FULL)
    with service.readers.place(caller.claimant):
        async with listening as feed:
            yield feed


def _no_room(detail: str) -> Problem:
    return Problem(503, "readers", detail, headers={"Retry-After": "5"})


def _ended(state: str) -> Problem:
    return Problem(410, "ended", f"the subscription is {state}; there is nothing more to come")
