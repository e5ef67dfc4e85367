"""Route for the current content (result set) of a join subscription."""

from __future__ import annotations

from typing import Any, Final

import orjson
from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from tamis.errors import FilterError
from tamis.service.examining.joins import EXAMPLE, JoinForm, join_form
from tamis.service.http.access import Owned
from tamis.service.http.service import Serving
from tamis.service.intake.problems import Problem, responses
from tamis.service.store import State

router = APIRouter(prefix="/v1/subscriptions", tags=["subscriptions"])

_ROW: Final[dict[str, Any]] = {
    "id": "res_5a0c",
    "row": {"Symbol": "GOOG", "PER": 51.5, "Analyst": "Ann", "Rating": 7.5},
}


class ContentRow(BaseModel):
    """Result of a join. Its id is a function of the rows it is made of: it stays while these exist, whatever changes in
    them.
    """

    id: str
    row: dict[str, Any]


class ContentForm(BaseModel):
    """Content of a join as of a cursor. A reader who goes on from there misses no change, and sees none twice."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "subscription": "sub_3q2-8xYhT0m5nKc7vZJdQw",
                    "state": "active",
                    "cursor": "3355443201",
                    "begun": True,
                    "join": EXAMPLE,
                    "rows": [_ROW],
                }
            ]
        }
    )

    subscription: str
    state: State
    cursor: str = Field(description="Later notifications are changes of this content")
    begun: bool = Field(description="False for a new join, whose content comes with the first notifications")
    join: JoinForm | None = Field(description="Tables and conditions of the join; null if it is no longer valid")
    rows: list[ContentRow] = Field(description="Results, in no particular order")


@router.get(
    "/{id}/content",
    operation_id="subscription_content",
    summary="Get the content of a join",
    response_model=ContentForm,
    responses=responses(401, 404, 409, 410, 422, 503),
)
def subscription_content(found: Owned, service: Serving) -> Response:
    """Current results of a join, and the cursor that they are as of: follow its notifications from there.

    One that is paused or has expired has none. If it is paused because its content outgrew the limits, the answer is
    409 and says so.
    """
    if found.kind != "join":
        raise Problem(409, "conflict", "only joins have a content; this subscription tells of events")
    if found.state == "cancelled":
        raise Problem(410, "ended", "the subscription is cancelled; there is nothing more to come")
    content = service.store.joins.content(found.number)
    if content.trouble:
        raise Problem(
            409, "content", content.trouble if found.state == "active" else f"it is paused: {content.trouble}"
        )
    try:
        join = join_form(service, found.filter).model_dump()
    except FilterError:
        join = None
    form = {
        "subscription": found.id,
        "state": found.state,
        "cursor": str(content.position),
        "begun": content.begun,
        "join": join,
        "rows": [{"id": id, "row": orjson.Fragment(row)} for id, row in content.rows],
    }
    return Response(orjson.dumps(form), media_type="application/json")
