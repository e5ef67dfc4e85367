"""For those who watch the server: alive, ready, and in numbers."""

from __future__ import annotations

import time
from typing import Final, Literal

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ConfigDict
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool

from tamis.errors import TamisError
from tamis.service.api.observing import observe
from tamis.service.api.service import Service, Serving

router = APIRouter(tags=["operations"])

_LOG_SECONDS: Final = 10.0  # for which the log is taken to be as it was when it took nothing


class Alive(BaseModel):
    """The process answers."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "alive"}]})

    status: Literal["alive"] = "alive"


class Ready(BaseModel):
    """Whether the server can do its work, part by part: `ok`, or what is wrong."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"ready": True, "store": "ok", "log": "ok", "pipeline": "ok"}]}
    )

    ready: bool
    store: str
    log: str
    pipeline: str


@router.get("/health", operation_id="health", summary="Whether the process is alive")
async def health() -> Alive:
    """Answers as long as the process does."""
    return Alive()


@router.get(
    "/ready",
    operation_id="ready",
    summary="Whether the server can do its work",
    response_model=Ready,
    responses={503: {"model": Ready, "description": "Some part is not ready"}},
)
async def ready(service: Serving) -> Response:
    """200 if the store answers, the log takes events and the pipeline runs, here or in another service; else 503."""
    state = service.supervisor.status().state
    # Where services share a log, one matches for all; the others wait to take its place.
    matched = state == "running" or (state == "waiting" and service.log.shared is not None)
    found = {
        "store": await run_in_threadpool(_store_state, service),
        "log": await run_in_threadpool(_log_state, service),
        "pipeline": "ok" if matched else state,
    }
    is_ready = all(each == "ok" for each in found.values())
    return JSONResponse(Ready(ready=is_ready, **found).model_dump(), 200 if is_ready else 503)


@router.get(
    "/metrics",
    operation_id="metrics",
    summary="Prometheus metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(service: Serving) -> Response:
    """Counters and gauges in Prometheus' text form."""
    await run_in_threadpool(observe, service)
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)


def _store_state(service: Service) -> str:
    try:
        service.store.notifications.head()
    except (TamisError, SQLAlchemyError) as error:
        return f"does not answer ({type(error).__name__})"
    return "ok"


def _log_state(service: Service) -> str:
    failed = service.log_failed
    # Not for longer: a balancer sends nothing to whoever is not ready, and it would never be asked again.
    if failed is not None and time.monotonic() - failed < _LOG_SECONDS:
        return "took nothing when last asked to"
    try:
        service.log.size()
    except (TamisError, OSError) as error:
        return f"cannot be read ({type(error).__name__})"
    return "ok"
