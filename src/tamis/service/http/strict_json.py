"""Routes whose JSON bodies are read strictly, so that every reader downstream takes them and reads the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any, Final

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from tamis.service.http.access import admit
from tamis.service.http.body_limit import declared_length, require_plain
from tamis.service.intake.problems import Problem
from tamis.strict_json import DEEPEST, StrictJsonError, read_json

_LARGEST_FORM: Final = 4 << 20
_DEEPEST_FORM: Final = DEEPEST + 20


class StrictRequest(Request):
    """A request whose body is read by the strict parser; Python's own would let through what cannot be answered."""

    async def json(self) -> Any:
        try:
            return read_json(await self.body(), deepest=_DEEPEST_FORM)
        except StrictJsonError as error:
            raise Problem(400, "json", f"the body is no JSON: {error.reason}") from None


class FormRequest(StrictRequest):
    """A request with a form, which is read no further than forms are long."""

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
    """A route that reads JSON strictly: `APIRouter(route_class=StrictRoute)`.

    FastAPI reads a form before it asks the dependencies of its route. Here those that look at keys come first: a caller
    who may not be there is not waited for.
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
