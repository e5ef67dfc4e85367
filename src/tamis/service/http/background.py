"""Background tasks of a server (expiry, retention, schema, news of batches), and the routes for health, readiness and
metrics.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ConfigDict
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool

from tamis.errors import TamisError
from tamis.service.http.metrics import matched_ends, observe
from tamis.service.http.service import Probe, Service, Serving
from tamis.service.store.database import warn
from tamis.service.worker import Batch

_logger: Final = logging.getLogger("tamis.service")
_EXPIRY_SECONDS: Final = 1.0
_SCHEMA_SECONDS: Final = 2.0
_RETENTION_SECONDS: Final = 60.0
_METER_SECONDS: Final = 0.5
_KEPT_BACKTESTS: Final = timedelta(days=7)


class ServerTasks:
    """Background tasks of a server, from `start` to `close`: delivery, the pipeline process and the sweeps.

    `finish` comes before the last connections are closed, for readers hold theirs until delivery ends.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        service = self._service
        service.supervisor.on_batch(self._hear)
        await service.delivery.start()
        await service.supervisor.start()
        if service.bridge is not None:
            await service.bridge.start(service.meter.accepted)
        work: dict[str, tuple[float, Callable[[], object]]] = {
            "expiry": (_EXPIRY_SECONDS, lambda: expire(service)),
            "schema": (_SCHEMA_SECONDS, service.followed.refresh),
            "retention": (_RETENTION_SECONDS, lambda: let_go(service)),
        }
        self._tasks = [asyncio.create_task(_repeat(name, *each), name=name) for name, each in work.items()]
        self._tasks.append(asyncio.create_task(_keep_meter(service), name="meter"))

    async def finish(self) -> None:
        """Stops the pipeline process, and delivery with every cursor saved. A second call does nothing."""
        tasks, self._tasks = self._tasks, []
        if not tasks:
            return
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._service.bridge is not None:
            await self._service.bridge.stop()
        # What the pipeline records meanwhile is delivered after the next start.
        service = self._service
        await asyncio.gather(service.supervisor.stop(), service.delivery.stop(), service.examiners.close())

    async def close(self) -> None:
        """Stops, and closes the log and the store."""
        await self.finish()
        await self._service.log.close()
        await run_in_threadpool(self._service.store.close)

    def _hear(self, batch: Batch) -> None:
        if self._tasks:
            hear(self._service, batch)


def hear(service: Service, batch: Batch) -> None:
    """Handles a recorded batch: wakes the readers that wait for it, and counts it."""
    service.delivery.wake(batch.head)
    if batch.batch < 0:
        return
    metrics, meter = service.metrics, service.meter
    metrics.batches.inc()
    metrics.matched_events.inc(batch.events)
    metrics.matches.inc(batch.matches)
    metrics.dead.inc(batch.dead)
    metrics.batch_seconds.observe(batch.ms / 1e3)
    meter.count("matched", batch.matches)
    meter.count("events_matched", batch.events)
    for seconds in meter.matched(matched_ends(batch)):
        metrics.latency.observe(seconds)


def expire(service: Service) -> None:
    """Notifies subscribers of subscriptions about to expire, and ends those that have."""
    now = datetime.now(UTC)
    service.store.subscriptions.announce(now)
    service.store.subscriptions.expire(now)


def let_go(service: Service) -> None:
    """Removes what is older than its retention."""
    now, retention, store = datetime.now(UTC), service.settings.retention, service.store
    store.notifications.sweep(now - retention.notifications)
    store.dead_letters.sweep(now - retention.notifications)
    store.backtests.sweep(now - _KEPT_BACKTESTS)
    store.advertisements.sweep(now)
    pipeline = service.supervisor.status()
    store.subscriptions.purge(now - retention.notifications, pipeline.revision)
    if pipeline.last is not None and pipeline.last.processed > 0:
        service.log.sweep(now - retention.spool, pipeline.last.processed)


async def _repeat(name: str, seconds: float, work: Callable[[], object]) -> None:
    """Repeats a task periodically, in a thread; a failure is logged (a bug of Tamis once) and the task retried."""
    known = ""
    while True:
        try:
            await run_in_threadpool(work)
        except TamisError as error:
            warn(_logger, f"{name} did not succeed", error)
        except Exception as error:
            if repr(error) != known:
                _logger.exception("%s did not succeed; it is tried again", name)
            known = repr(error)
        await asyncio.sleep(seconds)


async def _keep_meter(service: Service) -> None:
    """Samples the delivery counters for rates, and stops measuring latency where another service matches."""
    counted = 0
    while True:
        told = service.delivery.status()
        total = told["delivered"] + told["handed_out"]
        service.meter.count("delivered", total - counted)
        counted = total
        if service.supervisor.status().state == "waiting":
            service.meter.await_nothing()
        await asyncio.sleep(_METER_SECONDS)


# Monitoring: liveness, readiness and metrics.

router = APIRouter(tags=["operations"])

_LOG_SECONDS: Final = 3.0  # for which the log is taken to be as it was when it took nothing


class Alive(BaseModel):
    """Liveness of the process."""

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


@router.get("/health", operation_id="health", summary="Liveness probe")
async def health() -> Alive:
    """Liveness probe: answers as long as the process does."""
    return Alive()


@router.get(
    "/ready",
    operation_id="ready",
    summary="Readiness probe",
    response_model=Ready,
    responses={503: {"model": Ready, "description": "Some part is not ready"}},
)
async def ready(service: Serving) -> Response:
    """Readiness probe: 200 if the store answers and the log takes events; else 503.

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
    """Metrics in Prometheus' text format. A value that is not known now is left out."""
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
