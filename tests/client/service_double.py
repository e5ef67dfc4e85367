"""A service that answers as the real one does, and can lose connections when told to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx


class Cut(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that breaks off after its lines."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __iter__(self) -> Iterator[bytes]:
        yield self._text.encode()
        raise httpx.ReadError("connection lost")

    async def __aiter__(self):  # type: ignore[no-untyped-def]
        yield self._text.encode()
        raise httpx.ReadError("connection lost")


def notification(number: int) -> dict[str, Any]:
    return {
        "id": f"ntf_{number}",
        "subscription": "sub_1",
        "cursor": str(number),
        "time": "2026-01-01T10:00:00+00:00",
        "event_id": f"evt_{number}",
        "event": {"price": number},
        "matched": [{"condition": "price < 10", "values": {"price": [number]}}],
        **({"bindings": {"people": number}} if number % 2 else {}),
    }


@dataclass
class ServiceDouble:
    """Remembers requests; `lose` of them are lost before they are answered; streams give a few and break off."""

    lose: int = 0
    a_stream: int = 2
    requests: list[httpx.Request] = field(default_factory=list)
    published: dict[str, int] = field(default_factory=dict)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.lose:
            self.lose -= 1
            raise httpx.ConnectError("refused")
        path = request.url.path
        if path == "/v1/operators":
            return httpx.Response(200, json={"items": [{"name": "mob_pattern", "calls": 3}]})
        if path == "/v1/events":
            return self._publish(request)
        if path == "/v1/subscriptions":
            return self._subscribe(json.loads(request.content))
        if path.endswith("/stream"):
            first = int(request.headers.get("last-event-id", 0)) + 1
            # One that was read already comes again: at least once is what a service promises.
            numbers = range(max(1, first - 1), first + self.a_stream)
            text = "".join(f"id: {n}\ndata: {json.dumps(notification(n))}\n\n" for n in numbers)
            return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Cut(": hello\n\n" + text))
        if path.endswith("/notifications"):
            return httpx.Response(200, json={"notifications": [notification(1)], "cursor": "1"})
        if path.endswith("/replay"):
            return httpx.Response(200, json={"cursor": "7", "asked": json.loads(request.content)})
        if path.endswith("/renew"):
            return httpx.Response(200, json={"expires": "2026-02-01T10:00:00+00:00"})
        if path.endswith("/rotate-secret"):
            return httpx.Response(200, json={"delivery": {"secret": json.loads(request.content)["secret"]}})
        if request.method == "DELETE":
            return httpx.Response(204)
        return _problem(404, "there is no such subscription")

    def _publish(self, request: httpx.Request) -> httpx.Response:
        key = request.headers["idempotency-key"]
        repeated = key in self.published
        self.published.setdefault(key, len(request.content.splitlines()))
        told = {"accepted": self.published[key], "refused": [], "repeated": repeated, "ids": ["evt_1", None]}
        if b"colour" in request.content:
            told |= {"ignored": {"colour": 1}, "ignored_count": 1}
        return httpx.Response(202, json=told)

    def _subscribe(self, form: dict[str, Any]) -> httpx.Response:
        if "prce" in form["filter"]:
            return _problem(422, "there is no attribute prce", errors=[{"message": "did you mean price?"}])
        about = {"id": "sub_1", "ticket": "tkt_1", "filter": form["filter"], "expires": "2026-01-02T10:00:00+00:00"}
        return httpx.Response(201, json=about | {"asked": form})


def _problem(status: int, detail: str, **more: object) -> httpx.Response:
    headers = {"content-type": "application/problem+json"}
    return httpx.Response(status, headers=headers, content=json.dumps({"detail": detail, "status": status, **more}))
