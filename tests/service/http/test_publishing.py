"""Publishing: every format arrives as the same event, nothing bad gets in, and nothing breaks the server."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import orjson
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from tamis.eventlog import NotAppended, open_log
from tamis.service.app import create_app
from tamis.service.base.configuration import LimitSettings, Settings
from tamis.service.delivery import Delivery
from tamis.service.http import acceptance
from tamis.service.http import background as probes
from tamis.service.http.acceptance import repeatable_ids
from tamis.service.http.service import Service
from tamis.service.store import Store
from tamis.service.store.store import FollowedSchema
from tests.service.http.server import AUCTIONS, CHEAP, PlayedPipeline, Server

if TYPE_CHECKING:
    from tamis.service.worker import Supervisor


def recorded(server: Server) -> list[dict[str, Any]]:
    """The events on the log."""
    bodies = server.service.log.recent(10_000)["body"].to_pylist()
    assert all("\n" not in body for body in bodies)
    return [orjson.loads(body) for body in bodies]


def post(server: Server, body: bytes, content_type: str, **headers: str) -> Any:
    return server.client.post("/v1/events", content=body, headers={"Content-Type": content_type, **headers})


def test_one_event_is_accepted_when_it_is_on_the_log(server: Server) -> None:
    answer = server.publish(CHEAP)
    assert answer.status_code == 202
    assert answer.json() == {
        "accepted": 1,
        "refused": [],
        "refused_count": 0,
        "ids": server.service.log.recent(1)["id"].to_pylist(),
        "first": 0,
        "repeated": False,
        "ignored": {},
        "ignored_count": 0,
    }
    assert recorded(server) == [CHEAP]


def test_each_event_that_is_accepted_is_answered_with_its_id(server: Server) -> None:
    told = server.publish([CHEAP, {}, CHEAP]).json()
    first, refused, last = told["ids"]
    assert refused is None
    assert server.service.log.recent(10)["id"].to_pylist() == [first, last]
    many = server.publish([{}, *[CHEAP] * 250]).json()
    assert many["ids"] == [None, *server.service.log.recent(250)["id"].to_pylist()]


def test_a_repeat_is_answered_with_the_ids_on_the_log_however_it_is_written(server: Server) -> None:
    text = orjson.dumps(CHEAP)
    bodies = [
        (b"[" + text + b",{}," + text + b"]", "application/json"),
        (text + b"\n\n" + text, "application/x-ndjson"),
        (b"\r\n [" + text + b" , " + text + b"]", "application/json"),
    ]
    answers = [post(server, body, kind, **{"Idempotency-Key": "once"}).json() for body, kind in bodies]
    assert [answer["repeated"] for answer in answers] == [False, True, True]
    on_log = server.service.log.recent(10)["id"].to_pylist()
    assert [list(filter(None, answer["ids"])) for answer in answers] == [on_log] * 3


def test_publishing_is_anonymous(server: Server) -> None:
    """No key is asked for; and who has one is not told apart on the log."""
    named = server.key("publish")
    for headers in ({}, named):
        assert server.client.post("/v1/events", json=CHEAP, headers=headers).status_code == 202
    first, second = server.service.log.recent(10).to_pylist()
    assert {name for name in first if first[name] != second[name]} == {"offset", "id", "time"}


def test_many_events_come_as_an_array_or_as_lines(server: Server) -> None:
    events = [{**CHEAP, "price": float(n)} for n in range(250)]
    assert server.publish(events).json()["accepted"] == 250
    lines = b"\n".join(orjson.dumps(event) for event in events)
    assert post(server, lines, "application/x-ndjson").json()["first"] == 250
    assert recorded(server) == events * 2


def test_rows_of_an_arrow_stream_are_events(server: Server) -> None:
    table = pa.table(
        {
            "event_type": [["lots"], ["antiques"]],
            "price": [None, 2.5],
            "opened": pa.array([datetime(2024, 5, 1, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        }
    )
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    answer = post(server, sink.getvalue(), "application/vnd.apache.arrow.stream")
    assert answer.json()["accepted"] == 2, answer.text
    assert recorded(server) == [
        {"event_type": ["lots"], "opened": "2024-05-01T00:00:00Z"},
        {"event_type": ["antiques"], "price": 2.5},
    ]


def test_cloudevents_come_structured_batched_and_in_headers(server: Server) -> None:
    event = {"specversion": "1.0", "id": "7", "source": "/a", "type": "antiques", "data": {"price": 3.5}}
    assert post(server, orjson.dumps(event), "application/cloudevents+json").status_code == 202
    assert post(server, orjson.dumps([event]), "application/cloudevents-batch+json; charset=utf-8").status_code == 202
    context = {"ce-specversion": "1.0", "ce-id": "7", "ce-source": "/a", "ce-type": "antiques"}
    assert post(server, b'{"price": 3.5}', "application/json", **context).status_code == 202
    answer = server.client.post("/v1/events", content=b'{"price": 3.5}', headers=context)
    assert answer.json()["ids"] == ["/a 7"], answer.text
    assert server.service.log.recent(4)["id"].to_pylist() == ["/a 7"] * 4
    for body in recorded(server):
        assert (body["event_type"], body["price"], body["ce"]["type"]) == (["antiques"], 3.5, "antiques")


def test_a_bad_event_does_not_stop_the_others_and_becomes_a_dead_letter(server: Server) -> None:
    mine = server.key("publish")
    answer = server.client.post("/v1/events", json=[CHEAP, {"event_type": ["antiques"]}, CHEAP], headers=mine)
    assert answer.json()["accepted"] == 2
    assert answer.json()["refused"] == [{"index": 1, "message": "mandatory attribute 'price' is missing"}]
    (letter,) = server.service.store.dead_letters.list(None)
    assert (letter.kind, letter.reason) == ("event", "mandatory attribute 'price' is missing")
    assert json.loads(letter.body) == {"event_type": ["antiques"]}
    assert letter.owner == mine["Authorization"].split("_")[1]


def test_a_bad_cloudevent_does_not_stop_its_batch(server: Server) -> None:
    good = {"specversion": "1.0", "id": "7", "source": "/a", "type": "antiques", "data": {"price": 3.5}}
    unfit = {**good, "data": {}}
    odd = '{"specversion": "1.0", "id": "8", "id": "9"}'
    events = [orjson.dumps(each).decode() for each in (good, {**good, "source": None}, unfit, 1, good)]
    batch = ",".join([*events, odd, "{;}"])
    told = post(server, f"[{batch}]".encode(), "application/cloudevents-batch+json").json()
    assert told["ids"] == ["/a 7", None, None, None, "/a 7", None, None]
    reasons = {each["index"]: each["message"] for each in told["refused"]}
    assert reasons[1] == "source: every CloudEvent has this attribute, and this one has not"
    assert reasons[2] == "mandatory attribute 'price' is missing"
    assert reasons[3] == "an event is a JSON object"
    assert "twice" in reasons[5]
    assert "no JSON" in reasons[6]
    letters = {letter.body for letter in server.service.store.dead_letters.list(None)}
    assert events[1] in letters
    assert odd in letters


def test_a_large_batch_is_judged_like_its_events_one_by_one(start: Callable[..., Server]) -> None:
    server = start(Settings(unknown_attributes="ignore"))
    bad = [
        '{"event_type": ["antiques"]}',
        '{"event_type": ["antiques"], "price": NaN}',
        '{"event_type": ["antiques"], "price": 1, "x": NaN}',
        '{"event_type": ["antiques"], "price": 1e999}',
        '{"event_type": ["antiques"], "price": 1, "x": 1e999}',
        '{"event_type": ["antiques"], "price": 1, "x": "\\ud800"}',
        '{"event_type": ["antiques"], "price": 1, "price": 2}',
        '{"event_type": ["antiques"], "price": 1, "x": ' + "[" * 150 + "]" * 150 + "}",
        '{"event_type": ["antiques"], "price": 1, "x": "' + "y" * (1 << 20) + '"}',
        '{"event_type": ["antiques"], "price": 1',
        '["price"]',
        "17",
        "nonsense",
        '{"event_type": ["antiques"], "price": 1, "x": ' + "9" * 500 + "}",
    ]
    good = [
        '{"event_type": ["antiques"], "price": 1, "x": "\\ud83d\\ude00"}',
        '{"event_type": ["antiques"], "price": 1e2, "x": "NaN"}',
        '{"event_type": ["antiques"], "price": 1, "x": ' + "[" * 99 + "]" * 99 + "}",
        '{"event_type": ["antiques"], "price": 1, "x": "' + "{" * 200 + '"}',
    ]
    for text in bad:
        assert post(server, text.encode(), "application/json").status_code in (400, 422), text[:80]
    for text in good:
        assert post(server, text.encode(), "application/json").status_code == 202, text[:80]
    batch = [*bad, *good, *[json.dumps(CHEAP)] * 200]
    answer = post(server, "\n".join(batch).encode(), "application/x-ndjson").json()
    assert [refusal["index"] for refusal in answer["refused"]] == list(range(len(bad)))
    assert answer["accepted"] == len(good) + 200


def test_the_same_idempotency_key_publishes_once(server: Server) -> None:
    first = server.publish([CHEAP, CHEAP], **{"Idempotency-Key": "order-1"}).json()
    again = server.publish([CHEAP, CHEAP], **{"Idempotency-Key": "order-1"}).json()
    assert again == {**first, "repeated": True}
    assert len(recorded(server)) == 2
    ids = server.service.log.recent(2)["id"].to_pylist()
    assert len(set(ids)) == 2
    other = server.publish([{**CHEAP, "price": 6}], **{"Idempotency-Key": "order-1"})
    assert (other.status_code, other.json()["type"]) == (409, "urn:tamis:problem:idempotency")


def test_ids_under_a_key_are_those_of_what_was_published_under_it() -> None:
    one, other = pa.array(['{"price":1}'] * 2), pa.array(['{"price":2}'] * 2)
    ids = repeatable_ids("nightly", one)
    assert ids == repeatable_ids("nightly", one)
    assert len({*ids, *repeatable_ids("nightly", other), *repeatable_ids("daily", one)}) == 6


def test_an_idempotency_key_is_its_owners(server: Server) -> None:
    one, other = server.key("publish"), server.key("publish")
    for key in (one, other):
        answer = server.client.post("/v1/events", json=CHEAP, headers={**key, "Idempotency-Key": "k"})
        assert answer.json()["repeated"] is False
    assert len(set(server.service.log.recent(2)["id"].to_pylist())) == 2


@pytest.mark.parametrize("key", ["", "x" * 201, "with blank", "ü"])
def test_an_idempotency_key_is_short_and_printable(server: Server, key: str) -> None:
    headers = {"Content-Type": "application/json", "Idempotency-Key": key.encode()}
    assert server.client.post("/v1/events", content=orjson.dumps(CHEAP), headers=headers).status_code == 422


def test_refused_events_of_a_repeat_are_not_kept_twice(server: Server) -> None:
    for _ in range(2):
        server.publish([CHEAP, {}], **{"Idempotency-Key": "k"})
    assert server.service.store.dead_letters.count() == 1


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"", "application/json", 400),
        (b"[]", "application/json", 422),
        (b"\n\n", "application/x-ndjson", 422),
        (b"{", "application/json", 400),
        (b"{}]", "application/json", 400),
        (b"NaN", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"[" * 100_000 + b"]" * 100_000, "application/json", 422),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b"\x00" * 100, "application/x-ndjson", 422),
        (orjson.dumps(CHEAP), "text/plain", 415),
        (orjson.dumps(CHEAP), "", 415),
        (orjson.dumps(CHEAP), "application/json/../../etc", 415),
        (orjson.dumps(CHEAP), "application/json; charset=\x22", 202),
        (b"not arrow", "application/vnd.apache.arrow.stream", 400),
        (b"\xff\xff\xff\xff\x10\x00\x00\x00" + b"\x00" * 64, "application/vnd.apache.arrow.stream", 400),
        (b"[]", "application/cloudevents+json", 422),
        (b"{}", "application/cloudevents-batch+json", 400),
        (b"[", "application/cloudevents-batch+json", 400),
        (b"[1]", "application/cloudevents-batch+json", 422),
        (b"\xff", "application/cloudevents+json", 422),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(server: Server, body: bytes, content_type: str, status: int) -> None:
    answer = post(server, body, content_type)
    assert answer.status_code == status, answer.text[:300]
    assert len(recorded(server)) == (status == 202)


def test_there_are_only_so_many_events_in_a_publish(start: Callable[..., Server]) -> None:
    server = start(Settings(limits=LimitSettings(events=3)))
    assert server.publish([CHEAP] * 3).status_code == 202
    assert server.publish([CHEAP] * 4).status_code == 413
    table = pa.table({"event_type": [["antiques"]] * 4, "price": [1.0] * 4})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert post(server, sink.getvalue(), "application/vnd.apache.arrow.stream").status_code == 413


ODD = {**CHEAP, "colour": "red"}
ARROW = "application/vnd.apache.arrow.stream"
ODD_CLOUD_EVENT = {
    "specversion": "1.0",
    "id": "7",
    "source": "/a",
    "type": "antiques",
    "traceparent": "00-4bf9-01",
    "data": {"price": 5.0, "colour": "red"},
}


def odd_rows() -> bytes:
    table = pa.table({"event_type": [["antiques"]], "price": [5.0], "colour": ["red"]})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (orjson.dumps(ODD), "application/json"),
        (orjson.dumps([ODD] * 3), "application/json"),
        (b"\n".join([orjson.dumps(CHEAP)] * 150 + [orjson.dumps(ODD)] * 2), "application/x-ndjson"),
        (odd_rows(), ARROW),
        (orjson.dumps(ODD_CLOUD_EVENT), "application/cloudevents+json"),
        (orjson.dumps([ODD_CLOUD_EVENT] * 120), "application/cloudevents-batch+json"),
    ],
)
def test_an_unknown_attribute_is_refused_by_name_or_ignored_by_name_in_every_format(
    start: Callable[..., Server], body: bytes, content_type: str
) -> None:
    strict, lax = start(), start(Settings(unknown_attributes="ignore"))
    answer = post(strict, body, content_type)
    said = answer.json()
    told = [one["message"] for one in (said["errors"] if answer.status_code == 422 else said["refused"])]
    odd = max(1, body.count(b'"colour"'))
    assert told
    assert all("attribute 'colour' is no attribute of the schema" in message for message in told)
    assert len(recorded(strict)) == said.get("accepted", 0) == (150 if b"\n" in body and odd == 2 else 0)
    assert all("colour" not in body for body in recorded(strict))
    answer = post(lax, body, content_type)
    assert (answer.status_code, answer.json()["refused"]) == (202, [])
    assert (answer.json()["ignored"], answer.json()["ignored_count"]) == ({"colour": odd}, 1)
    assert "colour" not in recorded(lax)[-1], "later readers must not take it for an attribute"
    boss = lax.key("administer")
    shown = lax.client.get("/v1/events/recent?count=1", headers=boss).json()["items"][0]["event"]
    assert shown["colour"] == "red"
    assert f"tamis_attributes_ignored_total {float(odd)}" in lax.client.get("/metrics").text


def test_only_so_many_ignored_attributes_are_named_and_all_are_counted(start: Callable[..., Server]) -> None:
    lax = start(Settings(unknown_attributes="ignore"))
    many = {f"x{number}": 1 for number in range(50)}
    answer = lax.publish([{**CHEAP, **many, "y" * 1_000: 1}, {**CHEAP, "x7": 1}]).json()
    assert (len(answer["ignored"]), answer["ignored_count"]) == (20, 51)
    assert answer["ignored"]["x7"] == 2
    assert max(map(len, answer["ignored"])) <= 200


def test_what_cloudevents_have_besides_a_schema_passes_where_unknown_attributes_are_refused(server: Server) -> None:
    event = {**ODD_CLOUD_EVENT, "data": {"price": 5.0}, "tenant": 7}
    assert post(server, orjson.dumps(event), "application/cloudevents+json").json()["ignored"] == {}
    assert post(server, orjson.dumps([event] * 120), "application/cloudevents-batch+json").json()["accepted"] == 120
    boss = server.key("administer")
    shown = server.client.get("/v1/events/recent?count=1", headers=boss).json()["items"][0]["event"]
    assert (shown["ce"]["traceparent"], shown["ce"]["tenant"], shown["price"]) == ("00-4bf9-01", 7, 5.0)
    reason = server.publish({"data": "text", **CHEAP}).json()["detail"]
    assert "'data' is no attribute" in reason, "that is not a CloudEvent"


def test_data_of_a_cloudevent_that_is_no_object_passes_too(start: Callable[..., Server]) -> None:
    server = start(schema={"attributes": {"price": "float"}, "event_types": {"note": {"price": "optional"}}})
    event = {"specversion": "1.0", "id": "7", "source": "/a", "type": "note", "data": "some text"}
    assert post(server, orjson.dumps(event), "application/cloudevents+json").status_code == 202


def test_events_of_any_form_are_taken_until_somebody_gives_a_schema(tmp_path: Path) -> None:
    settings = Settings(state=tmp_path)
    store = Store.open(settings.store)
    followed = FollowedSchema(store)
    pipeline = PlayedPipeline()
    log = open_log(settings.log, write=True)
    service = Service(settings, store, log, Delivery(store, settings, followed), cast("Supervisor", pipeline), followed)
    with TestClient(create_app(service)) as client:
        server = Server(service, pipeline, client)
        answer = server.publish({"anything": {"goes": [1, "x"]}})
        assert (answer.status_code, answer.json()["ignored"]) == (202, {}), answer.text
        boss = server.key("administer")
        form = {"attributes": {"anything.goes": "integer"}, "optional": {"event": {"anything.goes": "optional"}}}
        assert client.post("/v1/schema/extensions", json=form, headers=boss).status_code == 201
        assert not service.schema.check_json(log.recent(1)["body"], ignore_unknown=True).violations.num_rows
        shown = client.get("/v1/events/recent?count=1", headers=boss).json()["items"][0]["event"]
        assert shown == {"anything": {"goes": [1, "x"]}}
        assert server.publish({"anything": {"goes": 1, "else": 2}}).status_code == 422


def test_an_extension_at_another_service_counts_here_at_once(server: Server) -> None:
    """Whether or not this one has looked for one since."""
    assert server.publish(ODD).status_code == 422
    form = {**AUCTIONS, "attributes": {**AUCTIONS["attributes"], "colour": "string"}}
    antiques = {**AUCTIONS["event_types"]["antiques"], "colour": "optional"}
    form["event_types"] = {**AUCTIONS["event_types"], "antiques": antiques}
    server.service.store.schemas.add(form)
    assert server.publish(ODD).status_code == 202
    assert recorded(server) == [ODD]


def test_the_same_key_is_the_same_publish_though_the_schema_has_grown(start: Callable[..., Server]) -> None:
    lax = start(Settings(unknown_attributes="ignore"))
    key = {"Idempotency-Key": "once"}
    assert lax.publish(ODD, **key).json()["repeated"] is False
    form = {"attributes": {"colour": "string"}, "optional": {"antiques": {"colour": "optional"}}}
    assert lax.client.post("/v1/schema/extensions", json=form, headers=lax.key("administer")).status_code == 201
    assert lax.publish(ODD, **key).json()["repeated"] is True
    assert len(recorded(lax)) == 1


COLOUR = {"attributes": {"colour": "integer"}, "optional": {"antiques": {"colour": "optional"}}}


def extend(server: Server, form: dict[str, Any]) -> None:
    answer = server.client.post("/v1/schema/extensions", json=form, headers=server.key("administer"))
    assert answer.status_code == 201, answer.text


@pytest.mark.parametrize("few", [True, False], ids=["few", "many"])
def test_a_repeat_is_answered_as_before_though_the_schema_takes_by_now_what_it_refused(
    server: Server, few: bool
) -> None:
    red, four = {**CHEAP, "colour": "red"}, {**CHEAP, "colour": 4}
    events = [CHEAP, red, four, {}, CHEAP, *[CHEAP] * (0 if few else 200)]
    key = {"Idempotency-Key": "once"}
    first = server.publish(events, **key).json()
    assert [one["index"] for one in first["refused"]] == [1, 2, 3]
    for name in ("shade", "tone"):
        extend(server, {"attributes": {name: "string"}, "optional": {"antiques": {name: "optional"}}})
    extend(server, COLOUR)
    assert server.publish(events, **key).json() == {**first, "repeated": True}
    assert server.service.log.recent(1_000)["id"].to_pylist() == list(filter(None, first["ids"]))
    assert server.service.store.dead_letters.count() == 3
    for other in ([*events, CHEAP], [CHEAP], [four]):
        answer = server.publish(other, **key)
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:tamis:problem:idempotency")
    assert server.publish([four], **{"Idempotency-Key": "another"}).json()["repeated"] is False


def test_a_repeat_is_answered_as_before_though_the_schema_refuses_by_now_what_it_ignored(
    start: Callable[..., Server],
) -> None:
    lax = start(Settings(unknown_attributes="ignore"))
    red, key = {**CHEAP, "colour": "red"}, {"Idempotency-Key": "once"}
    alone = {"Idempotency-Key": "alone"}
    first, only = lax.publish([red, CHEAP], **key).json(), lax.publish(red, **alone).json()
    extend(lax, COLOUR)
    assert lax.publish([red, CHEAP], **key).json() == {**first, "repeated": True}
    assert lax.publish(red, **alone).json() == {**only, "repeated": True}
    assert len(recorded(lax)) == 3
    assert lax.publish(red, **{"Idempotency-Key": "new"}).status_code == 422
    assert len(recorded(lax)) == 3
    assert lax.publish(CHEAP, **alone).status_code == 409


def test_a_log_that_takes_nothing_is_an_answer_of_503(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from tamis.eventlog import NotAppended

    async def full(*_: Any, **__: Any) -> Any:
        raise NotAppended("the disk is full")

    monkeypatch.setattr(server.service.log, "append", full)
    answer = server.publish(CHEAP)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert server.client.get("/ready").json()["log"] != "ok"
    monkeypatch.undo()
    assert server.publish(CHEAP).status_code == 202
    assert server.client.get("/ready").json()["log"] == "ok"


def test_a_log_that_took_nothing_is_asked_again_though_nobody_publishes(server: Server) -> None:
    server.service.log_failed = time.monotonic()
    assert server.client.get("/ready").json()["log"] == "took nothing when last asked to"
    server.service.log_failed -= probes._LOG_SECONDS
    assert server.client.get("/ready").json()["log"] == "ok", "else a balancer would never send anything again"


def test_a_log_that_says_nothing_is_an_answer_of_503_and_the_append_goes_on(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, released = server.service.log.append, threading.Event()

    async def late(*given: Any, **more: Any) -> Any:
        await asyncio.to_thread(released.wait)
        return await append(*given, **more)

    monkeypatch.setattr(server.service.log, "append", late)
    monkeypatch.setattr(acceptance, "_PATIENCE", 0.05)
    key = {"Idempotency-Key": "once"}
    for _ in range(3):
        answer = server.publish(CHEAP, **key)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert "Idempotency-Key" in answer.json()["detail"]
    assert server.client.get("/ready").status_code == 503
    released.set()
    monkeypatch.setattr(acceptance, "_PATIENCE", 30)
    assert server.publish(CHEAP, **key).json()["repeated"] is True
    assert len(recorded(server)) == 1
    assert server.client.get("/ready").status_code == 200


def test_a_log_that_hangs_is_not_waited_for_longer_for_many_events(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, released = list[float](), threading.Event()

    async def never(*_: Any, **__: Any) -> Any:
        begun.append(time.monotonic())
        await asyncio.to_thread(released.wait)
        raise NotAppended("the log is closed")

    monkeypatch.setattr(server.service.log, "append", never)
    try:
        answer = server.publish([CHEAP] * 20_000)
        assert time.monotonic() - begun[0] < 4.5
        assert answer.status_code == 503
    finally:
        released.set()


def test_a_log_is_waited_for_longer_where_it_is_given_more(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    append = server.service.log.append

    async def slow(*given: Any, **more: Any) -> Any:
        await asyncio.sleep(0.3)
        return await append(*given, **more)

    monkeypatch.setattr(server.service.log, "append", slow)
    monkeypatch.setattr(acceptance, "_PATIENCE", 0.05)
    assert server.publish(CHEAP).status_code == 503
    assert server.publish([CHEAP] * 10_000).status_code == 202


def test_whoever_waits_for_a_turn_in_vain_is_told_so_and_appends_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(server.service.log), "shared", "kafka events")
    monkeypatch.setattr(acceptance, "_PATIENCE", 0.05)
    elsewhere = server.service.store.lock("publishing \0once")
    assert elsewhere.hold()
    answer = server.publish(CHEAP, **{"Idempotency-Key": "once"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert server.client.get("/ready").status_code == 200, "the log is well"
    elsewhere.release()
    monkeypatch.setattr(acceptance, "_PATIENCE", 30)
    assert server.publish(CHEAP, **{"Idempotency-Key": "once"}).json()["repeated"] is False
    assert len(recorded(server)) == 1


def test_an_event_that_the_log_can_never_take_is_an_answer_of_413(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tamis.eventlog import EventTooLarge

    async def refuses(*_: Any, **__: Any) -> Any:
        raise EventTooLarge("an event is larger than Kafka takes")

    monkeypatch.setattr(server.service.log, "append", refuses)
    answer = server.publish(CHEAP)
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:tamis:problem:too-large")
    assert server.client.get("/ready").json()["log"] == "ok", "nothing is wrong with the log"


def test_the_newest_events_are_for_administrators(server: Server) -> None:
    server.publish([{**CHEAP, "price": float(n)} for n in range(5)])
    assert server.client.get("/v1/events/recent").status_code == 401
    assert server.client.get("/v1/events/recent", headers=server.key("publish", "subscribe")).status_code == 403
    shown = server.client.get("/v1/events/recent?count=2", headers=server.key("administer")).json()
    assert [item["event"]["price"] for item in shown["items"]] == [4.0, 3.0]
