"""The schema over HTTP: read by everybody, extended by administrators, followed by other processes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.http.server import AUCTIONS, CHEAP, Server


def test_the_schema_is_shown_with_all_that_filters_may_name(server_once: Server) -> None:
    shown = server_once.client.get("/v1/schema").json()
    assert shown["version"] == 1
    assert shown["schema"] == AUCTIONS
    names = {each["name"]: each for each in shown["attributes"]}
    assert names["opened"]["kind"] == "timestamp"
    assert "ce.source" in names
    assert shown["event_types"] == ["antiques", "lots"]


def test_an_extension_counts_at_once(server: Server) -> None:
    boss = server.key("administer")
    red = {**CHEAP, "colour": "red"}
    assert server.client.post("/v1/filters/check", json={"filter": "colour = 'red'"}).status_code == 422
    form = {"attributes": {"colour": "string"}, "optional": {"antiques": {"colour": "optional"}}}
    extended = server.client.post("/v1/schema/extensions", json=form, headers=boss)
    assert (extended.status_code, extended.json()["version"]) == (201, 2)
    assert extended.json()["schema"]["attributes"]["colour"] == "string"
    assert "ce.id" not in extended.json()["schema"]["attributes"]
    assert server.client.post("/v1/filters/check", json={"filter": "colour = 'red'"}).status_code == 200
    explained = server.client.post("/v1/filters/explain", json={"filter": "colour = 'red'", "event": red})
    assert explained.json()["matched"] is True


@pytest.mark.parametrize(
    "form",
    [
        {"attributes": {"price": "string"}},
        {"optional": {"antiques": {"price": "optional"}}},
        {"optional": {"nothing": {"title": "optional"}}},
        {"optional": {"lots": {"title": "mandatory"}}},
        {"attributes": {"ce.id": "integer"}, "optional": {"lots": {"ce.id": "optional"}}},
        {"attributes": {"tamis.passed_over": "string"}},
        {"attributes": {"tamis.passed_over.colour": "string"}},
        {"domains": {"d": {"type": "nonsense"}}},
        {"attributes": {"a": 17}},
        {"attributes": []},
        {"unknown": {}},
    ],
)
def test_what_is_no_extension_is_refused(server_once: Server, form: Any) -> None:
    boss = server_once.key("administer")
    answer = server_once.client.post("/v1/schema/extensions", json=form, headers=boss)
    assert answer.status_code == 422
    assert server_once.service.schema_version == 1


def test_only_administrators_extend(server_once: Server) -> None:
    form = {"attributes": {"colour": "string"}}
    assert server_once.client.post("/v1/schema/extensions", json=form).status_code == 401
    key = server_once.key("publish", "subscribe")
    assert server_once.client.post("/v1/schema/extensions", json=form, headers=key).status_code == 403


def test_an_extension_by_another_process_is_taken_over(server: Server) -> None:
    assert server.service.followed.refresh() is False
    form = {**AUCTIONS, "attributes": {**AUCTIONS["attributes"], "colour": "string"}}
    server.service.store.schemas.add(form)
    server.service.followed.refresh()  # unless what does so now and then came first
    assert "colour" in server.service.schema.attributes
    assert server.client.get("/v1/schema").json()["version"] == 2


@pytest.mark.parametrize("nothing", [{}, {"attributes": {}, "tables": {}}, {"optional": {"antiques": {}}}])
def test_an_extension_that_adds_nothing_makes_no_version(server_once: Server, nothing: dict[str, Any]) -> None:
    boss = server_once.key("administer")
    answer = server_once.client.post("/v1/schema/extensions", json=nothing, headers=boss)
    assert (answer.status_code, answer.json()["version"]) == (200, 1)
    assert server_once.service.store.schemas.get(2) is None


def test_advertisements_are_public_but_not_who_made_them(server: Server) -> None:
    mine = server.key("publish")
    form = {"event_type": "antiques", "filter": "price<100", "validity": "P1D"}
    made = server.client.post("/v1/advertisements", json=form, headers=mine)
    assert (made.status_code, made.json()["filter"]) == (201, "price < 100")
    (listed,) = server.client.get("/v1/advertisements").json()["items"]
    assert (listed["id"], listed["yours"], listed["event_type"]) == (None, False, "antiques")
    (own,) = server.client.get("/v1/advertisements", headers=mine).json()["items"]
    assert (own["id"], own["yours"]) == (made.json()["id"], True)
    for bad in ({"event_type": "nothing"}, {"event_type": "lots", "filter": "prise"}, {}):
        assert server.client.post("/v1/advertisements", json=bad, headers=mine).status_code == 422
