"""Extensions between publish and match: an event is judged at the door, and by nobody else under a later schema."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import orjson
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tamis
from tamis.errors import SchemaError
from tamis.eventlog import open_log
from tamis.pipeline.workers.inputs import Reader
from tamis.schema import Schema
from tamis.schema.reading import read_event
from tamis.service.app import create_app
from tamis.service.base.configuration import Settings
from tamis.service.base.events import PASSED_OVER, published_event
from tamis.service.base.offering import serving_schema
from tamis.service.delivery import Delivery
from tamis.service.delivery.matched import OpenedEvent
from tamis.service.http.schemas import settle_schema
from tamis.service.http.service import Service
from tamis.service.store import Store
from tamis.service.store.store import FollowedSchema
from tamis.testing import reference_matches
from tests.service.http.server import PlayedPipeline, Server, make_service

if TYPE_CHECKING:
    from tamis.service.worker import Supervisor

IGNORE = Settings(unknown_attributes="ignore")
HOUSE: dict[str, Any] = {
    "attributes": {"x": "integer", "s": "string", "site.name": "string", "items.sku": "integer", "y": "float"},
    "event_types": {
        "a": {"x": "mandatory", "s": "optional", "items.sku": ["optional", "multiple"]},
        "b": {"y": "optional", "site.name": "optional", "s": "optional"},
    },
}
NAMES = ["colour", "site.zip", "site", "items.note", "items", "s.t", "tags", "tags.deep", "ce.tenant", "ce", "data"]
KNOWN = [
    "x > 2",
    "NOT (x > 2)",
    "s = 'red'",
    "s IS NULL",
    "y IS NOT NULL",
    "items.sku = 1",
    "site.name = 'red'",
    "TRUE",
]

values: st.SearchStrategy[Any] = st.sampled_from(
    ["red", "", 5, -1, 2.5, True, None, "2020-01-01T00:00:00Z", ["red", 5], [], [None], {}]
)
things = values | st.fixed_dictionaries({}, optional={"zip": values, "note": values, "tenant": values, "t": values})


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    """A valid event, with names beside its own that the schema does not have, in any of the forms of JSON."""
    if draw(st.booleans()):
        kinds = draw(st.sampled_from(["a", ["a"], ["a", "b"]]))
        event: dict[str, Any] = {"event_type": kinds, "x": draw(st.integers(0, 5))}
        skus = draw(
            st.lists(st.fixed_dictionaries({}, optional={"sku": st.integers(0, 2), "note": values}), max_size=3)
        )
        if skus:
            event["items"] = skus
    else:
        event = {"event_type": ["b"]}
        site = draw(st.fixed_dictionaries({}, optional={"name": st.sampled_from(["red", "blue"]), "zip": things}))
        if site:
            event["site"] = site
        if draw(st.booleans()):
            event["y"] = draw(st.floats(-5, 5))
    if draw(st.booleans()):
        event["s"] = draw(st.sampled_from(["red", "blue"]))
    for name in draw(st.lists(st.sampled_from([*NAMES, PASSED_OVER, "other"]), max_size=4, unique=True)):
        event.setdefault(name, draw(things | st.lists(things, max_size=3)))
    return event


@st.composite
def extensions(draw: st.DrawFn) -> dict[str, Any]:
    """Some of these names as attributes, of any domain, of any of the event types or of a new one."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    kinds = st.sampled_from(["integer", "float", "string", "boolean", "timestamp", "binary"])
    marks = st.sampled_from(["optional", ["optional", "multiple"]])
    return {
        "attributes": {name: draw(kinds) for name in names},
        "optional": {kind: {name: draw(marks) for name in names if draw(st.booleans())} for kind in ("a", "b")},
        "event_types": {"c": {name: "mandatory" for name in names if draw(st.booleans())}},
        "tables": draw(st.sampled_from([{}, {"a": {"key": ["x"]}}, {"b": {}}, {"a": {"key": ["x"]}, "b": {}}])),
    }


def matched(server: Server, texts: dict[str, str], matcher: str = "naive") -> dict[str, list[str]]:
    """What workers find on the log, under the schema as it is now: the filters that match, by the event's id."""
    schema, records = server.service.schema, server.service.log.recent(1_000)
    bodies = pa.RecordBatch.from_arrays([records["body"].combine_chunks()], ["body"])
    read = Reader(schema, (0,), ("body",), check=True, json=True, ignore_unknown=True, judged=True).read(bodies)
    assert not len(read.dead), read.violations
    found: dict[str, list[str]] = {id: [] for id in records["id"].to_pylist()}
    index = tamis.compile(texts, schema, matcher=matcher)
    assert not index.errors
    for one in index.match(read.events).to_arrow().to_pylist():
        found[records["id"][int(read.rows[one["event"]])].as_py()].append(one["subscription"])
    return found


