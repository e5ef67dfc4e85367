"""What event patterns become, one operator at a time, and which are refused with what reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

import tamis
from tamis import Schema
from tamis.dialects import ConversionError, eventbridge, merged, proposed_schema
from tamis.dialects.eventbridge import texts

SCHEMA = Schema.from_dict(
    {
        "attributes": {"source": "string", "detail-type": "string", "n": "float", "i": "integer", "on": "boolean",
                       "at": "timestamp", "tags": "string", "ns": "float"},
        "event_types": {"event": {"source": "optional", "detail-type": "optional", "n": "optional", "i": "optional",
                                  "on": "optional", "at": "optional", "tags": ["optional", "multiple"],
                                  "ns": ["optional", "multiple"]}},
    }
)  # fmt: skip

CASES: list[tuple[Any, str]] = [
    ({"source": ["a"]}, "source = 'a'"),
    ({"source": ["a", "b", "a"]}, "source IN ('a', 'b')"),
    ({"detail-type": ["it's"]}, "\"detail-type\" = 'it''s'"),
    ({"n": [1, 2.5]}, "n IN (1, 2.5)"),
    ({"on": [True]}, "on = TRUE"),
    ({"source": [{"exists": True}]}, "source IS NOT NULL"),
    ({"source": [{"exists": False}, "a"]}, "source = 'a' OR source IS NULL"),
    ({"source": [{"prefix": "50%"}]}, r"source LIKE '50\%%'"),
    ({"source": [{"suffix": "_x"}]}, r"source LIKE '%\_x'"),
    ({"source": [{"prefix": {"equals-ignore-case": "AB"}}]}, "source ILIKE 'ab%'"),
    ({"source": [{"equals-ignore-case": "Yes"}]}, "source ILIKE 'yes'"),
    ({"source": [{"equals-ignore-case": "ok"}]}, "source RLIKE '^(?s:[Oo][Kk])$'"),
    ({"source": [{"wildcard": r"a*\*b"}]}, "source LIKE 'a%*b'"),
    ({"source": [{"anything-but": "a"}]}, "NOT source = 'a'"),
    ({"source": [{"anything-but": {"prefix": ["a", "b"]}}]}, "NOT source LIKE 'a%' AND NOT source LIKE 'b%'"),
    ({"source": [{"anything-but": {"wildcard": "*/x/*"}}]}, "NOT source LIKE '%/x/%'"),
    ({"n": [{"anything-but": [1, 2]}]}, "NOT n IN (1, 2)"),
    ({"tags": [{"anything-but": "a"}]}, "tags < 'a' OR tags > 'a'"),
    ({"tags": [{"anything-but": {"prefix": "a"}}]}, "tags RLIKE '^(?s:(?:[^a].*)?)$'"),
    ({"tags": [{"anything-but": {"wildcard": "*"}}]}, "FALSE"),
    ({"n": [{"numeric": ["<", 5]}]}, "n < 5"),
    ({"n": [{"numeric": [">", 0, "<=", 5]}]}, "n > 0 AND n <= 5"),
    ({"n": [{"numeric": [">=", 0, "<=", 5]}]}, "n BETWEEN 0 AND 5"),
    ({"ns": [{"numeric": [">", 0, "<", 1]}]}, "ns BETWEEN 5e-324 AND 0.9999999999999999"),
    ({"source": [{"cidr": "10.0.0.0/30"}]}, r"source RLIKE '^10\.0\.0\.[0-3]$'"),
    ({"source": [{"cidr": "10.0.0.2/30"}]}, r"source RLIKE '^10\.0\.0\.[0-3]$'"),
    ({"source": ["a"], "n": [1]}, "source = 'a' AND n = 1"),
    ({"source": ["a"], "$or": [{"n": [1]}, {"i": [2]}]}, "source = 'a' AND (n = 1 OR i = 2)"),
    ({"$or": [{"n": [1], "on": [False]}, {"i": [2]}]}, "n = 1 AND on = FALSE OR i = 2"),
]


@pytest.mark.parametrize(("pattern", "wanted"), CASES, ids=lambda case: str(case)[:60])
def test_a_pattern_becomes_a_filter(pattern: Any, wanted: str) -> None:
    assert eventbridge.convert(pattern, SCHEMA) == wanted
    assert eventbridge.convert(json.dumps(pattern), SCHEMA) == wanted


REFUSED: list[tuple[Any, str, str]] = [
    ({"source": [None]}, "source[0]", "a null is the same as a field that is left out"),
    ({"source": [5]}, "source[0]", "asks for a number and source is string"),
    ({"source": ["a", True]}, "source[1]", "asks for a boolean"),
    ({"n": ["5"]}, "n[0]", "asks for a string and n is float"),
    ({"n": [{"prefix": "5"}]}, "n[0].prefix", "asks for a string"),
    ({"at": ["2024-01-01"]}, "at[0]", "at is timestamp"),
    ({"nope": ["a"]}, "nope", "no attribute nope"),
    ({"event_type": ["login"]}, "event_type", "the types that an event is of"),
    ({"source": "a"}, "source", "expected a list"),
    ({"source": []}, "source", "empty list"),
    ({"source": {}}, "source", "empty object"),
    ({}, "", "empty object"),
    ([], "", "JSON object"),
    ("{", "", "no JSON"),
    ('{"source": ["a"], "source": ["b"]}', "source", "given twice"),
    ({"source": ["a"], "$or": [{"source": ["b"]}, {"n": [1]}]}, "$or[0].source", "a second time"),
    ({"$or": [{"n": [1]}]}, "$or", "no alternative"),
    ({"$or": [{"prefix": ["a"]}, {"n": [1]}]}, "$or[0].prefix", "is an operator"),
    ({"source": [{"contains": "a"}]}, "source[0].contains", "no operator contains"),
    ({"source": [{"prefix": "a", "suffix": "b"}]}, "source[0]", "one name"),
    ({"source": [{"wildcard": "a**b"}]}, "source[0].wildcard", "two wildcards"),
    ({"source": [{"wildcard": r"a\b"}]}, "source[0].wildcard", "backslash"),
    ({"source": [{"anything-but": ["a", 1]}]}, "source[0].anything-but", "not both"),
    ({"source": [{"anything-but": []}]}, "source[0].anything-but", "an empty list excludes nothing"),
    ({"source": [{"anything-but": [None, "a"]}]}, "source[0].anything-but", "strings, or numbers, and not null"),
    ({"on": [{"anything-but": True}]}, "on[0].anything-but", "strings, or numbers, and not true"),
    ({"source": [{"anything-but": {"prefix": 123}}]}, "source[0].anything-but.prefix", "a string or a list of strings"),
    ({"source": [{"anything-but": {"suffix": ["a", 1]}}]}, "source[0].anything-but.suffix", "and 1 is none"),
    ({"source": [{"anything-but": {"prefix": ""}}]}, "source[0].anything-but.prefix", "empty prefix"),
    ({"source": [{"cidr": "10.0.0.0/33"}]}, "source[0].cidr", "no network"),
    ({"source": [{"cidr": "::1/128"}]}, "source[0].cidr", "no network"),
    ({"n": [{"numeric": [">", 5, "<", 1]}]}, "n[0].numeric", "not below"),
    ({"n": [{"numeric": ["!=", 5]}]}, "n[0].numeric", "numeric takes"),
    ({"source": [["a"]]}, "source[0]", "a value is a string"),
    ({"source": [{"exists": "yes"}]}, "source[0].exists", "exists does not take"),
]


@pytest.mark.parametrize(("pattern", "place", "reason"), REFUSED, ids=lambda case: str(case)[:60])
def test_what_cannot_be_converted_is_named_with_its_place_and_the_reason(pattern: Any, place: str, reason: str) -> None:
    with pytest.raises(ConversionError) as caught:
        eventbridge.convert(pattern, SCHEMA)
    assert caught.value.place == place
    assert reason in caught.value.reason
    assert isinstance(caught.value, tamis.TamisError)


def test_a_null_may_be_taken_for_a_field_that_is_left_out() -> None:
    assert eventbridge.convert({"source": [None, "a"]}, SCHEMA, null_is_absent=True) == "source = 'a' OR source IS NULL"


def test_a_null_in_an_event_is_absent_to_every_test() -> None:
    """The difference from event-ruler that docs/importing.md has in its table."""
    tests: dict[str, Any] = {
        "anything-but": {"anything-but": "a"}, "but-prefix": {"anything-but": {"prefix": "a"}},
        "exists": {"exists": True}, "absent": {"exists": False}}  # fmt: skip
    index = tamis.compile({id: eventbridge.convert({"source": [test]}, SCHEMA) for id, test in tests.items()}, SCHEMA)
    assert index.match([{"source": None}, {}]).to_lists() == [["absent"], ["absent"]]


def test_a_pattern_that_excludes_too_much_among_several_values_is_refused() -> None:
    many = [f"value number {at}" * 5 for at in range(40)]
    with pytest.raises(ConversionError, match="too long a pattern"):
        eventbridge.convert({"tags": [{"anything-but": many}]}, SCHEMA)


def test_a_schema_is_proposed_from_what_patterns_ask_for() -> None:
    patterns: list[Any] = [
        {"resources": [{"prefix": "arn:"}], "detail": {"count": [{"numeric": [">", 1]}], "on": [True], "x": ["a"]}},
        {"detail": {"x": [5], "y": [{"exists": True}], "z": [{"anything-but": [1, 2]}]}},
        {"detail": {"x": ["b"]}},
        "no JSON",
    ]
    needs = eventbridge.needed(patterns, multiple=["detail.y"])
    schema = proposed_schema(needs)
    kinds = {name: (attribute.domain.kind, attribute.multiple) for name, attribute in schema.attributes.items()}
    del kinds["event_type"]
    assert kinds == {
        "resources": ("string", True), "detail.count": ("float", False), "detail.on": ("boolean", False),
        "detail.x": ("string", False), "detail.y": ("string", True), "detail.z": ("float", False)}  # fmt: skip
    assert needs["detail.x"].disputed
    assert eventbridge.convert(patterns[0], schema)
    with pytest.raises(ConversionError, match="x is string in the schema"):
        eventbridge.convert(patterns[1], schema)


ID = 3783596826723272134
WIDE: list[tuple[list[Any], str]] = [
    ([ID], "integer"),
    ([-ID], "integer"),
    ([{"anything-but": [1, ID]}], "integer"),
    ([{"numeric": [">", 0, "<=", ID]}], "integer"),
    ([2**53], "float"),
    ([float(2**60)], "float"),
    ([2**63], "float"),
    ([ID, 2**64], "float"),
    ([ID, 0.5], "float"),
    ([ID, {"numeric": ["<", 1e300]}], "float"),
]


@pytest.mark.parametrize(("tests", "domain"), WIDE, ids=str)
def test_a_number_that_doubles_round_asks_for_an_integer_unless_another_is_no_integer(
    tests: list[Any], domain: str
) -> None:
    needed = eventbridge.needed([{"id": tests}])
    assert needed["id"].domain == domain
    apart = merged(eventbridge.needed([{"id": [test]}]) for test in tests)
    assert apart["id"].domain == domain
    assert apart["id"].disputed is needed["id"].disputed is ((ID in tests) and domain == "float")


def test_an_event_with_the_id_of_a_rule_matches_and_its_neighbour_does_not() -> None:
    pattern = {"id": [ID]}
    schema = proposed_schema(eventbridge.needed([pattern]))
    index = tamis.compile({"rule": eventbridge.convert(pattern, schema)}, schema)
    assert index.match([{"id": ID}, {"id": ID + 1}]).to_lists() == [["rule"], []]


def test_a_schema_that_exists_is_extended_by_what_it_lacks() -> None:
    wider = proposed_schema(eventbridge.needed([{"source": ["a"], "detail": {"new": [1]}}]), SCHEMA)
    assert set(wider.attributes) - set(SCHEMA.attributes) == {"detail.new"}
    assert proposed_schema({}, SCHEMA) is SCHEMA


def test_a_field_that_no_attribute_can_be_named_by_stops_no_other_rule() -> None:
    patterns: list[Any] = [{"": ["a"]}, {"a\0": ["b"]}, {"source": ["c"]}]
    schema = proposed_schema(eventbridge.needed(patterns))
    assert eventbridge.convert(patterns[2], schema) == "source = 'c'"
    with pytest.raises(ConversionError, match="no attribute"):
        eventbridge.convert(patterns[0], schema)


def test_a_wildcard_of_many_stars_is_tried_on_a_long_value_in_linear_time() -> None:
    pattern = texts.pattern_of("wildcard", "*a" * 30 + "*b", "detail.state")
    assert not texts.matches(pattern, "a" * 5_000)
    assert texts.matches(pattern, "a" * 5_000 + "\nb")
