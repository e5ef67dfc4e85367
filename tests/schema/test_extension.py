"""The four extension rules: what they add, and that they never break what exists."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import SchemaError
from tamis.schema import Schema
from tamis.testing import events, schemas
from tests.schema.cases import AUCTIONS, CHAIR, one_attribute


def test_a_publisher_adds_a_domain_attributes_and_an_event_type_at_once() -> None:
    extended = AUCTIONS.extend(
        domains={"material": {"type": "hierarchical", "tree": {"wood": {"oak": {}}, "metal": {}}}},
        attributes={"material": "material", "lot": "integer"},
        event_types={"sculptures": {"price": "mandatory", "material": ["mandatory", "multiple"], "lot": "optional"}},
        optional={"furniture": {"material": "optional", "title": "optional"}},
    )
    event = CHAIR | {"material": "oak", "title": "a chair"}
    assert AUCTIONS.violations(event)
    assert extended.violations(event) == []
    assert extended.violations({"event_type": "sculptures", "price": 1.0, "material": ["oak", "metal"]}) == []
    assert list(extended.attributes)[: len(AUCTIONS.attributes)] == list(AUCTIONS.attributes)
    assert AUCTIONS.attributes.keys() == set(AUCTIONS.to_dict()["attributes"]) | {"event_type"}  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("extension", "message"),
    [
        ({"domains": {"period": {"type": "string"}}}, r"domains\.period: 'period' is already defined; an extension"),
        ({"attributes": {"price": "integer"}}, r"attributes\.price: 'price' is already defined"),
        ({"event_types": {"furniture": {}}}, r"event_types\.furniture: .* already defined; .* optional="),
        ({"optional": {"furniture": {"price": "optional"}}}, r"optional\.furniture\.price: 'furniture' already has"),
        ({"optional": {"furniture": {"title": "mandatory"}}}, r"takes optional attributes only.*write optional"),
        ({"optional": {"furniture": {"colour": "optional"}}}, "attribute 'colour' is not defined"),
        ({"optional": {"furniture": {"event_type": "optional"}}}, "built in"),
        ({"optional": {"cars": {"price": "optional"}}}, "there is no event type 'cars' to extend"),
        ({"optional": {"furniture": {"title": ["optional", "multiple"]}}}, "unique in 'antiques' and cannot become"),
        ({"event_types": {"cars": {"title": ["optional", "multiple"]}}}, "unique in 'antiques' and cannot become"),
        ({"attributes": {"colour": "color"}}, "domain 'color' is not defined"),
        ({"attributes": ["colour"]}, "expected a mapping"),
    ],
)
def test_whatever_is_no_addition_is_refused(extension: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        AUCTIONS.extend(**extension)


def test_an_attribute_that_is_multiple_somewhere_may_be_so_elsewhere() -> None:
    extended = AUCTIONS.extend(optional={"antiques": {"tags": "optional"}}, event_types={"cars": {"tags": "mandatory"}})
    assert extended.attributes["tags"].multiple
    assert AUCTIONS.extend(optional={"antiques": {"tags": ["optional", "multiple"]}}).attributes["tags"].multiple


def test_an_attribute_that_no_event_has_yet_may_become_multiple() -> None:
    declared = AUCTIONS.extend(attributes={"colours": "string"})
    used = declared.extend(optional={"furniture": {"colours": ["optional", "multiple"]}})
    assert used.violations(CHAIR | {"colours": ["red", "blue"]}) == []


def test_events_of_the_only_type_stay_valid_when_it_is_no_longer_the_only_one() -> None:
    extended = one_attribute("integer").extend(event_types={"another": {"x": "mandatory"}})
    assert extended.violations({"x": 1}) == []
    assert extended.default_event_type == "event"
    assert Schema.from_yaml(extended.to_yaml()).default_event_type == "event"
    assert extended.extend(event_types={"third": {}}).default_event_type == "event"


def test_nothing_added_is_the_same_schema() -> None:
    assert AUCTIONS.extend() == AUCTIONS
    assert one_attribute("integer").extend(attributes={}) == one_attribute("integer")


def test_a_difference_says_what_is_more_and_what_is_otherwise() -> None:
    form = AUCTIONS.to_dict()
    wider = AUCTIONS.extend(attributes={"lot": "integer"}, tables={"furniture": {"key": ["price"]}})
    found = AUCTIONS.difference(wider)
    assert AUCTIONS.extend(**found.additions) == wider
    assert (found.contradictions, wider.difference(AUCTIONS).contradictions) == ((), ())
    assert not any(wider.difference(AUCTIONS).additions.values())
    attributes: Any = {**form["attributes"], "price": "integer"}  # type: ignore[dict-item]
    (contradiction,) = AUCTIONS.difference(Schema.from_dict({**form, "attributes": attributes})).contradictions
    assert str(contradiction) == "attributes.price: 'integer' here, 'float' there"


def test_how_a_schema_is_written_is_no_difference() -> None:
    period = {"type": "enumerated", "values": ["XVI", "XVII", "XVIII"], "order": [["XVI", "XVII"], ["XVII", "XVIII"]]}
    turned = {**period, "values": ["XVIII", "XVI", "XVII"], "order": [*period["order"], ["XVI", "XVIII"]]}
    form = {"attributes": {"x": "d", "y": period}, "event_types": {"event": {"x": "optional", "y": "mandatory"}}}
    one = Schema.from_dict({**form, "domains": {"d": period}, "tables": {"event": {"key": ["y"]}}})
    other = {"attributes": {"y": "e", "x": turned}, "event_types": {"event": {"y": ["mandatory"], "x": "optional"}}}
    found = one.difference(Schema.from_dict({**other, "domains": {"e": turned}}))
    assert found.contradictions == ()
    assert {name for name, added in found.additions.items() if added} == {"domains"}
    unordered = {**period, "order": period["order"][:1]}
    ((_, message),) = [
        (one.place, one.message)
        for one in one.difference(Schema.from_dict({**form, "domains": {"d": unordered}})).contradictions
    ]
    assert message == "its values are ordered otherwise here than there"


@given(st.data(), schemas())
def test_an_extension_never_invalidates_an_event(data: st.DataObject, schema: Schema) -> None:
    event = data.draw(events(schema))
    assert schema.violations(event) == []
    new = {"new.one": "integer", "new": "string", "a.b.c": "float", "other": "unordered"}
    annotations = st.sampled_from(["optional", ["optional", "multiple"]])
    optional: dict[str, dict[str, Any]] = {}
    for name, event_type in schema.event_types.items():
        candidates = sorted({*schema.attributes, *new} - event_type.annotations.keys() - {"event_type"})
        chosen = data.draw(st.lists(st.sampled_from(candidates), unique=True)) if candidates else []
        optional[name] = {
            attribute: "optional"
            if attribute in schema.attributes and not schema.attributes[attribute].multiple
            else data.draw(annotations)
            for attribute in chosen
        }
    added = {"newest": {"new.one": "mandatory"}} if data.draw(st.booleans()) else {}
    extended = schema.extend(attributes=new, event_types=added, optional=optional)
    found = schema.difference(extended)
    assert schema.extend(**found.additions) == extended
    assert found.contradictions == extended.difference(schema).contradictions == ()
    assert not any(extended.difference(schema).additions.values())
    assert extended.violations(event) == []
    batch = schema.to_arrow([event])
    assert extended.check(batch).violations.num_rows == 0
    for name, attribute in schema.attributes.items():
        after = extended.attributes[name]
        assert (after.number, after.multiple) == (attribute.number, attribute.multiple)