@settings(deadline=None, max_examples=25)
@given(st.lists(events(), min_size=1, max_size=12), extensions())
@example([{"event_type": ["a", "b"], "x": 3}], {"attributes": {"colour": "integer"}, "tables": {"a": {}, "b": {}}})
@example([{"event_type": ["b"], PASSED_OVER: {}}], {"attributes": {"colour": "integer"}})
@example([{"event_type": ["b"], PASSED_OVER: {"zip": [None]}}], {"attributes": {"colour": "integer"}})
def test_an_extension_between_publish_and_match_neither_loses_nor_changes_a_match(
    tmp_path_factory: pytest.TempPathFactory, published: list[dict[str, Any]], extension: dict[str, Any]
) -> None:
    before = serving_schema(Schema.from_dict(HOUSE))
    try:
        serving_schema(Schema.from_dict(HOUSE).extend(**extension))
    except SchemaError:
        return
    folder = tmp_path_factory.mktemp("server") / secrets.token_hex(4)
    service = make_service(folder, PlayedPipeline(), IGNORE, HOUSE)
    with TestClient(create_app(service)) as client:
        server = Server(service, PlayedPipeline(), client)
        boss = server.key("administer")
        answer = server.publish(published).json()
        refused = {one["index"] for one in answer["refused"]} if "refused" in answer else set(range(len(published)))
        taken = [event for place, event in enumerate(published) if place not in refused]
        assert all(not before.violations(event) or _has_unknown(before, event) for event in taken)
        extended = client.post("/v1/schema/extensions", json=extension, headers=boss)
        assert extended.status_code == 201, extended.text
        texts = {str(number): text for number, text in enumerate(KNOWN)}
        new = {name: f'"{name}" IS NOT NULL' for name in extension["attributes"]}
        found = list(matched(server, texts | new).values())
        plain = [_plain(before, event) for event in taken]
        assert [sorted(ids) for ids in found] == reference_matches(texts, before, plain)
        stored = server.service.log.recent(1_000)["body"].to_pylist()
        shown = [OpenedEvent(1, "e", datetime.now(UTC), body) for body in stored]
        assert [orjson.loads(orjson.dumps(one.written)) for one in shown] == taken, "subscribers see what was published"
        for one in shown:
            assert all(not one.values(name, service.schema) for name in extension["attributes"])
        recent = client.get("/v1/events/recent", headers=boss).json()["items"]
        assert [one["event"] for one in reversed(recent)] == taken


FIRST_FORMS: dict[str, dict[str, Any]] = {
    "two types": HOUSE,
    "one type": {
        "attributes": {"x": "integer", "s": "string"},
        "event_types": {"a": {"x": "mandatory", "s": "optional"}},
    },
    "a table": {
        "attributes": {"x": "integer", "s": "string"},
        "event_types": {"a": {"x": "mandatory", "s": "optional"}},
        "tables": {"a": {"key": ["x"]}},
    },
}
FORMLESS: list[dict[str, Any]] = [
    {},
    {"x": 5, "s": "red", "deep": {"er": [1, "x", {"z": 2}]}},
    {"x": "no integer"},
    {"event_type": "event"},
    {"event_type": ["event"], "x": 4},
    {"event_type": {"of": "its own"}},
    {"ce": {"id": "1", "source": "/site", "type": "red"}},
    {"ce": {"id": "2", "source": "/site", "type": "blue", "tenant": "t"}, "data": "text"},
    {PASSED_OVER: {}},
    {PASSED_OVER: {"x": 3}, "x": 2},
]


@pytest.mark.parametrize("form", FIRST_FORMS.values(), ids=FIRST_FORMS)
@pytest.mark.parametrize("times", [1, 20], ids=["few", "many"])
def test_the_first_schema_loses_and_changes_no_match_of_events_that_were_taken_in_without_one(
    tmp_path: Path, form: dict[str, Any], times: int
) -> None:
    """A server that had no schema is started again with a schema file, while events wait to be matched."""
    before, published = serving_schema(None), FORMLESS * times
    settings = Settings(state=tmp_path / "server")
    settings.state.mkdir()
    store = Store.open(settings.store)
    followed, pipeline = FollowedSchema(store), PlayedPipeline()
    log = open_log(settings.log, write=True)
    service = Service(settings, store, log, Delivery(store, settings, followed), cast("Supervisor", pipeline), followed)
    with TestClient(create_app(service)) as client:
        server = Server(service, pipeline, client)
        assert server.publish(published).json()["accepted"] == len(published)
        file = tmp_path / "schema.yaml"
        file.write_text(Schema.from_dict(form).to_yaml(), encoding="utf-8")
        assert settle_schema(store, file).version == 1
        assert followed.refresh()
        texts = {"all": "TRUE", "red": "ce.type = 'red'", "site": "ce.source = '/site'", "no": "NOT (ce.id = '1')"}
        new = {"x": "x IS NOT NULL", "s": "s IS NOT NULL"}
        found = list(matched(server, texts | new, "columnar").values())
        plain = [_plain(before, event | {"event_type": "event"}) for event in published]
        assert [sorted(ids) for ids in found] == reference_matches(texts, before, plain)
        stored = log.recent(1_000)["body"].to_pylist()
        assert [published_event(body) for body in stored] == published, "subscribers see what was published"
        # What others write to a shared log is held to the schema.
        foreign = pa.RecordBatch.from_arrays(
            [pa.array(["{}", '{"ce":{"id":"1"}}', '{"event_type":"event"}'])], ["body"]
        )
        reader = Reader(service.schema, (0,), ("body",), check=True, json=True, ignore_unknown=True, judged=True)
        assert reader.read(foreign).dead.tolist() == [0, 1, 2]


def _has_unknown(schema: Schema, event: dict[str, Any]) -> bool:
    return all(violation.rule == "R3" for violation in schema.violations(event))


def _plain(schema: Schema, event: dict[str, Any]) -> dict[str, Any]:
    """The event's values under the names that the schema has, each under its dotted name."""
    given = read_event(schema, event, 0).given
    return {name: value for name, value in given.items() if name in schema.attributes}
