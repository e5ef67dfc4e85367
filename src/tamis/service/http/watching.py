"""Around every request: how long it took, who is told, and the headers that keep browsers careful."""

from __future__ import annotations

import logging
import time
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tamis.service.http.metrics import Metrics

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
