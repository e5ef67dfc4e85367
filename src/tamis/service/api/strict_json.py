"""JSON bodies as every reader downstream will take them: no NaN, no half characters, no nesting without end."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute

from tamis.service.api.nesting import DEEPEST, deepest
from tamis.service.api.problems import Problem

_LARGEST_FORM: Final = 4 << 20
_DEEPEST_FORM: Final = DEEPEST + 20


class StrictRequest(Request):
    """A request whose body is read by the strict parser; Python's own would let through what cannot be answered."""

    async def json(self) -> Any:
        body = await self.body()
        if len(body) > _LARGEST_FORM:
            raise Problem(413, "too-large", f"a form has at most {_LARGEST_FORM:,} bytes")
        if deepest(body) > _DEEPEST_FORM:
            raise Problem(400, "json", f"the body is nested more than {_DEEPEST_FORM} deep")
        return orjson.loads(body)


class StrictRoute(APIRoute):
    """A route that reads JSON strictly: `APIRouter(route_class=StrictRoute)`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strict
