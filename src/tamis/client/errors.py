"""Errors between a client and its service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tamis.errors import TamisError

_SCHEMES = ("http://", "https://")


class ServiceError(TamisError):
    """The service refused a request. `status` is HTTP's, `problem` all that the service said."""

    def __init__(self, status: int, detail: str, problem: Mapping[str, Any] | None = None) -> None:
        super().__init__(status, detail, problem)
        self.status = status
        self.detail = detail
        self.problem = dict(problem or {})

    def __str__(self) -> str:
        errors = [str(each.get("message", "")) for each in self.problem.get("errors") or () if isinstance(each, dict)]
        more = [message for message in errors if message and message not in self.detail]
        return f"{self.detail} (HTTP {self.status})" + "".join(f"\n  {message}" for message in more)


class ServiceUnreachable(TamisError):  # noqa: N818 - reads as what happened
    """The service does not answer. A publish that ends so may have been taken: repeat it with the same key."""


def address(url: str) -> str:
    """The URL, if it can be one of a service: a name and a port alone would be taken for something else."""
    if not url.startswith(_SCHEMES):
        raise ServiceUnreachable(
            f"{url!r} is no address of a service; write http:// before it: 'http://127.0.0.1:8080'"
        )
    return url


def unreachable(url: str, error: Exception) -> ServiceUnreachable:
    """Error after the last attempt."""
    return ServiceUnreachable(f"{url} does not answer: {error}; is `tamis serve` running there?")
