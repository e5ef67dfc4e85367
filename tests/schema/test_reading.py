"""One event at a time: R1–R3 through the view, domains, and the wording of violations."""

from __future__ import annotations

import math
import pickle
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import EventError
from tamis.schema import Annotation, Schema
from tamis.schema.checking import violation_table
from tamis.schema.timestamps import parse_timestamp, to_datetime
from tamis.testing import events, schemas
from tests.schema.cases import AUCTIONS, CHAIR, STRANGE, UNWRITABLE, as_dicts, one_attribute, rules, spoiled_events


class _Nowhere(tzinfo):
    """A zone that says nothing of where it is: Python takes such a time for one without a zone."""

    def utcoffset(self, _: datetime | None) -> None:
        return None

    dst = tzname = utcoffset


def test_the_papers_first_event_is_valid_and_its_second_breaks_r2() -> None:
    first = {
        "event_type": ["antiques", "furniture"],
        "price": 200.0,
        "quantity": 2,
        "period": "XVI",
        "furniture_category": "table",
    }
    second = {"event_type": ["antiques", "furniture"], "price": 100, "quantity": 1, "period": "XVIII"}
    assert AUCTIONS.violations(first) == []
    assert rules(AUCTIONS, second) == [("furniture_category", "R2")]


def test_in_a_view_mandatory_and_multiple_have_priority() -> None:
    schema = Schema.from_dict(
        {
            "attributes": {"a": "integer", "b": "integer"},
            "event_types": {
                "one": {"a": "mandatory", "b": ["optional", "multiple"]},
                "two": {"a": ["optional", "multiple"], "b": "optional"},
            },
        }
    )
    assert schema.view(["one", "two"]) == {"a": Annotation(True, True), "b": Annotation(False, True)}
    assert schema.violations({"event_type": ["one", "two"], "a": [1, 2], "b": [3, 4]}) == []
    assert rules(schema, {"event_type": "one", "a": [1, 2], "b": [3, 4]}) == [("a", "R2")]
    assert rules(schema, {"event_type": "two", "a": [1, 2], "b": [3, 4]}) == [("b", "R2")]


def test_an_attribute_of_another_type_breaks_r3() -> None:
    assert rules(AUCTIONS, CHAIR | {"period": "XVI"}) == [("period", "R3")]
    assert rules(AUCTIONS, CHAIR | {"colour": "red"}) == [("colour", "R3")]
    assert rules(AUCTIONS, CHAIR | {"seller": {"rating": 3, "name": "Ada"}}) == [("seller.name", "R3")]


def test_an_unknown_or_missing_type_breaks_r1() -> None:
    assert rules(AUCTIONS, CHAIR | {"event_type": "cars"}) == [("event_type", "R1")]
    assert rules(AUCTIONS, CHAIR | {"event_type": ["furniture", "cars"]}) == [("event_type", "R1")]
    assert rules(AUCTIONS, CHAIR | {"event_type": 3}) == [("event_type", "R1")]
    assert rules(AUCTIONS, CHAIR | {"event_type": None}) == [("event_type", "R1")]
    assert rules(AUCTIONS, CHAIR | {"event_type": []}) == [("event_type", "R1")]
    assert rules(AUCTIONS, {"colour": 1}) == [("colour", "R3"), ("event_type", "R1")]


def test_the_only_type_may_be_left_out() -> None:
    schema = one_attribute("integer", "mandatory")
    assert schema.default_event_type == "event"
    assert schema.violations({"x": 1}) == []
    assert rules(schema, {}) == [("x", "R2")]


def test_null_an_empty_list_and_an_empty_object_are_absent() -> None:
    nothings: list[Any] = [None, [], [None], (), set(), {}, {"a": None}, {"a": {}}]
    for nothing in nothings:
        assert AUCTIONS.violations(CHAIR | {"tags": nothing, "seller": {}, "unheard_of": nothing}) == []
        assert rules(AUCTIONS, CHAIR | {"price": nothing}) == [("price", "R2")]


def test_a_scalar_may_stand_for_a_set_and_a_list_of_one_for_a_value() -> None:
    assert AUCTIONS.violations(CHAIR | {"tags": "red", "price": [20.0]}) == []
    assert rules(AUCTIONS, CHAIR | {"price": [20.0, 20.0]}) == [("price", "R2")]


def test_nested_and_dotted_names_are_the_same_and_may_not_be_given_twice() -> None:
    assert AUCTIONS.violations(CHAIR | {"seller": {"rating": 3}}) == []
    assert AUCTIONS.violations(CHAIR | {"seller.rating": 3}) == []
    assert AUCTIONS.violations(CHAIR | {"seller.rating": 3, "seller": {"rating": None}}) == []
    assert rules(AUCTIONS, CHAIR | {"seller.rating": 3, "seller": {"rating": 3}}) == [("seller.rating", "form")]


