"""The content of a join as a client keeps it: by what is told, and anew where something was missed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tamis.client import AsyncClient, Change, Client, Content, LiveTable, Notification

SUBSCRIPTION = {"id": "sub_1", "filter": "SELECT ...", "expires": "2026-01-02T10:00:00Z"}


def told(cursor: int, *changes: Change) -> Notification:
    return Notification(f"ntf_{cursor}", "sub_1", str(cursor), datetime.now(UTC), f"evt_{cursor}", {}, (), {}, changes)


def added(id: str, **row: Any) -> Change:
    return Change("added", id, row)


def removed(id: str, **row: Any) -> Change:
    return Change("removed", id, row)


def test_a_table_follows_what_is_told() -> None:
    table = LiveTable(Content({"a": {"x": 1}}, "5"))
    assert table.take(told(6, removed("a", x=1), added("a", x=2), added("b", x=3)))
    assert (list(table), table.cursor, len(table)) == ([{"x": 2}, {"x": 3}], "6", 2)
    assert table.changes == [removed("a", x=1), added("a", x=2), added("b", x=3)]
    assert table.take(told(7, Change("begins"), added("b", x=3)))
    assert table.rows == {"b": {"x": 3}}
    # What came back as it was has not changed.
    assert table.changes == [removed("a", x=2)]


@pytest.mark.parametrize("missed", [removed("c", x=9), removed("a", x=9), added("a", x=1)])
def test_what_does_not_fit_is_not_applied_at_all(missed: Change) -> None:
    table = LiveTable(Content({"a": {"x": 1}}, "5"))
    assert not table.take(told(6, added("b", x=3), missed))
    assert (table.rows, table.cursor) == ({"a": {"x": 1}}, "5")


def line(cursor: int, *changes: dict[str, Any]) -> str:
    form = {"id": f"ntf_{cursor}", "subscription": "sub_1", "cursor": str(cursor), "time": "2026-01-01T10:00:00Z"}
    whole = httpx.Response(200, json={**form, "event_id": "e", "event": {}, "matched": [], "changes": list(changes)})
    return f"id: {cursor}\ndata: {whole.text}\n\n"


class Service:
    """Answers as a service whose retention has swept some notifications away between two contents."""

    def __init__(self) -> None:
        rows = [[{"id": "a", "row": {"x": 1}}], [{"id": "a", "row": {"x": 4}}, {"id": "c", "row": {"x": 5}}]]
        self.contents = [{"rows": each, "cursor": str(5 * n), "begun": True} for n, each in enumerate(rows, 1)]
        self.streams = {
            "5": line(6, {"change": "added", "id": "b", "row": {"x": 2}})
            + line(9, {"change": "removed", "id": "z", "row": {"x": 0}}),
            "10": line(11, {"change": "removed", "id": "c", "row": {"x": 5}}),
        }

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/content"):
            return httpx.Response(200, json=self.contents.pop(0))
        if request.url.path.endswith("/stream"):
            stream = self.streams[request.headers["last-event-id"]]
            return httpx.Response(200, text=stream, headers={"content-type": "text/event-stream"})
        return httpx.Response(200, json=SUBSCRIPTION)


SEEN = [{"a": {"x": 1}}, {"a": {"x": 1}, "b": {"x": 2}}, {"a": {"x": 4}, "c": {"x": 5}}, {"a": {"x": 4}}]


def test_a_gap_is_noticed_and_the_table_starts_anew() -> None:
    with Client("http://service", transport=httpx.MockTransport(Service())) as client:
        tables = client.subscription("sub_1").table()
        assert [dict(next(tables).rows) for _ in SEEN] == SEEN


async def _first(count: int, make: Callable[[], AsyncClient]) -> list[dict[str, Any]]:
    async with make() as client:
        found = []
        async for table in (await client.subscription("sub_1")).table():
            found.append(dict(table.rows))
            if len(found) == count:
                break
    return found


def test_without_blocking_it_is_the_same() -> None:
    def make() -> AsyncClient:
        return AsyncClient("http://service", transport=httpx.MockTransport(Service()))

    assert asyncio.run(_first(len(SEEN), make)) == SEEN
