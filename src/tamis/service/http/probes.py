"""For those who watch the server: alive, ready, and in numbers."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final, Literal

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ConfigDict
from sqlalchemy.exc import SQLAlchemyError

from tamis.errors import TamisError
from tamis.service.http.metrics import observe
from tamis.service.http.probing import Probe
from tamis.service.http.service import Service, Serving

router = APIRouter(tags=["operations"])

_LOG_SECONDS: Final = 3.0  # for which the log is taken to be as it was when it took nothing


class Alive(BaseModel):
    """The process answers."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "alive"}]})

    status: Literal["alive"] = "alive"


class Ready(BaseModel):
    """Readiness of the server, part by part: `ok`, or what is wrong."""

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
    """200 if requests are served: the store answers and the log takes events; else 503.

    `pipeline` says whether events are matched. Where services share a log, another one matches, or what is taken now is
    matched soon, so it does not count; of a log of its own, this server is the one to match.
    """
    store, log = await asyncio.gather(_state(service.head_probe), _log_state(service))
    state, shared = service.supervisor.status().state, service.log.shared is not None
    pipeline = "ok" if state == "running" or (state == "waiting" and shared) else state
    is_ready = (store, log) == ("ok", "ok") and (shared or pipeline == "ok")
    told = Ready(ready=is_ready, store=store, log=log, pipeline=pipeline)
    return JSONResponse(told.model_dump(), 200 if is_ready else 503)


@router.get(
    "/metrics",
    operation_id="metrics",
    summary="Prometheus metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(service: Serving) -> Response:
    """Counters and gauges in Prometheus' text form. What cannot be told now is left out."""
    try:
        counts = await service.counts_probe.answer()
    except (TamisError, OSError):
        counts = None
    observe(service, counts)
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)


async def _state(probe: Probe[Any]) -> str:
    try:
        await probe.answer()
    except (TamisError, SQLAlchemyError, OSError) as error:
        return f"does not answer ({type(error).__name__})"
    return "ok"


async def _log_state(service: Service) -> str:
    failed = service.log_failed
    # Not for longer: a balancer sends nothing to whoever is not ready, and it would never be asked again.
    if failed is not None and time.monotonic() - failed < _LOG_SECONDS:
        return "took nothing when last asked to"
    return await _state(service.log_probe)
