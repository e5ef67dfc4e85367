"""Filters that call operators: made, checked, explained, tried; and the operators, listed with how they fare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tamis.errors import OperatorError
from tamis.operators.health import Tally
from tamis.service.base.configuration import ConfigurationError, Settings, read_settings
from tamis.service.base.offering import Offering
from tamis.service.serve import require_operators
from tamis.service.worker import Fared
from tests.service.city import ALL, CITY, OPERATORS, shot
from tests.service.http.server import Server

CROWD = "loc_in('Bronx') AND mob_pattern(?people) AND ?people > 3"


@pytest.fixture
def city(start: Callable[..., Server]) -> Server:
    return start(Settings(operators=OPERATORS), CITY)


def _post(server: Server, path: str, **form: Any) -> Any:
    answer = server.client.post(f"/v1/{path}", json=form)
    assert answer.status_code < 300, answer.text
    return answer.json()


def test_a_subscription_that_calls_operators_is_made_and_kept_as_it_was_written(city: Server) -> None:
    made = city.subscribe(CROWD)
    assert (made["kind"], made["filter"], made["canonical"]) == ("operator", CROWD, CROWD)
    kept = city.service.store.subscriptions.get(made["id"])
    assert kept is not None
    assert (kept.kind, kept.filter) == ("operator", CROWD)
    ticket = {"Tamis-Ticket": made["ticket"]}
    assert city.client.post(f"/v1/subscriptions/{made['id']}/renew", headers=ticket).status_code == 200
    plain = city.client.patch(f"/v1/subscriptions/{made['id']}", json={"filter": "price < 3"}, headers=ticket).json()
    assert (plain["kind"], plain["canonical"]) == ("filter", "price < 3")
    assert city.client.delete(f"/v1/subscriptions/{made['id']}", headers=ticket).status_code == 204


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("price < 3 AND near(?place, 5)", (14, 18), "no operator near"),
        ("loc_inn('Bronx')", (0, 7), "did you mean loc_in"),
        ("loc_in(7)", (7, 8), "place is string"),
        ("(mob_pattern(?n) OR price > 3) AND ?n > 5", (13, 15), "nothing binds ?n"),
    ],
)
def test_what_is_wrong_with_a_call_is_said_with_its_place(
    city: Server, text: str, place: tuple[int, int], says: str
) -> None:
    for path in ("subscriptions", "filters/check", "filters/try", "backtests"):
        answer = city.client.post(f"/v1/{path}", json={"filter": text})
        assert answer.status_code == 422
        (fault,) = answer.json()["errors"]
        assert (fault["start"], fault["end"], fault["field"]) == (*place, "filter")
        assert says in fault["message"]


def test_where_nothing_is_offered_a_call_is_refused(server: Server) -> None:
    problem = server.client.post("/v1/subscriptions", json={"filter": "price < 3 AND near(?place, 5)"}).json()
    assert problem["type"] == "urn:tamis:problem:filter"
    assert problem["errors"][0]["start"] == 14


def test_the_kind_that_is_asked_for_must_be_the_one_that_the_text_has(city: Server) -> None:
    city.subscribe(CROWD, kind="operator")
    for text, kind in ((CROWD, "filter"), ("price < 3", "operator")):
        answer = city.client.post("/v1/subscriptions", json={"filter": text, "kind": kind})
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == "kind"


def test_a_filter_is_checked_with_what_it_calls(city: Server) -> None:
    checked = _post(city, "filters/check", filter="?n > 3 AND mob_pattern(?n)")
    assert checked == {"canonical": "mob_pattern(?x1) AND ?x1 > 3", "kind": "operator"}


def test_an_explanation_has_the_course_that_was_taken(city: Server) -> None:
    found = _post(city, "filters/explain", filter=CROWD, event=shot(2))
    assert found["matched"] is False
    assert found["first_failure"]["condition"] == "?people > 3"
    states = {verdict["condition"]: verdict["state"] for verdict in found["alternatives"][0]}
    assert states == {"loc_in('Bronx')": "held", "mob_pattern(?people)": "held", "?people > 3": "failed"}
    first, second = found["steps"]
    assert (first["predicate"], first["truth"], first["eliminated"]) == ("loc_in('Bronx')", "true", 0)
    assert (second["predicate"], second["bindings"], second["eliminated"]) == ("mob_pattern(?x1)", [{"?x1": 2}], 1)
    assert (found["in_question"], found["bindings"]) == (1, None)


def test_what_did_not_have_to_be_asked_is_said_to_be_so(city: Server) -> None:
    found = _post(city, "filters/explain", filter=CROWD, event=shot(9, "Queens"))
    assert [step["predicate"] for step in found["steps"]] == ["loc_in('Bronx')"]
    assert found["steps"][0]["eliminated"] == 1
    assert {verdict["state"] for verdict in found["alternatives"][0]} == {"failed", "not asked"}


def test_a_subscription_is_tested_and_shows_what_its_variables_are_bound_to(city: Server) -> None:
    made = city.subscribe(CROWD)
    path, ticket = f"/v1/subscriptions/{made['id']}/test", {"Tamis-Ticket": made["ticket"]}
    found = city.client.post(path, json={"event": shot(57)}, headers=ticket).json()
    assert (found["matched"], found["bindings"], found["substitutions"]) == (True, {"people": 57}, 1)


def test_what_an_operator_says_when_it_fails_is_for_administrators(city: Server) -> None:
    form = {"filter": "broken('x')", "event": shot(1)}
    (step,) = city.client.post("/v1/filters/explain", json=form).json()["steps"]
    assert (step["truth"], step["failure"]) == ("unknown", "ValueError")
    told = city.client.post("/v1/filters/explain", json=form, headers=city.key("administer")).json()
    assert "/secret/folder" in told["steps"][0]["failure"]
    assert told["alternatives"][0][0]["state"] == "unknown"


def test_a_filter_is_tried_on_the_newest_events_with_what_it_binds(city: Server) -> None:
    assert city.publish([shot(people) for people in range(50)]).status_code == 202
    tried = _post(city, "filters/try", filter=CROWD)
    assert (tried["examined"], tried["matched"]) == (50, 46)
    assert [event["bindings"] for event in tried["events"]] == [{"people": people} for people in range(49, 3, -1)]
    assert len(tried["misses"]) == 4
    assert "bindings" not in tried["misses"][0]


def test_what_json_has_no_words_for_is_bound_all_the_same(start: Callable[..., Server]) -> None:
    server = start(Settings(operators=("tests.service.city:odd",)), CITY)
    server.publish(shot(1)).raise_for_status()
    text, plain = "odd(?far, ?name, ?at)", {"far": "inf", "name": "half?", "at": "2026-05-01T00:00:00+00:00"}
    assert _post(server, "filters/try", filter=text)["events"][0]["bindings"] == plain
    explained = _post(server, "filters/explain", filter=text, event=shot(1))
    assert explained["bindings"] == plain
    assert list(explained["steps"][0]["bindings"][0].values()) == list(plain.values())


def test_an_event_with_a_picture_is_taken_and_one_that_is_no_base64_is_refused(city: Server) -> None:
    answer = city.publish([shot(3), shot(3) | {"image": "no picture!"}]).json()
    assert answer["accepted"] == 1
    assert answer["refused"][0]["index"] == 1
    assert "image" in str(answer["refused"][0])


def test_operators_are_listed_before_anything_was_counted(city: Server) -> None:
    listed = city.client.get("/v1/operators").json()["items"]
    assert [one["name"] for one in listed] == ["broken", "loc_in", "mob_pattern"]
    mob = listed[2]
    assert mob["signature"] == "mob_pattern(?people: integer)"
    assert (mob["reads"], mob["version"], mob["cost"], mob["cost_learned"]) == (["image"], "2", 40.0, False)
    assert (mob["parameters"][0]["name"], mob["parameters"][0]["variable"]) == ("people", True)
    assert mob["about"].startswith("How many people")
    assert (mob["calls"], mob["selectivity"], mob["suspended"]) == (0, None, False)
    loc = listed[1]
    assert (loc["selectivity"], loc["selectivity_learned"]) == (0.3, False)  # as declared
    assert city.client.get("/v1/operators/mob_pattern").json() == mob
    assert city.client.get("/v1/operators/nothing").status_code == 404


def test_what_the_pipeline_counts_is_shown_and_measured(city: Server) -> None:
    tally = Tally(calls=7, evaluations=9, held=3, unknown=2, failures=1, timeouts=1, last_failure="broken('x'): no")
    city.pipeline.become(operators={"broken": Fared(tally, 2.5, 0.25, 4, True)})
    shown = city.client.get("/v1/operators/broken").json()
    assert (shown["cost"], shown["cost_learned"], shown["selectivity"], shown["predicates"]) == (2.5, True, 0.25, 4)
    assert shown["selectivity_learned"]
    assert (shown["calls"], shown["evaluations"], shown["failures"], shown["timeouts"]) == (7, 9, 1, 1)
    assert (shown["suspended"], shown["last_failure"]) == (True, None)
    told = city.client.get("/v1/operators/broken", headers=city.key("administer")).json()
    assert told["last_failure"] == "broken('x'): no"
    metrics = city.client.get("/metrics").text
    assert 'tamis_operator_evaluations_total{operator="broken"} 9.0' in metrics
    assert 'tamis_operator_suspended{operator="broken"} 1.0' in metrics
    assert 'tamis_operator_cost{operator="broken"} 2.5' in metrics


def test_an_extension_that_would_change_what_calls_mean_is_refused(city: Server) -> None:
    extension = {"attributes": {"place": "string"}, "optional": {"shot": {"place": "optional"}}}
    answer = city.client.post("/v1/schema/extensions", json=extension, headers=city.key("administer"))
    assert answer.status_code == 422
    assert "loc_in" in answer.json()["detail"]
    assert "place" in answer.json()["detail"]
    harmless = {"attributes": {"colour": "string"}, "optional": {"shot": {"colour": "optional"}}}
    assert city.client.post("/v1/schema/extensions", json=harmless, headers=city.key("administer")).status_code == 201
    city.subscribe("colour = 'red' AND " + CROWD)


def test_a_service_does_not_start_without_the_operators_that_its_subscriptions_call(city: Server) -> None:
    city.subscribe(CROWD)
    city.subscribe("mob_pattern(3) AND loc_in('not_this(')")
    store = city.service.store
    require_operators(store, Offering(ALL))
    with pytest.raises(ConfigurationError, match=r"mob_pattern \(2\).*--operators") as refused:
        require_operators(store, Offering(ALL[:1]))
    assert "loc_in" not in str(refused.value)
    assert "not_this" not in str(refused.value)


def test_operators_are_named_in_options_files_and_variables(tmp_path: Any) -> None:
    assert read_settings({"operators": ["a", "b:c"]}, environment={}).operators == ("a", "b:c")
    assert read_settings({}, environment={"TAMIS_OPERATORS": "a, b:c,"}).operators == ("a", "b:c")
    file = tmp_path / "settings.yaml"
    file.write_text("operators: [a, 'b:c']\nmissing_operators: ignore\n")
    read = read_settings({}, file, {})
    assert (read.operators, read.missing_operators) == (("a", "b:c"), "ignore")
    assert Settings.from_json(replace(read, port=1).to_json()).operators == ("a", "b:c")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no_such_operator", "no installed package offers"),
        ("tests.service.nowhere:loc_in", "no module tests.service.nowhere"),
        ("tests.service.city:CITY", "has no operator CITY"),
        ("tests.service.city:BOXES", "has no operator"),
    ],
)
def test_an_operator_that_is_not_to_be_had_is_named(name: str, says: str) -> None:
    with pytest.raises(OperatorError, match=says):
        Offering.named([name])


def test_a_list_of_operators_is_named_as_one() -> None:
    assert list(Offering.named(["tests.service.city:ALL"]).versions) == ["loc_in", "mob_pattern", "broken"]
