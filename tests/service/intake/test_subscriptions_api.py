"""CloudEvents' own Subscriptions API, over a whole server without Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import orjson
import pytest

from tamis.service.base.configuration import AccessSettings, DeliverySettings, LimitSettings, Settings
from tests.service.http.server import Server

PATH = "/cloudevents/v1/subscriptions"
SINK = "https://example.org/hook"
SOLD: dict[str, Any] = {"sink": SINK, "protocol": "HTTP", "filters": [{"exact": {"type": "com.shop.sold"}}]}


def make(server: Server, headers: dict[str, str] | None = None, **more: Any) -> httpx.Response:
    answer = server.client.post(PATH, json={**SOLD, **more}, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer


def ticket(made: httpx.Response) -> dict[str, str]:
    return {"Tamis-Ticket": made.headers["tamis-ticket"]}


def place(made: httpx.Response) -> str:
    return str(made.headers["location"])


def problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["status"] == status
    return found


def test_a_subscription_is_made_with_defaults_filled_in(server: Server) -> None:
    made = make(server, id="mine")
    body = made.json()
    assert place(made) == f"{PATH}/{body['id']}"
    assert body["id"].startswith("sub_")
    assert body["filters"] == SOLD["filters"]
    assert (body["sink"], body["protocol"]) == (SINK, "HTTP")
    assert body["protocolsettings"] == {"method": "POST", "headers": {}}
    assert body["config"]["state"] == "active"
    assert made.headers["tamis-ticket"].startswith("tkt_")
    assert made.headers["tamis-webhook-secret"].startswith("whsec_")


def test_the_store_has_what_the_index_and_delivery_need(server: Server) -> None:
    made = make(server, source="/shop/3", types=["com.shop.sold", "com.shop.bought"], config={"label": "shop"})
    found = server.service.store.subscriptions.get(made.json()["id"])
    assert found is not None
    assert (found.dialect, found.kind, found.label) == ("cloudevents", "filter", "shop")
    assert found.filter == "ce.source = '/shop/3' AND ce.type = 'com.shop.sold'"
    assert found.residual is None
    assert found.delivery["mode"] == "webhook"
    assert (found.delivery["url"], found.delivery["format"]) == (SINK, "cloudevents")
    assert found.delivery["secret"] == made.headers["tamis-webhook-secret"]
    shown = server.client.get(place(made), headers=ticket(made)).json()
    assert shown["source"] == "/shop/3"
    assert shown["types"] == ["com.shop.sold", "com.shop.bought"]
    assert shown["filters"] == SOLD["filters"]


def test_what_the_index_cannot_hold_is_kept_as_a_residual(server: Server) -> None:
    filters = [{"exact": {"type": "a"}}, {"sql": "hops > 3"}]
    made = make(server, filters=filters)
    found = server.service.store.subscriptions.get(made.json()["id"])
    assert found is not None
    assert found.filter == "ce.type = 'a'"
    assert found.residual is not None
    assert orjson.loads(found.residual) == filters


def test_a_credential_is_sent_and_never_shown(server: Server) -> None:
    plain = {"credentialtype": "PLAIN", "identifier": "me", "secret": "hush"}
    made = make(server, sinkcredential=plain, protocolsettings={"headers": {"X-Team": "a"}})
    found = server.service.store.subscriptions.get(made.json()["id"])
    assert found is not None
    assert found.delivery["headers"] == {"X-Team": "a", "Authorization": "Basic bWU6aHVzaA=="}
    assert made.json()["protocolsettings"]["headers"] == {"X-Team": "a"}
    assert "bWU6aHVzaA" not in made.text
    token = make(server, sinkcredential={"credentialtype": "ACCESSTOKEN", "accesstoken": "abc"})
    kept = server.service.store.subscriptions.get(token.json()["id"])
    assert kept is not None
    assert kept.delivery["headers"] == {"Authorization": "Bearer abc"}
    both = make(server, sinkcredential=plain, protocolsettings={"headers": {"X-Api-Key": "k", "authorization": "x"}})
    sent = server.service.store.subscriptions.get(both.json()["id"])
    assert sent is not None
    assert sent.delivery["headers"] == {"X-Api-Key": "k", "Authorization": "Basic bWU6aHVzaA=="}


@pytest.mark.parametrize("name", ["authorization", "AUTHORIZATION", "X-API-Key", "Cookie", "X-Auth-Token", "Api-Key"])
def test_nor_is_one_that_was_given_as_a_header(server: Server, name: str) -> None:
    made = make(server, protocolsettings={"headers": {name: "hush", "X-Team": "a"}})
    assert made.json()["protocolsettings"]["headers"] == {"X-Team": "a"}
    headers = {"Tamis-Ticket": made.headers["Tamis-Ticket"]}
    path = f"/cloudevents/v1/subscriptions/{made.json()['id']}"
    assert "hush" not in server.client.get(path, headers=headers).text
    changed = server.client.put(path, json=made.json() | {"config": {}}, headers=headers)
    assert changed.status_code == 200, changed.text
    found = server.service.store.subscriptions.get(made.json()["id"])
    assert found is not None
    assert found.delivery["headers"] == {name: "hush", "X-Team": "a"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"filters": [{"exakt": {"type": "x"}}]}, "filters[0]"),
        ({"filters": [{"all": [{"sql": "type ="}]}]}, "filters[0].all[0].sql"),
        ({"filters": [{"exact": {"type": "\x00"}}]}, "filters[0].exact.type"),
        ({"filters": "x"}, "filters"),
        ({"filters": ["x"]}, "filters.0"),
        ({"protocol": "MQTT5"}, "protocol"),
        ({"protocol": None}, "protocol"),
        ({"sink": None}, "sink"),
        ({"sink": "ftp://example.org"}, "sink"),
        ({"sink": "https://10.0.0.1/hook"}, "sink"),
        ({"sink": "https://user@example.org/ hook"}, "sink"),
        ({"source": ""}, "source"),
        ({"types": [""]}, "types.0"),
        ({"types": ["a\x00"]}, "types.0"),
        ({"protocolsettings": {"method": "GET"}}, "protocolsettings.method"),
        ({"protocolsettings": {"headers": {"Host": "x"}}}, "protocolsettings.headers"),
        ({"protocolsettings": {"headers": {"X-A": "caf\u00e9"}}}, "protocolsettings.headers.X-A"),
        ({"sinkcredential": {"credentialtype": "REFRESHTOKEN"}}, "sinkcredential.credentialtype"),
        ({"sinkcredential": {"credentialtype": "PLAIN"}}, "sinkcredential"),
        ({"config": {"validity": "P99999D"}}, "config.validity"),
        ({"config": {"state": "paused"}}, "config.state"),
        ({"config": {"colour": "red"}}, "config.colour"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_cannot_be_is_refused_with_its_field(
    start: Callable[..., Server], change: dict[str, Any], field: str
) -> None:
    server = start(Settings(delivery=DeliverySettings(allow_private=False)))
    form = {name: value for name, value in {**SOLD, **change}.items() if value is not None}
    found = problem(server.client.post(PATH, json=form), 422)
    assert found["errors"][0]["field"] == field


def test_a_fault_in_an_expression_has_its_place(server: Server) -> None:
    text = "type = 'a' OR OR id = 'b'"
    found = problem(server.client.post(PATH, json={**SOLD, "filters": [{"sql": text}]}), 422)
    [fault] = found["errors"]
    assert text[fault["start"] : fault["end"]] == "OR"
    assert fault["start"] == 14


@pytest.mark.parametrize("body", [b"{", b"\xff", b'{"sink": NaN}', b'{"sink": "\\ud800"}'])
def test_a_body_that_is_no_json_is_refused(server: Server, body: bytes) -> None:
    problem(server.client.post(PATH, content=body, headers={"content-type": "application/json"}), 400)


def test_what_is_anothers_is_answered_like_what_is_not_there(server: Server) -> None:
    mine, others = server.key("subscribe"), server.key("subscribe")
    made = make(server, mine)
    missing = problem(server.client.get(f"{PATH}/sub_nothing", headers=others), 404)
    for headers in (others, {}, {"Tamis-Ticket": "tkt_wrong"}):
        assert problem(server.client.get(place(made), headers=headers), 404) == missing
        assert problem(server.client.put(place(made), headers=headers, json=SOLD), 404) == missing
        assert problem(server.client.delete(place(made), headers=headers), 404) == missing
    assert server.client.get(place(made), headers=mine).json() == made.json()
    assert server.client.get(place(made), headers=ticket(made)).json() == made.json()
    assert server.client.get(place(made), headers=server.key("administer")).json() == made.json()


def test_a_subscription_of_our_own_dialect_is_none_of_this_api(server: Server) -> None:
    made = server.subscribe()
    headers = {"Tamis-Ticket": made["ticket"]}
    problem(server.client.get(f"{PATH}/{made['id']}", headers=headers), 404)
    problem(server.client.put(f"{PATH}/{made['id']}", headers=headers, json=SOLD), 404)
    problem(server.client.delete(f"{PATH}/{made['id']}", headers=headers), 404)


def test_both_apis_know_the_same_subscription(server: Server) -> None:
    made = make(server)
    found = server.client.get(f"/v1/subscriptions/{made.json()['id']}", headers=ticket(made)).json()
    assert found["dialect"] == "cloudevents"
    assert orjson.loads(found["filter"]) == SOLD["filters"]
    assert found["delivery"] == {"mode": "webhook", "url": SINK, "headers": {}, "format": "cloudevents"}


def test_keys_are_needed_where_the_server_says_so(start: Callable[..., Server]) -> None:
    server = start(Settings(access=AccessSettings(subscribe="keys")))
    problem(server.client.post(PATH, json=SOLD), 401)
    problem(server.client.post(PATH, json=SOLD, headers=server.key("publish")), 403)
    make(server, server.key("subscribe"))


def test_the_number_of_subscriptions_is_limited(start: Callable[..., Server]) -> None:
    server = start(Settings(limits=replace(LimitSettings(), subscriptions_per_key=1)))
    key = server.key("subscribe")
    make(server, key)
    assert problem(server.client.post(PATH, json=SOLD, headers=key), 403)["type"] == "urn:tamis:problem:limit"


@pytest.mark.parametrize("with_ticket", [True, False])
def test_deleting_ends_it_by_the_ticket_or_the_owners_key(server: Server, with_ticket: bool) -> None:
    key = server.key("subscribe")
    made = make(server, key)
    gone = server.client.delete(place(made), headers=ticket(made) if with_ticket else key)
    assert gone.status_code == 200
    assert gone.json()["id"] == made.json()["id"]
    problem(server.client.get(place(made), headers=key), 404)
    problem(server.client.delete(place(made), headers=ticket(made)), 404)
    found = server.service.store.subscriptions.get(made.json()["id"])
    assert found is not None
    assert found.state == "cancelled"


def test_an_update_puts_another_in_its_place(server: Server) -> None:
    made = make(server, source="/shop/3", config={"label": "before"})
    form = {"sink": SINK, "protocol": "HTTP", "types": ["a"], "config": {"label": "after", "state": "paused"}}
    answer = server.client.put(place(made), json=form, headers=ticket(made))
    assert answer.status_code == 200, answer.text
    assert "tamis-webhook-secret" not in answer.headers
    body = answer.json()
    assert "source" not in body
    assert (body["types"], body["filters"]) == (["a"], [])
    assert (body["config"]["label"], body["config"]["state"]) == ("after", "paused")
    assert body["config"]["validity"] == made.json()["config"]["validity"] == "forever"
    found = server.service.store.subscriptions.get(body["id"])
    assert found is not None
    assert (found.filter, found.residual, found.state) == ("ce.type = 'a'", None, "paused")
    assert found.delivery["secret"] == made.headers["tamis-webhook-secret"]


def test_what_was_shown_can_be_put_back(server: Server) -> None:
    credential = {"credentialtype": "ACCESSTOKEN", "accesstoken": "abc"}
    key = server.key("subscribe")
    made = make(server, key, source="/a", sinkcredential=credential)
    answer = server.client.put(place(made), json=made.json(), headers=key)
    assert answer.status_code == 200, answer.text
    assert answer.json() == made.json()
    found = server.service.store.subscriptions.get(made.json()["id"])
    assert found is not None
    assert found.delivery["headers"] == {"Authorization": "Bearer abc"}


def test_another_sink_gets_neither_the_secret_nor_the_credential_of_the_one_before(server: Server) -> None:
    made = make(server, sinkcredential={"credentialtype": "ACCESSTOKEN", "accesstoken": "abc"})
    form = {**SOLD, "sink": "https://example.com/other"}
    answer = server.client.put(place(made), json=form, headers=ticket(made))
    assert answer.headers["tamis-webhook-secret"] != made.headers["tamis-webhook-secret"]
    found = server.service.store.subscriptions.get(made.json()["id"])
    assert found is not None
    assert found.delivery["headers"] == {}
    assert found.delivery["secret"] == answer.headers["tamis-webhook-secret"]


@pytest.mark.parametrize("with_ticket", [True, False])
def test_its_owner_or_the_ticket_makes_it_valid_for_longer(server: Server, with_ticket: bool) -> None:
    key = server.key("subscribe")
    made = make(server, key, config={"validity": "P1D"})
    form = {**SOLD, "config": {"validity": "P7D"}}
    answer = server.client.put(place(made), json=form, headers=ticket(made) if with_ticket else key)
    assert answer.status_code == 200
    assert answer.json()["config"]["expires"] > made.json()["config"]["expires"]


def test_an_update_of_another_id_or_to_an_impossible_state_is_refused(server: Server) -> None:
    made = make(server)
    for change, field in (({"id": "sub_other"}, "id"), ({"config": {"state": "cancelled"}}, "config.state")):
        found = problem(server.client.put(place(made), json={**SOLD, **change}, headers=ticket(made)), 422)
        assert found["errors"][0]["field"] == field


def test_a_list_has_the_keys_own_and_follows_links(server: Server) -> None:
    mine, others = server.key("subscribe"), server.key("subscribe")
    made = [make(server, mine).json()["id"] for _ in range(3)]
    make(server, others)
    server.subscribe(headers=mine)
    ended = make(server, mine)
    server.client.delete(place(ended), headers=ticket(ended))
    answer = server.client.get(PATH, params={"limit": 2}, headers=mine)
    assert [one["id"] for one in answer.json()] == made[:2]
    rest = server.client.get(answer.links["next"]["url"], headers=mine)
    assert [one["id"] for one in rest.json()] == made[2:]
    assert "next" not in rest.links
    assert len(server.client.get(PATH, headers=server.key("administer")).json()) == 4
    problem(server.client.get(PATH), 401)


def test_options_say_what_can_be_done(server: Server) -> None:
    assert server.client.options(PATH).headers["allow"] == "GET,POST,OPTIONS"
    assert server.client.options(f"{PATH}/sub_any").headers["allow"] == "GET,PUT,DELETE,OPTIONS"


def test_every_answer_is_declared(server: Server) -> None:
    paths = server.client.get("/openapi.json").json()["paths"]
    assert set(paths[PATH]) == {"get", "post", "options"}
    assert set(paths[f"{PATH}/{{id}}"]) == {"get", "put", "delete", "options"}
    created = paths[PATH]["post"]["responses"]
    assert {"201", "400", "401", "403", "413", "422", "429", "503"} <= set(created)
    assert {"Location", "Tamis-Ticket", "Tamis-Webhook-Secret"} == set(created["201"]["headers"])
    assert "application/problem+json" in created["422"]["content"]


def test_a_published_cloudevent_fits_the_schema_that_subscriptions_are_over(server: Server) -> None:
    event = {"specversion": "1.0", "id": "7", "source": "/shop/3", "type": "antiques", "data": {"price": 5.0}}
    headers = {"content-type": "application/cloudevents+json"}
    answer = server.client.post("/v1/events", content=orjson.dumps(event), headers=headers)
    assert answer.status_code == 202, answer.text
    [row] = server.service.log.recent(1).to_pylist()
    assert row["id"] == "/shop/3 7"
    assert orjson.loads(row["body"])["event_type"] == ["antiques"]
