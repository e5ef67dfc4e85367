"""Filters before they are subscribed to: checked, explained, tried on what was published last."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import orjson
import pyarrow as pa
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

import tamis
from tamis.service.api.access import Subscriber
from tamis.service.api.explanations import EventForm, ExplanationForm, explained
from tamis.service.api.language import canonical_text
from tamis.service.api.problems import responses
from tamis.service.api.service import Service, Serving
from tamis.service.api.strict_json import StrictRoute
from tamis.service.api.texts import FilterText
from tamis.service.store import Kind

router = APIRouter(prefix="/v1/filters", tags=["filters"], route_class=StrictRoute)

_TRIED: Final = 1_000
_SHOWN: Final = 50
_BY_HAND: Final = 500  # characters
_REFUSALS: Final = responses(400, 401, 403, 413, 422, 503)


class FilterForm(BaseModel):
    """A filter to look at."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"filter": "price < 10"}]})

    filter: FilterText


class CheckedFilter(BaseModel):
    """A filter that can be subscribed to."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"canonical": "price < 10.0", "kind": "filter"}]})

    canonical: str = Field(description="The same filter in normal form")
    kind: Kind


@router.post("/check", operation_id="check_filter", summary="Check a filter", responses=_REFUSALS)
async def check_filter(form: FilterForm, caller: Subscriber, service: Serving) -> CheckedFilter:
    """Its canonical text; or 422 with the place of the mistake in `errors`."""
    canonical = await service.examine(lambda: canonical_text(service, form.filter))
    return CheckedFilter(canonical=canonical, kind="filter")


class ExplainForm(EventForm):
    """A filter, and an event to look at it with."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"filter": "price < 10", "event": {"price": 12.5, "event_type": "antiques"}}]},
    )

    filter: FilterText


@router.post("/explain", operation_id="explain_filter", summary="Explain a filter on an event", responses=_REFUSALS)
async def explain_filter(form: ExplainForm, caller: Subscriber, service: Serving) -> ExplanationForm:
    """Whether the event matches, condition by condition."""

    def explain() -> ExplanationForm:
        canonical_text(service, form.filter)
        return explained(service, form.filter, form.event)

    return await service.examine(explain)


class TriedEvent(BaseModel):
    """A recent event."""

    id: str
    time: datetime
    event: dict[str, Any]


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
    examined: int
    matched: int
    events: list[TriedEvent] = Field(description=f"Those that match, at most {_SHOWN}")
    misses: list[TriedEvent] = Field(description=f"Those that do not, at most {_SHOWN}")


@router.post("/try", operation_id="try_filter", summary="Try a filter on recent events", responses=_REFUSALS)
async def try_filter(form: FilterForm, caller: Subscriber, service: Serving) -> TriedFilter:
    """Which of the newest 1,000 events would have matched."""
    return await service.examine(lambda: _tried(service, form.filter))


def _tried(service: Service, text: str) -> TriedFilter:
    canonical = canonical_text(service, text)
    schema = service.schema
    recent = service.log.recent(_TRIED)
    # Under today's schema: what was published under an earlier one is an event of this one too.
    checked = schema.check_json(recent["body"], ignore_unknown=True)
    # To load the kernels takes longer than to look at a thousand events with a filter that people write by hand.
    matcher = "naive" if len(text) <= _BY_HAND else "columnar"
    index = tamis.compile({"f": text}, schema, matcher=matcher, limits=service.limits.filter)
    places = index.match(checked.valid).to_arrow()["event"]
    rows = checked.valid_rows.take(places).to_pylist()
    others = sorted(set(range(len(recent))).difference(rows))
    return TriedFilter(
        canonical=canonical,
        examined=len(recent),
        matched=len(rows),
        events=_newest(recent, rows),
        misses=_newest(recent, others),
    )


def _newest(recent: pa.Table, rows: list[int]) -> list[TriedEvent]:
    shown = recent.take(pa.array(rows[::-1][:_SHOWN], pa.int64())).to_pylist()
    return [TriedEvent(id=row["id"], time=row["time"], event=orjson.loads(row["body"])) for row in shown]