def test_names_may_have_any_characters() -> None:
    names = ["two words", 'quo"ted', "it's", "größe", "a.b", "a", ".", "..", "日付", "`", "\n", "event.type", "a.b.c"]
    schema = Schema.from_dict(
        {"attributes": dict.fromkeys(names, "integer"), "event_types": {"e": dict.fromkeys(names, "mandatory")}}
    )
    event = dict.fromkeys(names, 7)
    assert schema.violations(event) == []
    assert as_dicts(schema.to_arrow([event])) == [{name: [7] for name in names}]
    assert as_dicts(schema.check(schema.to_arrow([event])).valid) == [{name: [7] for name in names}]


@pytest.mark.parametrize("event", [None, 3, "x", [], [("price", 1)], {3: 1}, {"seller": {3: 1}}])
def test_what_is_no_event_breaks_the_form(event: Any) -> None:
    assert rules(AUCTIONS, event) == [("", "form")]


def test_an_event_that_contains_itself_breaks_the_form() -> None:
    event: dict[str, Any] = {}
    event["seller"] = event
    assert rules(AUCTIONS, event) == [("", "form")]


@pytest.mark.parametrize(
    ("domain", "value", "canonical"),
    [
        ("integer", 1.0, 1),
        ("integer", -(2**63), -(2**63)),
        ("integer", 2**63 - 1, 2**63 - 1),
        ("integer", np.int8(3), 3),
        ("integer", np.float32(3), 3),
        ("integer", Decimal("3.00"), 3),
        ("float", 3, 3.0),
        ("float", 2**60, 2.0**60),
        ("float", np.float32(0.5), 0.5),
        ("float", Decimal("0.1"), 0.1),
        ("float", math.inf, math.inf),
        ("string", "\0é", "\0é"),
        ("boolean", np.True_, True),
        ("timestamp", 5, 5),
        ("timestamp", datetime(1970, 1, 2), 86_400_000_000),
        ("timestamp", datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
        ("timestamp", date(1970, 1, 2), 86_400_000_000),
        ("timestamp", np.datetime64("1970-01-01T00:00:01"), 1_000_000),
        ("timestamp", np.datetime64(7_999_999_999_999, "as"), 7),
        ("timestamp", np.datetime64("2970"), 31_556_995_200_000_000),
        ("timestamp", datetime(1970, 1, 1, 0, 0, 1, tzinfo=_Nowhere()), 1_000_000),
        ("timestamp", "1970-01-01T00:00:01.5Z", 1_500_000),
    ],
)
def test_a_domain_takes_what_keeps_its_value(domain: str, value: Any, canonical: Any) -> None:
    (event,) = as_dicts(one_attribute(domain).to_arrow([{"x": value}]))
    assert event["x"] == [canonical]
    assert type(event["x"][0]) is type(canonical)


@pytest.mark.parametrize(
    ("domain", "value", "reason"),
    [
        ("integer", True, "is a boolean"),
        ("integer", 1.5, "not a whole number"),
        ("integer", math.inf, "not a whole number"),
        ("integer", 2**63, "beyond the 64-bit integers"),
        ("integer", Decimal("1e999999999"), "not a whole number"),
        ("integer", Decimal("NaN"), "not a whole number"),
        ("integer", "1", "not an integer"),
        ("float", True, "is a boolean"),
        ("float", np.True_, "is a boolean"),
        ("float", math.nan, "is NaN"),
        ("float", Decimal("NaN"), "not a number"),
        ("float", 2**53 + 1, "no exact 64-bit float"),
        ("float", 10**400, "beyond the range"),
        ("float", "1.0", "not a number"),
        ("string", 1, "not a string"),
        ("string", b"x", "not a string"),
        ("string", "a\ud800", "lone surrogate"),
        ("string", [["x"]], "not a string"),
        ("string", [{"a": 1}], "not a string"),
        ("boolean", 1, "not a boolean"),
        ("boolean", "true", "not a boolean"),
        ("timestamp", "yesterday", "not a timestamp"),
        ("timestamp", 1.5, "not a timestamp"),
        ("timestamp", True, "not a timestamp"),
        ("timestamp", 2**63, "beyond the timestamps"),
        ("timestamp", np.datetime64("NaT"), "not a timestamp"),
        ("timestamp", np.datetime64("300000-01-01"), "not a timestamp"),
        ("timestamp", np.datetime64(2**62, "s"), "not a timestamp"),
        ({"type": "enumerated", "values": ["a", "b"]}, "c", "not one of 'a', 'b'"),
        ({"type": "enumerated", "values": ["a", "b"]}, 1, "not a string"),
        ({"type": "hierarchical", "tree": {"a": {"b": {}}}}, "A", "not one of 'a', 'b'"),
    ],
)
def test_a_domain_refuses_what_it_does_not_have(domain: Any, value: Any, reason: str) -> None:
    (violation,) = one_attribute(domain).violations({"x": value}, row=7)
    assert (violation.event, violation.attribute, violation.rule) == (7, "x", "domain")
    assert reason in violation.message
    with pytest.raises(EventError, match="x"):
        one_attribute(domain).to_arrow([{"x": value}])


def test_a_violation_names_event_attribute_rule_and_value() -> None:
    with pytest.raises(EventError) as caught:
        AUCTIONS.validate(CHAIR | {"quantity": "four"})
    (violation,) = caught.value.violations
    assert (violation.event, violation.attribute, violation.rule, violation.value) == (0, "quantity", "domain", "four")
    assert str(caught.value) == "event 0: attribute 'quantity': 'four' is not an integer (domain)"
    assert pickle.loads(pickle.dumps(caught.value)).violations == caught.value.violations


def test_long_values_are_cut_in_messages() -> None:
    (violation,) = AUCTIONS.violations(CHAIR | {"quantity": "x" * 10_000_000})
    assert len(violation.message) < 200


def test_every_violation_of_an_event_is_reported() -> None:
    event = {"event_type": "furniture", "price": "x", "tags": ["a", 1, 2], "colour": 1, "period": "XVI"}
    assert sorted(rules(AUCTIONS, event)) == [
        ("colour", "R3"),
        ("furniture_category", "R2"),
        ("period", "R3"),
        ("price", "domain"),
        ("quantity", "R2"),
        ("tags", "domain"),
        ("tags", "domain"),
    ]


@given(st.data(), schemas())
def test_generated_events_are_valid(data: st.DataObject, schema: Schema) -> None:
    assert schema.violations(data.draw(events(schema))) == []


@given(st.data(), schemas())
def test_whatever_is_published_is_accepted_or_refused_for_a_reason(data: st.DataObject, schema: Schema) -> None:
    event = data.draw(spoiled_events(schema, STRANGE + UNWRITABLE))
    found = schema.violations(event, row=3)
    for violation in found:
        assert violation.event == 3
        assert violation.message
    assert violation_table(found).num_rows == len(found)
    if not found:
        assert schema.to_arrow([event]).num_rows == 1


@pytest.mark.parametrize("strange", [np.array([[1]]), [np.array([1, 2])], np.array([[], []])], ids=repr)
def test_arrays_within_values_are_refused_for_a_reason_too(strange: object) -> None:
    assert AUCTIONS.violations({"event_type": strange, "price": strange})


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2024-05-01", "2024-05-01T00:00:00.000000+00:00"),
        ("2024-05-01T10", "2024-05-01T10:00:00.000000+00:00"),
        ("2024-05-01 10:20", "2024-05-01T10:20:00.000000+00:00"),
        ("2024-05-01T10:20:30.1234567Z", "2024-05-01T10:20:30.123456+00:00"),
        ("2024-05-01T10:20:30+02", "2024-05-01T08:20:30.000000+00:00"),
        ("2024-05-01T10:20:30-0230", "2024-05-01T12:50:30.000000+00:00"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000+00:00"),
    ],
)
def test_iso_8601_names_instants(text: str, instant: str) -> None:
    microseconds = parse_timestamp(text)
    assert microseconds is not None
    found = to_datetime(microseconds)
    assert isinstance(found, datetime)
    assert found.isoformat(timespec="microseconds") == instant


@pytest.mark.parametrize(
    "text",
    ["", "2024", "2024-5-1", "20240501", "2024-02-30", "2024-05-01T24:00", "2024-05-01T10:00:60", "2024-05-01Z",
     "2024-05-01x10:00", "2024-05-01T10:00z", "2024-05-01T10:00+24:00", "2024-05-01T10:00+01:60", " 2024-05-01",
     "2024-05-01\n", "0000-01-01", "٢٠٢٤-05-01", "2024-W01-1", "2024-05-01T10:00:00."],
)  # fmt: skip
def test_other_texts_name_none(text: str) -> None:
    assert parse_timestamp(text) is None


def test_instants_beyond_the_calendar_stay_numbers() -> None:
    assert to_datetime(2**62) == 2**62
    assert to_datetime(0) == datetime(1970, 1, 1, tzinfo=UTC)
