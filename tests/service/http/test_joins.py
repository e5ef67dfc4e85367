"""Join subscriptions over HTTP: made, checked, tried, explained, followed from their content, cancelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.service.http.server import Server
from tests.service.worker.exchange import FORM, PRAISED, apply, review, stock
from tests.service.worker.test_joining import Exchange

ROW = {"Symbol": "GOOG", "PER": 51.5, "Analyst": "Ann", "Rating": 7.5}


@pytest.fixture
def server(start: Callable[..., Server]) -> Server:
    return start(None, FORM)


@pytest.fixture
def exchange(server: Server) -> Exchange:
    """The pipeline's part, which the tests play."""
    return Exchange(server.service.store)


def _post(server: Server, path: str, **form: Any) -> Any:
    answer = server.client.post(f"/v1/{path}", json=form)
    assert answer.status_code < 300, answer.text
    return answer.json()


def _content(server: Server, made: dict[str, Any]) -> dict[str, Any]:
    ticket = {"Tamis-Ticket": made["ticket"]}
    answer = server.client.get(f"/v1/subscriptions/{made['id']}/content", headers=ticket)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_join_is_made_followed_and_cancelled(server: Server, exchange: Exchange) -> None:
    made = server.subscribe(PRAISED)
    ticket = {"Tamis-Ticket": made["ticket"]}
    assert made["kind"] == "join"
    assert made["canonical"].startswith("SELECT * FROM Stocks JOIN Reviews USING (Symbol)")
    new = _content(server, made)
    assert (new["begun"], new["rows"]) == (False, [])
    exchange.take(stock("GOOG", 51.5), review("GOOG", "Ann", 7.5), review("YHOO", "Ann", 9.0))
    then = _content(server, made)
    assert [one["row"] for one in then["rows"]] == [ROW]
    assert then["join"]["columns"] == ["Symbol", "PER", "Analyst", "Rating"]
    assert [(one["table"], one["rows"]) for one in then["join"]["tables"]] == [("Stocks", 1), ("Reviews", 2)]
    exchange.take(stock("GOOG", 60.0), stock("YHOO", 30.0))
    # Whoever reads the content, and then on from its cursor, holds what the content is now.
    held = {one["id"]: one["row"] for one in then["rows"]}
    path = f"/v1/subscriptions/{made['id']}/notifications?cursor={then['cursor']}"
    for notification in server.client.get(path, headers=ticket).json()["notifications"]:
        assert notification["event"]["event_type"] == ["Stocks"]
        for change in notification["changes"]:
            apply(held, change)
    assert held == {one["id"]: one["row"] for one in _content(server, made)["rows"]}
    assert len(held) == 2
    assert server.client.delete(f"/v1/subscriptions/{made['id']}", headers=ticket).status_code == 204
    exchange.joining.settle()
    assert server.service.store.joins.sizes() == {}
    assert server.client.get(f"/v1/subscriptions/{made['id']}/content", headers=ticket).status_code == 410


def test_a_content_is_its_owners_and_only_joins_have_one(server: Server) -> None:
    made = server.subscribe(PRAISED)
    assert server.client.get(f"/v1/subscriptions/{made['id']}/content").status_code in (401, 404)
    plain = server.subscribe("PER < 10")
    ticket = {"Tamis-Ticket": plain["ticket"]}
    answer = server.client.get(f"/v1/subscriptions/{plain['id']}/content", headers=ticket)
    assert (answer.status_code, answer.headers["content-type"]) == (409, "application/problem+json")
    for text, one in ((PRAISED, plain), ("PER < 10", made)):
        ticket = {"Tamis-Ticket": one["ticket"]}
        changed = server.client.patch(f"/v1/subscriptions/{one['id']}", json={"filter": text}, headers=ticket)
        assert changed.status_code == 409


def test_why_a_join_was_paused_is_said(server: Server) -> None:
    exchange = Exchange(server.service.store, rows=1)
    made = server.subscribe(PRAISED)
    exchange.take(stock("A", 30.0), review("A", "Ann", 9.0), review("A", "Bob", 9.0))
    ticket = {"Tamis-Ticket": made["ticket"]}
    answer = server.client.get(f"/v1/subscriptions/{made['id']}/content", headers=ticket)
    assert answer.status_code == 409
    assert "more than 1 rows" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "SELECT * FROM Stocks JOIN Reviews USING (Symbol) WHERE PER > 90 OR Rating > 9",
            "make a subscription of each",
        ),
        ("SELECT * FROM Stocks JOIN Nothing USING (Symbol)", "Nothing"),
        ("(SELECT * FROM Stocks JOIN Reviews USING (Symbol))", "without WITH or parentheses"),
    ],
)
def test_what_is_wrong_with_a_join_is_said_with_its_place(server: Server, text: str, says: str) -> None:
    for path in ("subscriptions", "filters/check", "filters/try", "backtests"):
        answer = server.client.post(f"/v1/{path}", json={"filter": text})
        assert answer.status_code == 422, answer.text
        assert says in answer.json()["detail"]
        assert answer.json()["errors"][0]["start"] is not None


def test_an_advertisement_is_no_join(server: Server) -> None:
    form = {"event_type": "Stocks", "filter": PRAISED}
    answer = server.client.post("/v1/advertisements", json=form, headers=server.key("publish"))
    assert answer.status_code == 422
    assert "belongs here" in answer.json()["detail"]


def test_a_join_is_checked_tried_and_explained(server: Server, exchange: Exchange) -> None:
    exchange.take(stock("GOOG", 51.5), review("GOOG", "Ann", 7.5), review("GOOG", "Bob", 1.0))
    checked = _post(server, "filters/check", filter=PRAISED)
    assert checked["kind"] == "join"
    assert checked["join"]["on"] == [{"left": "Stocks", "right": "Reviews", "attributes": ["Symbol"]}]
    tried = _post(server, "filters/try", filter=PRAISED)
    assert (tried["examined"], tried["matched"], tried["rows"]) == (3, 1, [ROW])
    explained = _post(server, "filters/explain", filter=PRAISED, event=review("GOOG", "Bob", 8.0))
    assert explained["matched"]
    assert explained["alternatives"][0][0]["condition"] == "Rating >= 5"
    assert explained["join"]["table"] == "Reviews"
    assert explained["join"]["added"] == [ROW | {"Analyst": "Bob", "Rating": 8.0}]
    gone = _post(server, "filters/explain", filter=PRAISED, event=stock("GOOG", 99.0))
    assert not gone["matched"]
    assert gone["join"]["removed"] == [ROW]
    other = _post(server, "filters/explain", filter=PRAISED, event={"event_type": ["News"], "Symbol": "GOOG"})
    assert other["join"]["table"] is None
    made = server.subscribe(PRAISED)
    ticket = {"Tamis-Ticket": made["ticket"]}
    event = {"event": {**stock("GOOG", 0.0, operation="delete")}}
    tested = server.client.post(f"/v1/subscriptions/{made['id']}/test", json=event, headers=ticket).json()
    assert tested["join"]["removed"] == [ROW]


def test_tables_are_served_with_the_schema_and_can_be_added(start: Callable[..., Server]) -> None:
    server = start(None, {**FORM, "tables": {}})
    refused = server.client.post("/v1/subscriptions", json={"filter": PRAISED}).json()
    assert "no tables" in refused["detail"]
    form = {"tables": FORM["tables"]}
    answer = server.client.post("/v1/schema/extensions", json=form, headers=server.key("administer"))
    assert answer.status_code == 201, answer.text
    assert answer.json()["tables"] == ["Stocks", "Reviews", "Trades"]
    server.subscribe(PRAISED)
