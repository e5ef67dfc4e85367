"""Routes for advertisements: filters that announce what a publisher will publish."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.concurrency import run_in_threadpool

from tamis.service.examining.language import canonical_text
from tamis.service.http.access import Caller, Publisher, Reader
from tamis.service.http.filters import FilterText, Id
from tamis.service.http.forms import ValidityForm, expiry
from tamis.service.http.requests import StrictRoute
from tamis.service.http.service import ADVERTISEMENTS_IN_FORCE, Service, Serving
from tamis.service.intake.problems import Fault, Problem, not_found, responses
from tamis.service.store import FOREVER, Advertisement, TooManyError

router = APIRouter(prefix="/v1/advertisements", tags=["advertisements"], route_class=StrictRoute)

_DEFAULT: Final = timedelta(days=1)
_EXAMPLE: Final[dict[str, Any]] = {
    "id": "adv_3q2-8xYhT0m5nKc7vZJdQw",
    "event_type": "antiques",
    "filter": "price < 1000.0",
    "created": "2026-01-01T10:00:00Z",
    "expires": "2026-01-02T10:00:00Z",
    "yours": True,
}


class AdvertiseForm(ValidityForm):
    """Request to advertise: events of this type that satisfy the filter are to be expected."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"event_type": "antiques", "filter": "price < 1000", "validity": "P7D"}]},
    )

    event_type: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    filter: FilterText = "TRUE"


class AdvertisementForm(BaseModel):
    """Advertisement in force."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: str | None = Field(
        description="Id, for callers who may delete it: of one made without a key, anybody with the id"
    )
    event_type: str
    filter: str
    created: datetime
    expires: datetime
    yours: bool = Field(description="True if the caller's key made it")


class AdvertisementList(BaseModel):
    """Advertisements, oldest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [_EXAMPLE]}]})

    items: list[AdvertisementForm]


@router.post(
    "",
    status_code=201,
    operation_id="advertise",
    summary="Create an advertisement",
    responses=responses(400, 401, 403, 413, 422, 503),
)
async def advertise(form: AdvertiseForm, caller: Publisher, service: Serving) -> AdvertisementForm:
    """Creates an advertisement: announces what will be published, for subscribers to see."""
    if form.event_type not in service.schema.event_types:
        message = f"there is no event type {form.event_type!r}"
        raise Problem(422, "event-type", message, [Fault(message=message, field="event_type")])
    filter = await service.examine(caller.claimant, lambda: canonical_text(service, form.filter))
    expires = expiry(form, service.settings, service.settings.validity or _DEFAULT)
    if expires >= FOREVER:
        message = "an advertisement ends: say for how long it is valid, and make another in time"
        raise Problem(422, "validity", message, [Fault(message=message, field="validity")])
    made = await run_in_threadpool(_made, service, caller, form.event_type, filter, expires)
    return _shown(made, caller).model_copy(update={"id": made.id})


def _made(service: Service, caller: Caller, event_type: str, filter: str, expires: datetime) -> Advertisement:
    with service.allowances.advertisements.one_more(caller) as note:
        made = None
        if note is not None:
            with suppress(TooManyError):
                most = ADVERTISEMENTS_IN_FORCE
                made = service.store.advertisements.create(caller.owner, event_type, filter, expires, most)
        if made is None or note is None:
            raise Problem(403, "limit", "there are as many advertisements already as may be; remove some")
        note(made.id)
    return made


@router.get(
    "", operation_id="list_advertisements", summary="List advertisements", responses=responses(401, 403, 422, 503)
)
def list_advertisements(
    caller: Reader, service: Serving, limit: Annotated[int, Query(ge=1, le=1_000)] = 1_000
) -> AdvertisementList:
    """Lists everybody's advertisements, for all who may subscribe or publish. Their owners are not named."""
    return AdvertisementList(items=[_shown(one, caller) for one in service.store.advertisements.list(limit=limit)])


@router.delete(
    "/{id}",
    status_code=204,
    operation_id="remove_advertisement",
    summary="Delete an advertisement",
    responses=responses(401, 403, 404, 422, 503),
)
def remove_advertisement(id: Id, caller: Publisher, service: Serving) -> Response:
    """Removes one of the caller's advertisements; an administrator may remove any."""
    found = service.store.advertisements.get(id)
    if found is None or not _may_remove(caller, found):
        raise not_found("advertisement")
    service.store.advertisements.remove(id)
    return Response(status_code=204)


def _may_remove(caller: Caller, found: Advertisement) -> bool:
    return found.owner in ("", caller.owner) or caller.administers


def _shown(found: Advertisement, caller: Caller) -> AdvertisementForm:
    yours = found.owner == caller.owner != ""
    return AdvertisementForm(
        id=found.id if yours or caller.administers else None,
        event_type=found.event_type,
        filter=found.filter,
        created=found.created,
        expires=found.expires,
        yours=yours,
    )
