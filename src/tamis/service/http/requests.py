"""Middleware and route class around every request: timing, access log, security headers, and strict JSON parsing."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any, Final

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tamis.service.http.access import admit
from tamis.service.http.bodies import declared_length, require_plain
from tamis.service.http.metrics import Metrics
from tamis.service.intake.problems import Problem
from tamis.strict_json import DEEPEST, StrictJsonError, read_json

access_log: Final = logging.getLogger("tamis.service.access")

_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    # Answers hold what is one caller's only.
    "Cache-Control": "no-store",
}


class Watching:
    """Counts and logs requests, and adds headers that a route has not set itself.

    The log has the path without its query, for a query may hold a key or a ticket.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 500
        seconds = 0.0

        async def watched(message: Message) -> None:
            nonlocal status, seconds
            if message["type"] == "http.response.start":
                status, seconds = message["status"], time.perf_counter() - start
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            seconds = seconds or time.perf_counter() - start
            route = scope.get("route")
            # Paths that lead nowhere share a name: else a stranger could make up as many as memory holds.
            operation = getattr(route, "operation_id", None) or getattr(route, "name", None) or "unknown"
            self._metrics.requests.labels(operation, str(status)).inc()
            self._metrics.request_seconds.labels(operation).observe(seconds)
            if access_log.isEnabledFor(logging.INFO):
                client = scope["client"][0] if scope.get("client") else "-"
                access_log.info("%s %s %r %d %.1f ms", client, scope["method"], scope["path"], status, seconds * 1e3)


# Strict JSON bodies, which every later reader parses alike.

_LARGEST_FORM: Final = 4 << 20
_DEEPEST_FORM: Final = DEEPEST + 20


class StrictRequest(Request):
    """Request whose body is parsed strictly; Python's own parser would accept values that cannot be answered."""

    async def json(self) -> Any:
        try:
            return read_json(await self.body(), deepest=_DEEPEST_FORM)
        except StrictJsonError as error:
            raise Problem(400, "json", f"the body is no JSON: {error.reason}") from None


class FormRequest(StrictRequest):
    """Request with a form, read no further than forms are long."""

    async def stream(self) -> AsyncGenerator[bytes, None]:
        require_plain(self.scope)
        if (declared_length(self.scope) or 0) > _LARGEST_FORM:
            raise _too_large()
        size = 0
        async for piece in super().stream():
            size += len(piece)
            if size > _LARGEST_FORM:
                raise _too_large()
            yield piece


def _too_large() -> Problem:
    detail = f"a form has at most {_LARGEST_FORM:,} bytes"
    return Problem(413, "too-large", detail, headers={"Connection": "close"})


class StrictRoute(APIRoute):
    """Route that parses JSON strictly: `APIRouter(route_class=StrictRoute)`.

    FastAPI reads a form before it runs the dependencies of its route. Here the dependencies that check keys come first:
    a caller without access is not waited for.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        needed = frozenset(_dependencies(self.dependant))
        kind = StrictRequest if self.body_field is None else FormRequest

        async def strict(request: Request) -> Response:
            await admit(request, needed)
            return await handle(kind(request.scope, request.receive))

        return strict


def _dependencies(dependant: Dependant) -> Iterator[object]:
    for each in dependant.dependencies:
        yield each.call
        yield from _dependencies(each)
