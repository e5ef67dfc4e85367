"""Router of the console: serves its files at /console/, with a content security policy that allows only these files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

__all__ = ["HEADERS", "router"]

# With trusted types, text can never become markup: the browser itself refuses innerHTML and its like.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_TYPES: Final[Mapping[str, str]] = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml; charset=utf-8",
}

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class StaticFile:
    """One file of the console as it is sent; `tag` changes exactly when the content does."""

    content: bytes
    type: str
    tag: str


@cache
def pages() -> Mapping[str, StaticFile]:
    """Files of the console by their path under /console/. Other paths do not exist, so none leads outside."""
    root = files("tamis.service.http.console").joinpath("static")
    found = dict(_walk(root, ""))
    return found | {"": found["index.html"]}


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, StaticFile]]:
    for entry in folder.iterdir():
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            yield from _walk(entry, f"{path}/")
        elif (media_type := _TYPES.get(entry.name.rpartition(".")[2])) is not None:
            content = entry.read_bytes()
            yield path, StaticFile(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:32]}"')


@router.get("/")
async def to_the_console(request: Request) -> Response:
    """Redirects from the server's root, where browsers arrive, to the console."""
    return RedirectResponse(f"{request.scope.get('root_path', '')}/console/", status_code=307)


@router.get("/console")
async def console_without_slash(request: Request) -> Response:
    """Redirects to the path with a slash: the console's own links are relative, so that it works behind a prefix."""
    return RedirectResponse(f"{request.scope.get('root_path', '')}/console/", status_code=308)


@router.get("/console/{path:path}")
async def console_file(path: str, request: Request) -> Response:
    """File of the console, or 304 where the browser has it already."""
    page = pages().get(path)
    if page is None:
        return Response("There is no such page.", 404, dict(HEADERS), "text/plain; charset=utf-8")
    headers = {**HEADERS, "ETag": page.tag}
    if request.headers.get("if-none-match") == page.tag:
        return Response(status_code=304, headers=headers)
    return Response(page.content, 200, headers, page.type)
