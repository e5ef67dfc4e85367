"""A server for this machine only answers to this machine's names.

A page of any site can have its own name resolve to 127.0.0.1, and is then of one origin with a server there: the
browser lets it publish, subscribe and read whatever needs no key. The name it asks for gives it away.
"""

from __future__ import annotations

import re
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from tamis.service.intake.problems import Problem

_LOCAL: Final = re.compile(
    r"(?:(?:[^:]+\.)?localhost|ip6-localhost)\.?(?::\d+)?|\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|\[[0-9a-f:.]+\](?::\d+)?"
)


class KnownHost:
    """Refuses requests whose Host is a name other than localhost. Addresses are no names, and cannot be turned."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and not self._is_known(Headers(scope=scope).get("host", "")):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            detail = "this server is for this machine, as localhost; behind a proxy, name that in trusted_proxies"
            await Problem(421, "host", detail).response()(scope, receive, send)
            return
        await self._app(scope, receive, send)

    @staticmethod
    def _is_known(host: str) -> bool:
        # HTTP/1.0 has none, and no browser speaks that.
        return not host or _LOCAL.fullmatch(host.lower()) is not None
