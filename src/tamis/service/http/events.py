"""Routes for events: publish, and list the newest published ones."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, Header, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from tamis.service.base.events import published_event
from tamis.service.http.acceptance import Acceptance
from tamis.service.http.access import Administrator, Publisher
from tamis.service.http.requests import StrictRoute
from tamis.service.http.service import Serving
from tamis.service.intake import door as formats
from tamis.service.intake.problems import responses

router = APIRouter(prefix="/v1/events", tags=["events"], route_class=StrictRoute)

_SHOWN_REFUSALS: Final = 1_000
_SHOWN_IGNORED: Final = 20
_LONGEST_SHOWN: Final = 200  # characters of a name
_EVENT: Final = {"event_type": ["antiques"], "price": 9.5, "quantity": 1, "period": "XVIII"}
_CLOUD_EVENT: Final = {
    "specversion": "1.0",
    "id": "1",
    "source": "/auctions",
    "type": "antiques",
    "data": {"price": 9.5, "quantity": 1, "period": "XVIII"},
}
_OBJECT: Final = {"type": "object"}
_BODY: Final[dict[str, Any]] = {
    "required": True,
    "content": {
        formats.JSON: {
            "schema": {"oneOf": [_OBJECT, {"type": "array", "items": _OBJECT, "minItems": 1}]},
            "examples": {"one": {"value": _EVENT}, "several": {"value": [_EVENT, _EVENT]}},
        },
        formats.LINES[0]: {
            "schema": {"type": "string"},
            "example": orjson.dumps(_EVENT).decode() + "\n" + orjson.dumps(_EVENT).decode(),
        },
        formats.ARROW: {"schema": {"type": "string", "format": "binary"}},
        formats.CLOUD_EVENT: {"schema": _OBJECT, "example": _CLOUD_EVENT},
        formats.CLOUD_EVENTS: {"schema": {"type": "array", "items": _OBJECT}, "example": [_CLOUD_EVENT]},
    },
}


class Refusal(BaseModel):
    """Refused event, by its place in the request, from 0."""

    index: int
    message: str


class PublishedForm(BaseModel):
    """Result of a publish: accepted events are on disk."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "accepted": 2,
                    "refused": [{"index": 1, "message": "mandatory attribute 'price' is missing"}],
                    "refused_count": 1,
                    "ids": ["evt_3f9a", None, "evt_07c4"],
                    "first": 41_000,
                    "repeated": False,
                    "ignored": {},
                    "ignored_count": 0,
                }
            ]
        }
    )

    accepted: int
    refused: list[Refusal] = Field(description=f"First {_SHOWN_REFUSALS:,} refused events; they become dead letters")
    refused_count: int
    ids: list[str | None] = Field(
        description="The id of each event of the request, in order, which is the `event_id` of its notifications; null "
        "for one that was refused. A CloudEvent's is its source and its id, with a blank between"
    )
    first: int = Field(description="Number of the first accepted event on the log")
    repeated: bool = Field(description="True for a repeated idempotency key: nothing was published again")
    ignored: dict[str, int] = Field(
        description="Unknown attributes that were ignored, where the server is set to, each with the number of events; "
        f"the {_SHOWN_IGNORED} most frequent"
    )
    ignored_count: int = Field(description="Number of unknown attributes")


@router.post(
    "",
    status_code=202,
    operation_id="publish",
    summary="Publish events",
    responses=responses(400, 401, 403, 408, 409, 413, 415, 422, 503),
    openapi_extra={"requestBody": _BODY},
)
async def publish(
    request: Request,
    caller: Publisher,
    idempotency_key: Annotated[
        str | None,
        Header(
            pattern=r"^[!-~]{1,200}$",
            description="Idempotency key: a retry with an equal key is deduplicated, for a day",
            examples=["order-4711"],
        ),
    ] = None,
) -> PublishedForm:
    """Publishes one event or many: JSON, JSON lines, Arrow IPC, or CloudEvents (structured, batched, binary mode).

    The body may come with `Content-Encoding: gzip`; limits are to what it is inflated to.

    The answer comes when the accepted events are durable. An event that breaks the schema is refused by its index and
    does not stop the others; if none is accepted, the answer is 422.
    """
    acceptance: Acceptance = request.app.state.acceptance
    done = await acceptance.publish(request.headers, await request.body(), caller, idempotency_key)
    refused = [Refusal(index=index, message=reason) for index, reason in list(done.refused.items())[:_SHOWN_REFUSALS]]
    return PublishedForm(
        accepted=done.count,
        refused=refused,
        refused_count=len(done.refused),
        ids=done.ids,
        first=done.first,
        repeated=done.repeated,
        ignored={name[:_LONGEST_SHOWN]: number for name, number in done.ignored.most_common(_SHOWN_IGNORED)},
        ignored_count=len(done.ignored),
    )


class RecentEvent(BaseModel):
    """Event as it was published."""

    id: str
    time: datetime
    event: dict[str, Any]


class RecentEvents(BaseModel):
    """Events, newest first."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"items": [{"id": "evt_0", "time": "2026-01-01T10:00:00Z", "event": {"price": 9.5}}]}]
        }
    )

    items: list[RecentEvent]


@router.get(
    "/recent",
    operation_id="recent_events",
    summary="List the newest events",
    responses=responses(401, 403, 422, 503),
)
async def recent_events(
    caller: Administrator, service: Serving, count: Annotated[int, Query(ge=1, le=1_000)] = 100
) -> RecentEvents:
    """Newest published events, matched or not."""
    rows = (await service.recent_events(count)).select(["id", "time", "body"]).to_pylist()
    items = [RecentEvent(id=row["id"], time=row["time"], event=published_event(row["body"])) for row in reversed(rows)]
    return RecentEvents(items=items)
