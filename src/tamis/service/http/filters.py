"""Routes for filters not subscribed to yet (check, explain, try); questions to examiners; and form fields shared by all
routes: Id, Label, FilterText.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any, Final

import orjson
import pyarrow as pa
from anyio import to_thread
from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tamis.service.examining.explanations import EventForm, ExplanationForm
from tamis.service.examining.joins import JoinForm, join_form
from tamis.service.examining.language import read_filter
from tamis.service.examining.pool import unless_gone
from tamis.service.examining.trials import EXAMINED, TriedFilter, newest_within
from tamis.service.http.access import Caller, Subscriber
from tamis.service.http.requests import StrictRoute
from tamis.service.http.service import Service, Serving
from tamis.service.intake.problems import Problem, responses
from tamis.service.store import Kind

# Questions to examiners: bounded in time, and cancelled when the client disconnects.

_FEW: Final = 64
_TRIED: Final = 1_000


async def asked(
    request: Request, service: Service, caller: Caller, about: str, *, recent: bool = False, **question: Any
) -> Response:
    """Answer of an examiner; with `recent`, it is given the newest events. Only the answer's bytes pass through this
    process.
    """
    most = service.limits.examined_bytes
    if len(orjson.dumps(question.get("event"))) > most:
        raise Problem(413, "too-large", f"an event to look at has at most {most:,} bytes")
    version, schema = service.followed.serving
    question |= {
        "about": about,
        "inside": caller.administers,
        "ignores_unknown": service.ignores_unknown(version),
        "learned": service.learned(),
    }
    # Events are read when there is a place: of those who wait for one, hundreds would hold megabytes each.
    tail = partial(_newest, service) if recent else None
    asking = service.examiners.ask(caller.claimant, question, (version, schema), tail)
    answer = await unless_gone(request, asyncio.create_task(asking))
    return Response(answer, media_type="application/json")


async def _newest(service: Service) -> bytes:
    """Newest events as an Arrow stream, up to a number and a size."""
    count, found = _FEW, await service.recent_events(_FEW)
    # A thousand of the largest would be a gigabyte: few are read at first.
    while len(found) == count < _TRIED and found.nbytes < EXAMINED:
        count = min(4 * count, _TRIED)
        found = await service.recent_events(count)
    return await to_thread.run_sync(_written, newest_within(found))


def _written(records: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, records.schema) as writing:
        writing.write_table(records)
    return sink.getvalue().to_pybytes()


# Texts in requests: bounded, and without characters that a database cannot store.

_LONGEST_FILTER: Final = 500_000  # whatever the settings say: the settings' own limit has the better message

# The patterns exclude NUL, which PostgreSQL does not store.
Label = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00]*$")]
FilterText = Annotated[str, StringConstraints(min_length=1, max_length=_LONGEST_FILTER, pattern=r"^[^\x00]*$")]
Id = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,100}$")]


router = APIRouter(prefix="/v1/filters", tags=["filters"], route_class=StrictRoute)

_REFUSALS: Final = responses(400, 401, 403, 413, 422, 503)


class FilterForm(BaseModel):
    """Filter to check."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"filter": "price < 10"}]})

    filter: FilterText


class CheckedFilter(BaseModel):
    """Valid filter, ready to be subscribed to."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"canonical": "price < 10.0", "kind": "filter"}]})

    canonical: str = Field(description="Canonical text of the filter")
    kind: Kind = Field(description="`operator` if it calls operators, `join` if it joins tables")
    join: JoinForm | None = Field(default=None, description="For joins: its tables and conditions")


@router.post(
    "/check",
    operation_id="check_filter",
    summary="Check a filter",
    response_model_exclude_none=True,
    responses=_REFUSALS,
)
async def check_filter(form: FilterForm, caller: Subscriber, service: Serving) -> CheckedFilter:
    """Canonical text of a filter; or 422 with the position of the mistake in `errors`."""
    return await service.examine(caller.claimant, lambda: _checked(service, form.filter))


def _checked(service: Service, text: str) -> CheckedFilter:
    read = read_filter(service, text)
    join = join_form(service, read.matched) if read.kind == "join" else None
    return CheckedFilter(canonical=read.canonical, kind=read.kind, join=join)


class ExplainForm(EventForm):
    """Filter and event to explain."""

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
    """Explains if the event matches, condition by condition, and which operators were called, in which order."""
    return await asked(request, service, caller, "explain", filter=form.filter, event=form.event)


@router.post(
    "/try",
    operation_id="try_filter",
    summary="Try a filter on recent events",
    response_model=TriedFilter,
    responses=_REFUSALS,
)
async def try_filter(form: FilterForm, caller: Subscriber, service: Serving, request: Request) -> Response:
    """Matches among the newest 1,000 events; for a join, its content as of now."""
    return await asked(request, service, caller, "try", recent=True, filter=form.filter)
