"""Route for the server's status, shown by the console: rates, latency, lag, pipeline and delivery health."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from tamis.errors import TamisError
from tamis.service.base.offering import Algorithms
from tamis.service.http.access import Subscriber
from tamis.service.http.metrics import Counts, lag
from tamis.service.http.service import Service, Serving
from tamis.service.intake.problems import responses
from tamis.service.store import StoreAwayError
from tamis.service.worker import PipelineStatus

router = APIRouter(prefix="/v1/status", tags=["operations"])


class Rates(BaseModel):
    """Rates per second, over the last ten seconds."""

    published: float
    matched: float
    delivered: float | None
    refused: float


class Totals(BaseModel):
    """Totals since the server's start."""

    published: int
    matched: int
    delivered: int | None
    refused: int


class Latency(BaseModel):
    """Latency in milliseconds, from an event's acceptance until its matches can be read, over the last minute's
    publishes.
    """

    p50: float | None
    p99: float | None


class Lag(BaseModel):
    """Lag: events on the log that are not matched yet."""

    events: int | None


class LastBatch(BaseModel):
    """Newest micro-batch."""

    events: int
    matches: int
    dead: int
    milliseconds: float


class PipelineForm(BaseModel):
    """Status of the pipeline process."""

    state: str
    matcher: str = Field(description="Matching algorithm")
    matcher_options: dict[str, Any] = Field(description="Options of the matcher, except defaults")
    schedule: str = Field(description="Evaluation order of operators")
    since: float = Field(description="Start of the present state, in seconds since 1970")
    restarts: int
    error: str | None = Field(description="Last error; for administrators")
    last_words: list[str] = Field(description="Last output before the last failure; for administrators")
    batches: int
    events: int
    matches: int
    dead: int
    revision: int = Field(description="Revision of the store's subscriptions that it matches")
    refused_subscriptions: int
    last_batch: LastBatch | None
    busy_seconds: float = Field(description="Running time of the micro-batch under way; 0 between batches")


class StatusForm(BaseModel):
    """Status of the server."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "version": "1.0",
                    "uptime_seconds": 60.0,
                    "schema_version": 1,
                    "rates": {"published": 500.0, "matched": 120.0, "delivered": 120.0, "refused": 0.0},
                    "totals": {"published": 30000, "matched": 7200, "delivered": 7200, "refused": 0},
                    "latency": {"p50": 450.0, "p99": 900.0},
                    "lag": {"events": 120},
                    "subscriptions": {"active": 100000, "paused": 0, "expired": 0, "cancelled": 0},
                    "dead_letters": 0,
                    "revision": 100000,
                    "log": {"events": 30000, "bytes": 9000000},
                    "delivery": {
                        "position": 3355443201,
                        "listeners": 3,
                        "handed_out": 5200,
                        "delivered": 2000,
                        "failed": 12,
                        "pushing": 1,
                        "breakers_open": 1,
                        "outlets": 20,
                        "failing": 1,
                        "disabled": 0,
                    },
                    "pipeline": {
                        "state": "running",
                        "matcher": "columnar",
                        "matcher_options": {},
                        "schedule": "adaptive",
                        "since": 1767225600.0,
                        "restarts": 0,
                        "error": None,
                        "last_words": [],
                        "batches": 60,
                        "events": 30000,
                        "matches": 7200,
                        "dead": 0,
                        "revision": 100000,
                        "refused_subscriptions": 0,
                        "last_batch": {"events": 500, "matches": 120, "dead": 0, "milliseconds": 310.0},
                        "busy_seconds": 0.0,
                    },
                }
            ]
        }
    )

    version: str
    uptime_seconds: float
    schema_version: int
    rates: Rates
    totals: Totals
    latency: Latency
    lag: Lag
    subscriptions: dict[str, int] = Field(description="Number in each state")
    dead_letters: int
    revision: int = Field(description="Newest revision of the store's subscriptions")
    log: dict[str, int] | None = Field(description="Size of the event log; null while it does not answer")
    pipeline: PipelineForm
    delivery: dict[str, Any] = Field(
        description="Counts of listeners, webhooks and topics; for administrators also `endpoints`: those that have "
        "failed of late, each with its breaker"
    )


@router.get("", operation_id="status", summary="Get the server's status", responses=responses(401, 403, 422, 503))
async def status(caller: Subscriber, service: Serving) -> StatusForm:
    """Status of the server: rates, latency, lag, and the health of the pipeline and of delivery."""
    meter = service.meter
    counts, log = await asyncio.gather(_counts(service), _log(service))
    return StatusForm(
        version=version("tamis"),
        uptime_seconds=meter.uptime,
        schema_version=service.schema_version,
        rates=Rates(
            published=meter.rate("published"),
            matched=meter.rate("matched"),
            delivered=meter.rate("delivered"),
            refused=meter.rate("refused"),
        ),
        totals=Totals(
            published=meter.total("published"),
            matched=meter.total("matched"),
            delivered=meter.total("delivered"),
            refused=meter.total("refused"),
        ),
        latency=Latency(p50=_milliseconds(meter.latency(0.5)), p99=_milliseconds(meter.latency(0.99))),
        lag=Lag(events=lag(service)),
        pipeline=_pipeline(service.supervisor.status(), service.algorithms, caller.administers),
        delivery=_delivery(service, caller.administers),
        subscriptions=counts.subscriptions,
        dead_letters=counts.dead_letters,
        revision=counts.revision,
        log=log,
    )


async def _counts(service: Service) -> Counts:
    try:
        return await service.counts_probe.answer()
    except TimeoutError:
        raise StoreAwayError("the store does not answer") from None


async def _log(service: Service) -> dict[str, int] | None:
    try:
        events, size = await service.log_probe.answer()
    except (TamisError, OSError):
        return None
    return {"events": events, "bytes": size}


def _delivery(service: Service, administers: bool) -> dict[str, Any]:
    told: dict[str, Any] = dict(service.delivery.status())
    # Endpoints have the names of their owners' machines.
    return told | {"endpoints": service.delivery.endpoints()} if administers else told


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3


def _pipeline(found: PipelineStatus, algorithms: Algorithms, administers: bool) -> PipelineForm:
    last = found.last
    return PipelineForm(
        state=found.state,
        matcher=algorithms.choice.matcher,
        matcher_options=dict(algorithms.choice.options),
        schedule=algorithms.schedule,
        since=found.since,
        restarts=found.restarts,
        # An error may name folders and hosts, which are the administrator's business.
        error=found.error if administers else None,
        last_words=list(found.stderr) if administers else [],
        batches=found.batches,
        events=found.events,
        matches=found.matches,
        dead=found.dead,
        revision=found.revision,
        refused_subscriptions=found.refused,
        last_batch=None
        if last is None
        else LastBatch(events=last.events, matches=last.matches, dead=last.dead, milliseconds=last.ms),
        busy_seconds=found.busy,
    )
