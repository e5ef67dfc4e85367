"""Filters before they are subscribed to, and backtests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tamis.service.base.configuration import Settings
from tests.service.http.server import CHEAP, Server


def test_a_checked_filter_comes_back_in_canonical_form(server_once: Server) -> None:
    answer = server_once.client.post("/v1/filters/check", json={"filter": "NOT price > 10 OR FALSE"})
    assert answer.json() == {"canonical": "price <= 10", "kind": "filter"}


def test_cloudevents_attributes_can_be_named(server_once: Server) -> None:
    answer = server_once.client.post("/v1/filters/check", json={"filter": "ce.source LIKE '/auctions/%'"})
    assert answer.status_code == 200


def test_an_explanation_says_which_condition_failed(server_once: Server) -> None:
    event = {"event_type": "lots", "opened": "2024-05-01T10:00:00Z", "price": 3}
    filter = "price > 2 AND opened < TIMESTAMP '2024-01-01 00:00:00' OR title = 'desk'"
    answer = server_once.client.post("/v1/filters/explain", json={"filter": filter, "event": event}).json()
    assert answer["matched"] is False
    verdicts = {v["condition"]: (v["state"], v["values"]) for each in answer["alternatives"] for v in each}
    assert verdicts["price > 2"] == ("held", {"price": [3.0]})
    assert verdicts["title = 'desk'"] == ("absent", {"title": []})
    (moment,) = [seen for condition, (_, seen) in verdicts.items() if condition.startswith("opened")]
    assert moment == {"opened": ["2024-05-01T10:00:00Z"]}


def test_an_event_that_would_be_refused_is_not_explained(server_once: Server) -> None:
    form = {"filter": "price > 2", "event": {"event_type": "antiques", "price": "much"}}
    answer = server_once.client.post("/v1/filters/explain", json=form)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:tamis:problem:event")


def test_a_filter_is_tried_on_what_was_published_last(start: Callable[..., Server]) -> None:
    server = start(Settings(unknown_attributes="ignore"))
    empty = server.client.post("/v1/filters/try", json={"filter": "price < 3"}).json()
    assert (empty["examined"], empty["matched"], empty["events"]) == (0, 0, [])
    server.publish([{**CHEAP, "price": float(n), "odd": n} for n in range(200)])
    tried = server.client.post("/v1/filters/try", json={"filter": "price < 60"}).json()
    assert (tried["examined"], tried["matched"], len(tried["events"])) == (200, 60, 50)
    assert [each["event"]["price"] for each in tried["events"][:2]] == [59.0, 58.0]
    assert tried["events"][0]["event"]["odd"] == 59
    assert len(tried["misses"]) == 50
    assert [each["event"]["price"] for each in tried["misses"][:2]] == [199.0, 198.0]
    long = " OR ".join(f"price = {n}" for n in range(60))
    assert len(long) > 500
    again = server.client.post("/v1/filters/try", json={"filter": long}).json()
    assert {**tried, "canonical": ""} == {**again, "canonical": ""}


def test_a_backtest_waits_for_the_pipeline_and_shows_its_result(server: Server) -> None:
    form = {"filter": "price<5", "since": "2024-01-01T00:00:00+02:00", "window_seconds": 60}
    made = server.client.post("/v1/backtests", json=form)
    assert (made.status_code, made.json()["state"]) == (202, "waiting")
    backtests = server.service.store.backtests
    job = backtests.claim()
    assert job is not None
    assert job.request["filter"] == "price < 5"
    assert job.request["since"] == "2024-01-01T00:00:00+02:00"
    backtests.progress(job.id, 5, 10)

    def shown() -> Any:
        return server.client.get(f"/v1/backtests/{made.json()['id']}").json()

    assert (shown()["state"], shown()["done"], shown()["total"]) == ("running", 5, 10)
    backtests.finish(job.id, {"events": 10, "total": 1})
    assert (shown()["state"], shown()["result"]["total"], shown()["filter"]) == ("done", 1, "price<5")


def test_backtests_do_not_pile_up(server: Server) -> None:
    key = server.key("subscribe")
    statuses = [
        server.client.post("/v1/backtests", json={"filter": "TRUE"}, headers=key).status_code for _ in range(11)
    ]
    assert statuses == [202] * 10 + [429]
    assert server.client.post("/v1/backtests", json={"filter": "prise"}).status_code == 422


def test_a_canonical_form_that_outgrows_the_limits_is_not_taken(server_once: Server) -> None:
    either = " OR ".join(f"quantity = {n} AND price = {n}" for n in range(100))
    text = f"({either}) AND title = '{'x' * 10_000}'"
    answer = server_once.client.post("/v1/filters/check", json={"filter": text})
    assert answer.json()["canonical"] == text
    made = server_once.subscribe(text)
    path = f"/v1/subscriptions/{made['id']}/test"
    tested = server_once.client.post(path, json={"event": CHEAP}, headers={"Tamis-Ticket": made["ticket"]})
    assert tested.json()["matched"] is False


LONG_PIECES = " OR ".join("title LIKE '%" + "a_" * (430 + i) + "b_%'" for i in range(20))


@pytest.mark.parametrize(
    ("filter", "reason"),
    [
        ("title LIKE '%" + "_%" * 260 + "a'", "wildcards inside it and at most 500 are taken"),
        (LONG_PIECES, "wildcards inside its LIKE patterns, and at most 2,000 are taken"),
        ("title RLIKE 'a.{900}b'", "must stay small"),
    ],
)
def test_patterns_that_cost_too_much_on_long_values_are_refused(server_once: Server, filter: str, reason: str) -> None:
    answer = server_once.client.post("/v1/filters/check", json={"filter": filter})
    assert answer.status_code == 422
    assert reason in answer.json()["detail"]
