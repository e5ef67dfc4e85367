"""FastAPI application of the service: routers of all rooms, middleware for limits, metrics and errors, and the OpenAPI
document that describes the API.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from tamis.service.base.configuration import AccessSettings
from tamis.service.http import (
    advertisements,
    backtests,
    cloudevents,
    contents,
    events,
    filters,
    keys,
    network,
    operators,
    replays,
    schemas,
    status,
    subscriptions,
)
from tamis.service.http import background as probes
from tamis.service.http.acceptance import Acceptance
from tamis.service.http.access import caller_of
from tamis.service.http.background import ServerTasks
from tamis.service.http.bodies import BodyLimit
from tamis.service.http.console import router as console
from tamis.service.http.notifications import router as delivery
from tamis.service.http.requests import Watching
from tamis.service.http.service import Service
from tamis.service.intake import problems
from tamis.service.intake.problems import ProblemForm

_DESCRIPTION: Final = """
Publish events, subscribe with filters, and receive notifications of the events that match.

API keys go into `Authorization: Bearer tk_…`, a subscription's ticket into `Tamis-Ticket: tkt_…`. Every error is
`application/problem+json`. A resource of another owner is answered like one that does not exist.
"""


def create_app(service: Service) -> FastAPI:
    """FastAPI application for a service, which starts and stops with it. Several may live in one process."""
    running = ServerTasks(service)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await running.start()
        try:
            yield
        finally:
            await running.close()

    app = FastAPI(
        title="Tamis",
        version=version("tamis"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        # A slash too many is a path that does not exist: a redirect would lose the body of a publish.
        redirect_slashes=False,
    )
    app.state.service = service
    app.state.running = running
    app.state.acceptance = Acceptance(service)
    problems.install(app)
    for room in (
        subscriptions,
        replays,
        contents,
        events,
        filters,
        operators,
        backtests,
        schemas,
        advertisements,
        keys,
        network,
        status,
        probes,
    ):
        app.include_router(room.router)
    app.include_router(delivery)
    app.include_router(cloudevents.router)
    app.include_router(console)
    limits = service.limits
    app.add_middleware(
        BodyLimit,
        body_bytes=limits.body_bytes,
        concurrent_bytes=limits.concurrent_bytes,
        caller_bytes=limits.caller_bytes,
        seconds=limits.body_seconds,
        rate=limits.body_rate,
        longest=limits.body_longest,
        caller_of=caller_of,
    )
    app.add_middleware(Watching, metrics=service.metrics)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    """OpenAPI document of FastAPI, with our problem details in place of its own error form."""
    if app.openapi_schema is None:
        described = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        parts = described["components"]["schemas"]
        problem = ProblemForm.model_json_schema(ref_template="#/components/schemas/{model}")
        parts.update(problem.pop("$defs", {}))
        parts["ProblemForm"] = problem
        for name in ("HTTPValidationError", "ValidationError"):
            parts.pop(name, None)
        service: Service = app.state.service
        for operation in (each for path in described["paths"].values() for each in path.values()):
            _declare_refusals(operation)
            _declare_security(operation, service.settings.access)
        app.openapi_schema = described
    return app.openapi_schema


def _declare_refusals(operation: dict[str, Any]) -> None:
    """Declares the error responses that an operation's environment adds: API keys, bodies, the store."""
    if "security" not in operation:
        return
    possible = [401, 503]
    if "requestBody" in operation:
        possible += [400, 408, 413, 415]
    for number, declared in problems.responses(*possible).items():
        operation["responses"].setdefault(str(number), declared)


def _declare_security(operation: dict[str, Any], access: AccessSettings) -> None:
    """Declares the API keys and tickets of an operation: FastAPI knows which are read, not which are required."""
    name = operation["operationId"]
    who = next((who for who, names in _OPEN.items() if name in names), None)
    if who is None:
        return
    needed = (who == "reader" and access.subscribe == "keys") or getattr(access, who, "anyone") == "keys"
    ways: list[dict[str, list[str]]] = [{"key": []}] if needed else [{}, {"key": []}]
    if {"ticket": []} in operation["security"]:
        # Brought by those who make a subscription, to have it made once.
        ways += [{**way, "ticket": []} for way in ways]
    operation["security"] = ways


_OPEN: Final = {
    "publish": frozenset({"publish", "advertise", "remove_advertisement"}),
    "subscribe": frozenset(
        {
            "subscribe",
            "cloudevents_subscribe",
            "check_filter",
            "explain_filter",
            "try_filter",
            "start_backtest",
            "get_backtest",
            "list_operators",
            "get_operator",
            "status",
            "network",
        }
    ),
    "reader": frozenset({"get_schema", "list_advertisements"}),
    "anybody": frozenset({"cloudevents_features", "cloudevents_subscription_features"}),
}
"""Operations that need no key, unless the setting of this name says keys; those who may see a schema: subscribers."""
