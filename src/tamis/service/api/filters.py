"""Filters before they are subscribed to: checked, explained, tried on what was published last."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import pyarrow as pa
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from tamis.operators.written import json_bindings
from tamis.service.api.access import Subscriber
from tamis.service.api.examining import index_of, newest_first
from tamis.service.api.explanations import EventForm, ExplanationForm, explained
from tamis.service.api.joins import JoinedNow, JoinForm, join_form
from tamis.service.api.language import ReadFilter, read_filter
from tamis.service.api.problems import responses
from tamis.service.api.service import Service, Serving
from tamis.service.api.strict_json import StrictRoute
from tamis.service.api.texts import FilterText
from tamis.service.event_body import published_event
from tamis.service.log import RECORDS
from tamis.service.store import Kind

router = APIRouter(prefix="/v1/filters", tags=["filters"], route_class=StrictRoute)

_TRIED: Final = 1_000
_SHOWN: Final = 50
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
    return await service.examine(lambda: _checked(service, form.filter))


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


@router.post("/explain", operation_id="explain_filter", summary="Explain a filter on an event", responses=_REFUSALS)
async def explain_filter(form: ExplainForm, caller: Subscriber, service: Serving) -> ExplanationForm:
    """Whether the event matches, condition by condition; and which operators were called, in which order."""
    return await service.examine(
        lambda: explained(service, read_filter(service, form.filter), form.event, inside=caller.administers)
    )


class TriedEvent(BaseModel):
    """A recent event; `bindings` are what the filter's variables are bound to, if it has any and matches."""

    id: str
    time: datetime
    event: dict[str, Any]
    bindings: dict[str, Any] | None = None


class TriedFilter(BaseModel):
    """Of the newest events, those that match and those that do not, the newest first."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "canonical": "price < 10.0",
                    "examined": 1000,
                    "matched": 1,
                    "events": [{"id": "evt_0", "time": "2026-01-01T10:00:00Z", "event": {"price": 9.5}}],
                    "misses": [{"id": "evt_1", "time": "2026-01-01T09:59:59Z", "event": {"price": 90.0}}],
                }
            ]
        }
    )

    canonical: str
    examined: int = Field(
        description="Where operators are called, as many as there was time for; of joins, rows of their tables"
    )
    matched: int = Field(description="How many events match; of joins, how many results there are")
    events: list[TriedEvent] = Field(description=f"Those that match, at most {_SHOWN}")
    misses: list[TriedEvent] = Field(description=f"Those that do not, at most {_SHOWN}")
    rows: list[dict[str, Any]] | None = Field(default=None, description=f"For joins: results, at most {_SHOWN}")


@router.post(
    "/try",
    operation_id="try_filter",
    summary="Try a filter on recent events",
    response_model_exclude_none=True,
    responses=_REFUSALS,
)
async def try_filter(form: FilterForm, caller: Subscriber, service: Serving) -> TriedFilter:
    """Which of the newest 1,000 events would have matched; of a join, what its content would be now."""
    read = await service.examine(lambda: read_filter(service, form.filter))
    recent = await service.recent_events(_TRIED) if read.kind != "join" else RECORDS.empty_table()
    return await service.examine(lambda: _tried(service, read, recent))


def _tried(service: Service, read: ReadFilter, recent: pa.Table) -> TriedFilter:
    if read.kind == "join":
        now = JoinedNow(service, read.matched)
        return TriedFilter(
            canonical=read.canonical,
            examined=now.examined,
            matched=len(now.rows),
            events=[],
            misses=[],
            rows=now.rows[:_SHOWN],
        )
    # Under today's schema: what was published under an earlier one is an event of this one too, with the same values.
    checked = service.schema.check_json(recent["body"], ignore_unknown=True)
    index, valid = index_of(service, read), checked.valid_rows
    bound: dict[int, dict[str, Any]] = {}
    rows: list[int] = []
    first = 0
    for start, matches in newest_first(index, checked.valid, calls=read.kind == "operator"):
        rows += [valid[start + place].as_py() for place in matches.to_arrow()["event"].to_pylist()]
        bound |= {valid[start + one.event].as_py(): json_bindings(one.variables) for one in matches.bindings()}
        first = valid[start].as_py() if start else 0
    others = set(range(first, len(recent))).difference(rows)
    return TriedFilter(
        canonical=read.canonical,
        examined=len(recent) - first,
        matched=len(rows),
        events=_newest(recent, sorted(rows), bound),
        misses=_newest(recent, sorted(others), {}),
    )


def _newest(recent: pa.Table, rows: list[int], bound: dict[int, dict[str, Any]]) -> list[TriedEvent]:
    chosen = rows[::-1][:_SHOWN]
    shown = zip(chosen, recent.take(pa.array(chosen, pa.int64())).to_pylist(), strict=True)
    return [
        TriedEvent(id=row["id"], time=row["time"], event=published_event(row["body"]), bindings=bound.get(place))
        for place, row in shown
    ]
