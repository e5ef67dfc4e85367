"""Replay: the notifications of a subscription that are kept are sent or read once more, from a time or a cursor."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from tamis.service.base.events import Cursor, CursorError
from tamis.service.http.access import Asking, Owned, for_owner
from tamis.service.http.requests import StrictRoute
from tamis.service.http.service import Serving
from tamis.service.intake.problems import Fault, Problem, responses

router = APIRouter(prefix="/v1/subscriptions", tags=["subscriptions"], route_class=StrictRoute)


class ReplayForm(BaseModel):
    """From where on notifications are to come again: `since` or `cursor`, one of them."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"since": "2026-05-01T10:00:00Z"}]})

    since: AwareDatetime | None = Field(None, description="Those of events received from then on")
    cursor: Annotated[str, StringConstraints(min_length=1, max_length=40)] | None = Field(
        None, description="Those after this one, as it came with a notification", examples=["3355443201"]
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> ReplayForm:
        if (self.since is None) == (self.cursor is None):
            raise ValueError("give since or cursor, one of them")
        return self


class ReplayBegun(BaseModel):
    """Start of a replay. Webhooks and topics are sent what follows the cursor; others read from it."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"cursor": "3355443200", "from": "2026-05-01T10:00:00.123456Z"}]}
    )

    cursor: str = Field(description="Everything after it comes again: for a poll, a stream or a socket")
    kept_from: datetime | None = Field(
        None,
        serialization_alias="from",
        description="When the oldest event that is kept was received: what is older cannot come again. "
        "Left out if none is kept",
    )


@router.post(
    "/{id}/replay",
    operation_id="replay_subscription",
    summary="Replay a subscription's notifications",
    response_model_exclude_none=True,
    responses=responses(400, 401, 403, 404, 409, 413, 422, 503),
)
def replay_subscription(form: ReplayForm, found: Owned, caller: Asking, service: Serving) -> ReplayBegun:
    """Sends notifications once more, in order and under the same ids, and then goes on with new ones.

    Webhooks and topics are set back; what they have not been sent yet is not left out. Who reads by polling, a stream
    or a socket begins again at the cursor of the answer.
    """
    pushed = found.delivery["mode"] != "pull"
    if found.state == "cancelled" or (pushed and found.state == "expired"):
        raise Problem(409, "conflict", f"the subscription is {found.state}: nothing is sent any more")
    notifications = service.store.notifications
    if form.since is not None:
        cursor = Cursor(max(notifications.position_at(form.since) - 1, 0))
    else:
        cursor = _read(form.cursor or "").of(found.number)
    if pushed:
        cursor = Cursor(
            service.store.subscriptions.replay(found.id, cursor.position, by_owner=for_owner(caller, service))
        )
    return ReplayBegun(cursor=str(cursor), kept_from=notifications.oldest())


def _read(text: str) -> Cursor:
    try:
        return Cursor.parse(text)
    except CursorError as error:
        raise Problem(422, "cursor", str(error), [Fault(message=str(error), field="cursor")]) from None
