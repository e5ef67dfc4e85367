"""Problem details (RFC 9457, `application/problem+json`): the error answers of the API, with the place of the fault."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import Response
from starlette.routing import Match
from starlette.websockets import WebSocketDisconnect, WebSocketState

from tamis.errors import EventError, FilterError, SchemaError, TamisError, shown
from tamis.eventlog import EventTooLarge, IdempotencyConflict, NotAppended
from tamis.service.store import (
    NotFoundError,
    RevokedError,
    StoreAwayError,
    StoreError,
    StoreFailedError,
    TicketError,
)

MEDIA_TYPE: Final = "application/problem+json"

_LOG: Final = logging.getLogger("tamis.service")
_SOON: Final = {"Retry-After": "1"}
_SHOWN_ERRORS: Final = 20
_SHOWN_TEXT: Final = 500
_POLICY: Final = 1008  # the WebSocket close code for what a server will not have


class Fault(BaseModel):
    """One fault of a request. `start` and `end` are characters of the filter; `field` is a path into the request."""

    message: str
    start: int | None = None
    end: int | None = None
    field: str | None = None


class ProblemForm(BaseModel):
    """Body of every answer from 400 on."""

    type: str = Field(description="Kind of the problem, for programs", examples=["urn:tamis:problem:filter"])
    title: str = Field(description="Kind of the problem, for people")
    status: int
    detail: str = Field(description="Fault, and the remedy")
    errors: list[Fault] = Field(default_factory=list)


class Problem(HTTPException):
    """Refused request. Raised anywhere below a route; `install` turns it into an answer."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        errors: Sequence[Fault] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.status = status
        self.kind = kind
        self.errors = list(errors)

    def form(self) -> ProblemForm:
        """Body of the answer."""
        return ProblemForm(
            type=f"urn:tamis:problem:{self.kind}",
            title=HTTPStatus(self.status).phrase,
            status=self.status,
            detail=self.detail,
            errors=self.errors,
        )

    def response(self) -> JSONResponse:
        """HTTP answer."""
        content = self.form().model_dump(exclude_none=True)
        return JSONResponse(content, self.status, self.headers, MEDIA_TYPE)


def not_found(what: str = "subscription") -> Problem:
    """Problem for a resource that does not exist, and for one of another owner, so that nothing can be told from it."""
    return Problem(404, "not-found", f"there is no such {what}, or it is not yours")


def of_filter(error: FilterError, field: str = "filter") -> Problem:
    """Problem of an invalid filter, with its position in the text."""
    fault = Fault(message=error.message, start=error.start, end=max(error.start, error.end), field=field)
    return Problem(422, "filter", error.message, [fault])


def of_schema(error: SchemaError) -> Problem:
    """Problem of an invalid schema, or extension of one."""
    return Problem(422, "schema", str(error), [Fault(message=error.message, field=error.place or None)])


def of_event(error: EventError) -> Problem:
    """Problem of an event that breaks the schema."""
    faults = [Fault(message=one.message, field=one.attribute or None) for one in error.violations[:_SHOWN_ERRORS]]
    return Problem(422, "event", faults[0].message if faults else "the event breaks the schema", faults)


def of_error(error: TamisError) -> Problem:
    """Problem of any error of Tamis."""
    match error:
        case FilterError():
            return of_filter(error)
        case SchemaError():
            return of_schema(error)
        case EventError():
            return of_event(error)
        case IdempotencyConflict():
            return Problem(409, "idempotency", str(error)[:_SHOWN_TEXT])
        case EventTooLarge():
            return Problem(413, "too-large", str(error)[:_SHOWN_TEXT])
        case NotFoundError():
            return not_found()
        case RevokedError():
            return Problem(403, "key", str(error)[:_SHOWN_TEXT])
        case TicketError():
            return Problem(409, "conflict", str(error)[:_SHOWN_TEXT])
        case StoreAwayError():
            return _unavailable("the store does not answer; try again soon")
        case StoreFailedError():
            _LOG.warning("%s", error)
            return _unavailable("the store failed; try again soon")
        case NotAppended():
            return _unavailable("the event log takes nothing for now; try again soon")
        case StoreError():
            return _unavailable(str(error)[:_SHOWN_TEXT])
        case _:
            return Problem(422, "refused", str(error)[:_SHOWN_TEXT])


