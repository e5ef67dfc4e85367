"""Subscribing, and what one can do with a subscription."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from tamis.service.base.configuration import DeliverySettings, LimitSettings, Settings
from tamis.service.delivery.matched import OpenedEvent
from tamis.service.http.deliveries import KafkaForm, stored_delivery
from tamis.service.intake.problems import Problem
from tests.service.http.server import CHEAP, Server


def test_a_subscription_comes_with_a_ticket_and_is_valid_until_it_is_cancelled(server: Server) -> None:
    made = server.subscribe("price < 5 AND price < 10", label="cheap")
    assert made["ticket"].startswith("tkt_")
    assert made["canonical"] == "price < 5"
    assert (made["state"], made["kind"], made["label"], made["filter"]) == (
        "active",
        "filter",
        "cheap",
        "price < 5 AND price < 10",
    )
    assert (made["validity"], made["expiring"], "expires" in made) == ("forever", False, False)
    (change,) = server.service.store.subscriptions.changes(0)
    assert change.filter == "price < 5"


def test_a_filter_is_not_read_again_for_the_first_notification(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    made = server.subscribe("quantity > 1 AND price < 10 AND price < 20")
    changed = server.subscribe("price < 3")
    server.client.patch(
        f"/v1/subscriptions/{changed['id']}", json={"filter": "price < 6"}, headers={"Tamis-Ticket": changed["ticket"]}
    )
    monkeypatch.setattr("tamis.service.delivery.matched.parse", lambda *_: pytest.fail("it is read again"))
    event = OpenedEvent(1, "evt", datetime.now(UTC), '{"price": 5, "quantity": 2}')
    found = [server.service.store.subscriptions.get(one["id"]) for one in (made, changed)]
    told = [server.service.delivery.matched.conditions(one, event) for one in found if one is not None]
    assert [[one["condition"] for one in conditions] for conditions in told] == [
        ["price < 10", "quantity >= 2"],
        ["price < 6"],
    ]


@pytest.mark.parametrize(
    ("validity", "expected"),
    [
        ({"validity": "P7D"}, timedelta(days=7)),
        ({"validity": "PT90M"}, timedelta(minutes=90)),
        ({"validity": "P1DT12H"}, timedelta(hours=36)),
        ({"validity": "P2W"}, timedelta(weeks=2)),
        ({"validity": 3600}, timedelta(hours=1)),
    ],
)
def test_validity_is_a_duration_or_seconds(server: Server, validity: dict[str, Any], expected: timedelta) -> None:
    made = server.subscribe(**validity)
    given = datetime.fromisoformat(made["expires"]) - datetime.fromisoformat(made["created"])
    assert abs(given - expected) < timedelta(seconds=5)


def test_json_that_is_not_said_to_be_json_is_refused_with_the_remedy(server: Server) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}  # what curl says unless told
    answer = server.client.post("/v1/subscriptions", content=b'{"filter": "price < 5"}', headers=headers)
    assert answer.status_code == 415
    assert answer.json()["detail"] == "this takes JSON: send it with Content-Type: application/json"


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/v1/nothing", 404), ("PUT", "/v1/events", 405)])
def test_a_request_that_nothing_serves_is_told_where_all_is_described(
    server: Server, method: str, path: str, status: int
) -> None:
    answer = server.client.request(method, path)
    assert answer.status_code == status
    assert "/openapi.json" in answer.json()["detail"]


def test_validity_may_be_a_moment(server: Server) -> None:
    moment = (datetime.now(UTC) + timedelta(hours=3)).replace(microsecond=0)
    assert datetime.fromisoformat(server.subscribe(expires=moment.isoformat())["expires"]) == moment


@pytest.mark.parametrize(
    "validity",
    [
        {"validity": 0},
        {"validity": -5},
        {"validity": "P"},
        {"validity": "PT"},
        {"validity": "P1M"},
        {"validity": "P99999D"},
        {"validity": True},
        {"validity": 1e300},
        {"validity": 10**30},
        {"validity": "P1D", "expires": "2030-01-01T00:00:00Z"},
        {"expires": "2001-01-01T00:00:00Z"},
        {"expires": "9999-12-31T23:59:59Z"},
        {"expires": "2030-01-01T00:00:00"},
        {"expires": "tomorrow"},
    ],
)
def test_a_validity_that_cannot_be_is_refused(server: Server, validity: dict[str, Any]) -> None:
    answer = server.client.post("/v1/subscriptions", json={"filter": "price < 10", **validity})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("form", "field", "message"),
    [
        ({"validity": 0}, "validity", "a duration is written P7D, PT90M or P1DT12H, or as whole seconds, 1 or more"),
        ({"validity": "1 day"}, "validity", "a duration is written P7D"),
        ({"validity": 10**12}, "validity", "at most 10,000,000,000 seconds"),
        ({"validity": "P700000D"}, "validity", "at most 36,500 days from now"),
        ({"validity": f"P{'9' * 30}W"}, "validity", "at most 36,500 days from now"),
        ({"validity": "P1D", "expires": "2030-01-01T00:00:00Z"}, "body", "give validity or expires, not both"),
        ({"delivery": {"mode": "webhook"}}, "delivery.url", "this is needed, and not there"),
        ({"delivery": {"mode": "webhook", "url": "x"}}, "delivery.url", "this does not have the form ^https?://"),
        ({"delivery": {"mode": "mail"}}, "delivery", "'mail' is none of 'pull', 'webhook', 'kafka'"),
        ({"delivery": {"url": "x"}}, "delivery", "this needs 'mode'"),
        ({"label": 5}, "label", "this should be a valid string"),
        ({"filters": []}, "filters", "there is no such field here"),
    ],
)
def test_a_form_is_refused_in_plain_words(server_once: Server, form: dict[str, Any], field: str, message: str) -> None:
    answer = server_once.client.post("/v1/subscriptions", json={"filter": "price < 10", **form})
    (fault,) = answer.json()["errors"]
    assert (answer.status_code, fault["field"]) == (422, field)
    assert fault["message"].startswith(message)


def test_a_bad_filter_is_refused_with_its_place(server: Server) -> None:
    answer = server.client.post("/v1/subscriptions", json={"filter": "price < 10 AND prise > 1"})
    problem = answer.json()
    assert answer.status_code == problem["status"] == 422
    assert problem["type"] == "urn:tamis:problem:filter"
    (fault,) = problem["errors"]
    assert (fault["start"], fault["end"], fault["field"]) == (15, 20, "filter")
    assert "did you mean price" in fault["message"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT * FROM lots", 0),
        ("  with a as (select 1) select 2", 2),
    ],
)
def test_without_tables_there_is_nothing_to_join(server: Server, text: str, place: int) -> None:
    problem = server.client.post("/v1/subscriptions", json={"filter": text}).json()
    assert problem["type"] == "urn:tamis:problem:filter"
    assert "no tables" in problem["detail"]
    assert problem["errors"][0]["start"] == place


def test_a_kind_that_the_text_is_not_of_is_refused(server: Server) -> None:
    answer = server.client.post("/v1/subscriptions", json={"filter": "price < 10", "kind": "join"})
    assert answer.status_code == 422
    assert "kind filter" in answer.json()["detail"]


@pytest.mark.parametrize(
    "filter",
    [
        "",
        "x" * 20_001,
        "price < '\x00'",
        " OR ".join(f"price = {n}" for n in range(3_000)),
        "(" * 100 + "TRUE" + ")" * 100,
    ],
)
def test_filters_have_limits(server: Server, filter: str) -> None:
    assert server.client.post("/v1/subscriptions", json={"filter": filter}).status_code == 422


def test_a_key_has_only_so_many_subscriptions(start: Callable[..., Server]) -> None:
    server = start(Settings(limits=LimitSettings(subscriptions_per_key=2)))
    mine = server.key("subscribe")
    first = server.subscribe(headers=mine)
    server.subscribe(headers=mine)
    refused = server.client.post("/v1/subscriptions", json={"filter": "price < 1"}, headers=mine)
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:tamis:problem:limit")
    assert server.subscribe(headers=server.key("subscribe"))
    server.client.delete(f"/v1/subscriptions/{first['id']}", headers={"Tamis-Ticket": first["ticket"]})
    assert server.subscribe(headers=mine)


@pytest.mark.parametrize("whose", ["owner", "administrator", "ticket"])
def test_owners_and_administrators_renew_and_cancel_without_the_ticket_and_anyone_with_it(
    server: Server, whose: str
) -> None:
    mine = server.key("subscribe")
    made = server.subscribe(headers=mine)
    path = f"/v1/subscriptions/{made['id']}"
    ways = {"owner": mine, "administrator": server.key("administer"), "ticket": {"Tamis-Ticket": made["ticket"]}}
    headers = ways[whose]
    renewed = server.client.post(f"{path}/renew", json={"validity": "P3D"}, headers=headers)
    assert renewed.status_code == 200
    assert renewed.json()["expires"] > made["created"]
    assert server.client.delete(path, headers=headers).status_code == 204
    assert server.client.get(path, headers=mine).json()["state"] == "cancelled"
    assert server.client.delete(path, headers=headers).status_code == 204
    assert server.client.post(f"{path}/renew", headers=headers).status_code == 409
    assert server.client.patch(path, json={"label": "x"}, headers=headers).status_code == 409


def test_an_imported_subscription_without_a_ticket_is_cancelled_by_an_administrator(server: Server) -> None:
    rows = pa.table({"id": ["rule"], "filter": ["price < 5"]})
    subscriptions = server.service.store.subscriptions
    subscriptions.import_table(rows, "", datetime.now(UTC) + timedelta(days=1), {"mode": "pull"})
    (found,) = subscriptions.list(None)
    path, boss = f"/v1/subscriptions/{found.id}", server.key("administer")
    assert server.client.delete(path, headers=server.key("subscribe")).status_code == 404
    assert server.client.delete(path, headers=boss).status_code == 204
    assert server.client.get(path, headers=boss).json()["state"] == "cancelled"


def test_an_expired_subscription_comes_back_when_it_is_renewed(server: Server) -> None:
    made = server.subscribe(validity="P1D")
    ticket = {"Tamis-Ticket": made["ticket"]}
    server.service.store.subscriptions.expire(datetime.now(UTC) + timedelta(days=2))
    assert server.client.get(f"/v1/subscriptions/{made['id']}", headers=ticket).json()["state"] == "expired"
    renewed = server.client.post(f"/v1/subscriptions/{made['id']}/renew", headers=ticket)
    assert renewed.json()["state"] == "active"


def test_its_owner_sees_why_it_is_suspended_and_resumes_it(server: Server) -> None:
    mine = server.key("subscribe")
    made = server.subscribe(headers=mine)
    path = f"/v1/subscriptions/{made['id']}"
    assert "reason" not in made
    store = server.service.store.subscriptions
    found = store.get(made["id"])
    assert found is not None
    store.suspend({found.number: "its conditions took 9.0 s"})
    shown = server.client.get(path, headers=mine).json()
    assert (shown["state"], shown["reason"]) == ("suspended", "its conditions took 9.0 s")
    listed = server.client.get("/v1/subscriptions?state=suspended", headers=mine).json()
    assert (listed["items"], listed["total"]) == ([shown], 1)
    polled = server.client.get(f"{path}/notifications", headers=mine).json()
    assert (polled["state"], polled["notifications"]) == ("suspended", [])
    resumed = server.client.patch(path, json={"state": "active"}, headers=mine).json()
    assert resumed["state"] == "active"
    assert "reason" not in resumed


def test_a_change_touches_only_what_it_names(server: Server) -> None:
    mine = server.key("subscribe")
    made = server.subscribe(headers=mine, label="old")
    path = f"/v1/subscriptions/{made['id']}"
    assert server.client.patch(path, json={"state": "paused"}, headers=mine).json()["state"] == "paused"
    changed = server.client.patch(path, json={"filter": "price > 7"}, headers=mine).json()
    assert (changed["filter"], changed["label"], changed["state"]) == ("price > 7", "old", "paused")
    assert server.client.patch(path, json={"filter": "prise"}, headers=mine).status_code == 422
    assert server.client.patch(path, json={"state": "cancelled"}, headers=mine).status_code == 422
    assert server.client.get(path, headers=mine).json()["filter"] == "price > 7"


def test_the_list_is_the_keys_own_and_the_administrators_is_everybodys(server: Server) -> None:
    one, other, administrator = server.key("subscribe"), server.key("subscribe"), server.key("administer")
    ours = [server.subscribe(f"price < {n}", headers=one)["id"] for n in range(1, 4)]
    theirs = server.subscribe("title = 'desk'", headers=other)["id"]
    anonymous = server.subscribe()["id"]

    def listed(headers: dict[str, str], **query: Any) -> list[str]:
        answer = server.client.get("/v1/subscriptions", headers=headers, params=query).json()
        return [each["id"] for each in answer["items"]]

    assert listed(one) == ours
    assert listed(other) == [theirs]
    assert listed(administrator) == [*ours, theirs, anonymous]
    assert listed(administrator, search="desk") == [theirs]
    assert listed(one, search="desk") == []
    page = server.client.get("/v1/subscriptions", headers=one, params={"limit": 2}).json()
    assert ([each["id"] for each in page["items"]], page["total"]) == (ours[:2], 3)
    assert listed(one, limit=2, after=page["next"]) == ours[2:]
    assert server.client.get("/v1/subscriptions").status_code == 401


def test_a_webhooks_secret_is_shown_once(server: Server) -> None:
    delivery = {"mode": "webhook", "url": "http://127.0.0.1:9/hook", "headers": {"X-Team": "a"}}
    mine = server.key("subscribe")
    made = server.subscribe(headers=mine, delivery=delivery)
    secret = made["delivery"]["secret"]
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    path = f"/v1/subscriptions/{made['id']}"
    shown = server.client.get(path, headers=mine)
    assert shown.json()["delivery"] == {**delivery, "format": "tamis"}
    assert secret not in server.client.get("/v1/subscriptions", headers=mine).text
    assert "whsec" not in server.client.patch(path, json={"label": "x"}, headers=mine).text
    another = server.client.patch(path, json={"delivery": delivery}, headers=mine).json()["delivery"]["secret"]
    assert another != secret


@pytest.mark.parametrize(
    "delivery",
    [
        {"mode": "webhook", "url": "ftp://example.org/"},
        {"mode": "webhook", "url": "http://127.0.0.1/"},
        {"mode": "webhook", "url": "http://169.254.169.254/latest/meta-data"},
        {"mode": "webhook", "url": "http://[::1]/"},
        {"mode": "webhook", "url": "http://localhost:8080/"},
        {"mode": "webhook", "url": "https://user:secret@example.org/"},
        {"mode": "webhook", "url": "https://example.org/\r\nX: y"},
        {"mode": "webhook", "url": "https://example.org/", "headers": {"Host": "internal"}},
        {"mode": "webhook", "url": "https://example.org/", "headers": {"Webhook-Signature": "v1,x"}},
        {"mode": "webhook", "url": "https://example.org/", "headers": {"X-A": "b\r\nHost: c"}},
        {"mode": "webhook", "url": "https://example.org/", "headers": {f"X-{n}": "a" for n in range(21)}},
        {"mode": "webhook"},
        {"mode": "kafka", "topic": "matches"},
        {"mode": "carrier pigeon"},
        {"mode": "pull", "url": "https://example.org/"},
    ],
)
def test_a_delivery_that_may_not_be_is_refused(start: Callable[..., Server], delivery: dict[str, Any]) -> None:
    answer = start(Settings()).client.post("/v1/subscriptions", json={"filter": "TRUE", "delivery": delivery})
    assert answer.status_code == 422


def test_the_topics_of_the_log_are_not_for_notifications() -> None:
    settings = Settings(log_url="kafka://broker:9092/events?tls=true", delivery=DeliverySettings(kafka="broker:9092"))

    def stored(topic: str) -> dict[str, Any]:
        return asyncio.run(stored_delivery(KafkaForm(mode="kafka", topic=topic), settings))

    assert stored("told") == {"mode": "kafka", "topic": "told"}
    for topic in ("events", "events.keys", "__consumer_offsets", ".."):
        with pytest.raises(Problem, match="not for notifications"):
            stored(topic)


def test_a_subscription_is_tested_against_an_event(server: Server) -> None:
    made = server.subscribe("price < 10 AND title LIKE '%desk%'")
    ticket = {"Tamis-Ticket": made["ticket"]}

    def tested(event: Any) -> Any:
        return server.client.post(f"/v1/subscriptions/{made['id']}/test", json={"event": event}, headers=ticket)

    assert tested(CHEAP).json()["matched"] is True
    dear = tested({**CHEAP, "price": 50}).json()
    assert dear["matched"] is False
    assert dear["first_failure"]["condition"] == "price < 10"
    assert tested({"event_type": ["nothing"]}).status_code == 422
    assert tested("price").status_code == 422
    assert server.service.log.size()[0] == 0


def test_activity_counts_matches_over_time(server: Server) -> None:
    made = server.subscribe()
    found = server.service.store.subscriptions.get(made["id"])
    assert found is not None
    now = datetime.now(UTC)
    events = pa.table(
        {
            "position": [1 << 24, (1 << 24) + 1],
            "id": ["a", "b"],
            "time": pa.array([now, now], pa.timestamp("us", "UTC")),
            "body": ["{}", "{}"],
        }
    )
    pairs = pa.table({"position": [1 << 24, (1 << 24) + 1], "subscription": [found.number] * 2})
    assert server.service.store.notifications.record("s", 1, events, pairs)
    ticket = {"Tamis-Ticket": made["ticket"]}
    shown = server.client.get(f"/v1/subscriptions/{made['id']}/activity?seconds=3600", headers=ticket).json()
    assert shown["total"] == sum(count for _, count in shown["counts"]) == 2
