"""Filters before they are subscribed to: checked, explained, tried on what was published last."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from tamis.service.examining.explanations import EventForm, ExplanationForm
from tamis.service.examining.joins import JoinForm, join_form
from tamis.service.examining.language import read_filter
from tamis.service.examining.trials import TriedFilter
from tamis.service.http.access import Subscriber
from tamis.service.http.asking import asked
from tamis.service.http.service import Service, Serving
from tamis.service.http.strict_json import StrictRoute
from tamis.service.http.texts import FilterText
from tamis.service.intake.problems import responses
from tamis.service.store import Kind

router = APIRouter(prefix="/v1/filters", tags=["filters"], route_class=StrictRoute)

_REFUSALS: Final = responses(400, 401, 403, 413, 422, 503)


class FilterForm(BaseModel):
    """A filter to look at."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"filter": "price < 10"}]})

    filter: FilterText


class CheckedFilter(BaseModel):
    """A filter that can be subscribed to."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"canonical": "price < 10.0", "kind": "filter"}]})

    canonical: str = Field(description="The same filter in normal form")
    kind: Kind = Field(description="`operator` if it calls operators, `join` if it joins tables")
    join: JoinForm | None = Field(default=None, description="For joins: what it is made of")


@router.post(
    "/check",
    operation_id="check_filter",
    summary="Check a filter",
    response_model_exclude_none=True,
    responses=_REFUSALS,
)
async def check_filter(form: FilterForm, caller: Subscriber, service: Serving) -> CheckedFilter:
    """Its canonical text; or 422 with the place of the mistake in `errors`."""
    return await service.examine(caller.claimant, lambda: _checked(service, form.filter))


def _checked(service: Service, text: str) -> CheckedFilter:
    read = read_filter(service, text)
    join = join_form(service, read.matched) if read.kind == "join" else None
    return CheckedFilter(canonical=read.canonical, kind=read.kind, join=join)


class ExplainForm(EventForm):
    """A filter, and an event to look at it with."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"filter": "price < 10", "event": {"price": 12.5, "event_type": "antiques"}}]},
    )

    filter: FilterText


@router.post(
    "/explain",
    operation_id="explain_filter",
    summary="Explain a filter on an event",
    response_model=ExplanationForm,
    responses=_REFUSALS,
)
async def explain_filter(form: ExplainForm, caller: Subscriber, service: Serving, request: Request) -> Response:
    """Whether the event matches, condition by condition; and which operators were called, in which order."""
    return await asked(request, service, caller, "explain", filter=form.filter, event=form.event)


@router.post(
    "/try",
    operation_id="try_filter",
    summary="Try a filter on recent events",
    response_model=TriedFilter,
    responses=_REFUSALS,
)
async def try_filter(form: FilterForm, caller: Subscriber, service: Serving, request: Request) -> Response:
    """Which of the newest 1,000 events would have matched; of a join, what its content would be now."""
    return await asked(request, service, caller, "try", recent=True, filter=form.filter)