def _unavailable(detail: str) -> Problem:
    """Problem without internals: the reason, with names of machines and folders, is for the service's log."""
    return Problem(503, "unavailable", detail, headers=dict(_SOON))


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Error answers for OpenAPI; 429 is possible everywhere."""
    return {status: _declared(status) for status in (*statuses, 429)}


def _declared(status: int) -> dict[str, Any]:
    title, (kind, detail) = HTTPStatus(status).phrase, _EXAMPLES.get(status, ("refused", "what was wrong"))
    example = {"type": f"urn:tamis:problem:{kind}", "title": title, "status": status, "detail": detail, "errors": []}
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemForm"}, "example": example}}
    return {"description": title, "content": content}


_MODES: Final = ("pull", "webhook", "kafka")
_OF_FRAMEWORK: Final = re.compile("^(Input|String|Value|List|Dictionary) should")
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_UNSERVED: Final = {
    404: "there is no such path; /openapi.json describes all that there are",
    405: "this path does not take that method; /openapi.json describes what it takes",
}
"""What the framework says of requests that no route takes is their status once more."""

_EXAMPLES: Final = {
    400: ("request", "the body is no JSON: unexpected end of data at character 17"),
    401: ("key", "this key is unknown or revoked"),
    403: ("role", "this key may not subscribe"),
    404: ("not-found", "there is no such subscription, or it is not yours"),
    409: ("conflict", "the subscription was cancelled and cannot be changed"),
    411: ("length", "say how long the body is"),
    413: ("too-large", "the body has more than 16,777,216 bytes; publish fewer events at a time"),
    415: ("content-type", "events are published as application/json, application/x-ndjson, ..."),
    422: ("filter", "there is no attribute 'prise'; did you mean 'price'?"),
    429: ("rate", "too many requests; wait a second"),
    503: ("unavailable", "the store does not answer"),
}


def install(app: FastAPI) -> None:
    """Registers handlers that turn every error of the application into a problem, those of the framework included."""
    app.add_exception_handler(Problem, _answer)
    app.add_exception_handler(TamisError, _answer)
    app.add_exception_handler(RequestValidationError, _answer)
    app.add_exception_handler(HTTPException, _answer)
    app.add_exception_handler(ClientDisconnect, _answer)


async def _answer(connection: HTTPConnection, error: Exception) -> Any:
    """Answer to a request; None for a WebSocket, whose refusal is sent here: a returned answer would be sent again.

    Starlette's types know handlers of requests and handlers of sockets, and none of both.
    """
    problem = _problem(error, connection)
    response = problem.response()
    if isinstance(connection, WebSocket):
        await _refuse(connection, problem, response)
        return None
    return response


def _problem(error: Exception, connection: HTTPConnection) -> Problem:
    match error:
        case Problem():
            return error
        case TamisError():
            return of_error(error)
        case RequestValidationError():
            return _of_validation(error, connection.headers.get("content-type", ""))
        case HTTPException():
            kind = "not-found" if error.status_code == 404 else "request"
            detail = _UNSERVED.get(error.status_code, str(error.detail))
            headers = {"Allow": ", ".join(_allowed(connection))} if error.status_code == 405 else error.headers
            return Problem(error.status_code, kind, detail, headers=headers)
        case _:
            return Problem(400, "request", "the request ended before its body did")


def _allowed(connection: HTTPConnection) -> list[str]:
    """Methods of a path. The framework tells those of one route, and others may have the same path."""
    asked = {name: connection.scope[name] for name in ("type", "path", "root_path", "headers")}
    return [
        method
        for method in _METHODS
        if any(route.matches({**asked, "method": method})[0] is Match.FULL for route in connection.app.routes)
    ]


def _of_validation(error: RequestValidationError, content_type: str) -> Problem:
    # What is not said to be JSON is not read as JSON, so the whole body is at fault, whatever is in it.
    unread = any(tuple(one["loc"]) == ("body",) and isinstance(one.get("input"), bytes) for one in error.errors())
    if unread and "json" not in content_type:
        return Problem(415, "content-type", "this takes JSON: send it with Content-Type: application/json")
    faults = [_fault(dict(one)) for one in error.errors()[:_SHOWN_ERRORS]]
    malformed = any(one["type"] == "json_invalid" for one in error.errors())
    kind, status = ("json", 400) if malformed else ("request", 422)
    first = faults[0] if faults else Fault(message="the request is not as it should be")
    return Problem(status, kind, f"{first.field}: {first.message}" if first.field else first.message, faults)


def _fault(error: Mapping[str, Any]) -> Fault:
    place = [str(part) for part in error["loc"]]
    if len(place) > 1 and place[0] == "body":
        del place[0]
    if place[0] == "delivery" and place[1:2] and place[1] in _MODES:
        # The framework's own step into the form that the mode stands for: what was sent has none such.
        del place[1]
    field = ".".join(part for part in place if part != "[key]")
    return Fault(message=_plain(error)[:_SHOWN_TEXT], field=field[:_SHOWN_TEXT])


def _plain(error: Mapping[str, Any]) -> str:
    """Message of the framework, reworded for users who do not know the framework."""
    about = error.get("ctx") or {}
    match error["type"]:
        case "missing":
            return "this is needed, and not there"
        case "extra_forbidden":
            return "there is no such field here"
        case "string_pattern_mismatch":
            return f"this does not have the form {about['pattern']}"
        case "literal_error":
            return f"this is {about['expected']}"
        case "union_tag_invalid":
            return f"{shown(about['tag'])} is none of {about['expected_tags']}"
        case "union_tag_not_found":
            return f"this needs {about['discriminator']}, which says of what kind it is"
    message = str(error["msg"]).removeprefix("Value error, ")
    return _OF_FRAMEWORK.sub("this should", message)


async def _refuse(socket: WebSocket, problem: Problem, response: Response) -> None:
    """Refuses a WebSocket handshake with an HTTP answer where the server can send one, else closes the socket."""
    try:
        if socket.client_state == WebSocketState.CONNECTING and "websocket.http.response" in socket.get(
            "extensions", {}
        ):
            await socket.send_denial_response(response)
        else:
            await socket.close(_POLICY, problem.detail.encode()[:120].decode(errors="ignore"))
    except (WebSocketDisconnect, RuntimeError):
        # The other side went first.
        return
