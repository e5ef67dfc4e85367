"""The schema that a service matches by."""

from __future__ import annotations

import pytest

import tamis
from tamis.errors import SchemaError
from tamis.schema import Schema
from tamis.service.base.offering import CONTEXT_ATTRIBUTES, serving_schema

SHOP = Schema.from_dict(
    {
        "attributes": {"price": "float", "opened": "timestamp"},
        "event_types": {"sold": {"price": "mandatory"}, "opened": {"opened": "mandatory"}},
    }
)


def test_every_event_type_may_have_the_context_attributes() -> None:
    schema = serving_schema(SHOP)
    assert set(schema.attributes) == {"event_type", "price", "opened", *CONTEXT_ATTRIBUTES}
    for event_type in schema.event_types.values():
        assert not any(event_type.annotations[name].mandatory for name in CONTEXT_ATTRIBUTES)
    context = {"specversion": "1.0", "id": "1", "source": "/x", "type": "t", "time": "2024-05-01T10:00:00.5+02:00"}
    schema.validate({"event_type": "sold", "price": 5.0, "ce": context})


def test_without_a_schema_there_is_one_event_type() -> None:
    schema = serving_schema(None)
    assert list(schema.event_types) == ["event"]
    index = tamis.compile({"a": "ce.type = 't'", "b": "ce.type IS NULL"}, schema)
    found = index.match([{"ce": {"type": "t"}}, {}]).to_arrow().to_pydict()
    assert found == {"event": [0, 1], "subscription": ["a", "b"]}


def test_serving_it_twice_changes_nothing() -> None:
    for schema in (None, SHOP):
        once = serving_schema(schema)
        assert serving_schema(once) == once


def test_events_that_name_no_type_stay_of_the_one_there_was() -> None:
    schema = serving_schema(
        Schema.from_dict({"attributes": {"a": "integer"}, "event_types": {"only": {"a": "optional"}}})
    )
    assert schema.default_event_type == "only"


def test_an_extension_that_brings_an_event_type_serves_it_too() -> None:
    wider = SHOP.extend(event_types={"bought": {"price": "mandatory"}})
    assert "ce.type" in serving_schema(wider).event_types["bought"].annotations


@pytest.mark.parametrize(
    "form",
    [
        {"attributes": {"ce.type": "integer"}, "event_types": {"x": {"ce.type": "optional"}}},
        {"attributes": {"ce.id": "string"}, "event_types": {"x": {"ce.id": ["optional", "multiple"]}}},
    ],
)
def test_a_schema_that_means_something_else_by_them_is_refused(form: dict[str, object]) -> None:
    with pytest.raises(SchemaError, match="CloudEvents"):
        serving_schema(Schema.from_dict(form))
