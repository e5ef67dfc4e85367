"""What selectors become, and which are refused with what reason."""

from __future__ import annotations

import pytest

import tamis
from tamis import Schema
from tamis.dialects import ConversionError, jms, proposed_schema

KINDS = {"JMSType": "string", "JMSPriority": "integer", "colour": "string", "price": "float", "age": "integer",
         "sold": "boolean", "at": "timestamp", "tags": "string", "order.id": "string", "$x_1": "integer"}  # fmt: skip
SCHEMA = Schema.from_dict(
    {
        "attributes": KINDS,
        "event_types": {"m": {name: ["optional", "multiple"] if name == "tags" else "optional" for name in KINDS}},
    }
)

CASES = [
    ("", "TRUE"),
    ("JMSType = 'car' AND colour = 'blue'", "JMSType = 'car' AND colour = 'blue'"),
    ("JMSPriority >= 5", "JMSPriority >= 5"),
    ("colour = 'it''s'", "colour = 'it''s'"),
    ("age = 0x1F", "age = 31"),
    ("age = 017", "age = 15"),
    ("age = 0b101L", "age = 5"),
    ("age = 1_000l", "age = 1000"),
    ("price = 7.", "price = 7"),
    ("price = .5", "price = 0.5"),
    ("price < 2.5E3d", "price < 2500"),
    ("price = 0.1F", "price = 0.10000000149011612"),
    ("age > -5", "age > -5"),
    ("5 < age", "age > 5"),
    ("age > 2 + 3 * 4", "age > 14"),
    ("age > 7 / 2", "age > 3"),
    ("age > 7 / 2.0", "age >= 4"),
    ("age + 1 > 5", "age >= 5"),
    ("2 * age - 1 = 6", "FALSE"),
    ("-age < 5", "age >= -4"),
    ("age / 3 = 2", "age BETWEEN 6 AND 8"),
    ("age BETWEEN 15 AND 19", "age >= 15 AND age <= 19"),
    ("age NOT BETWEEN 15 AND 19", "NOT age >= 15 OR NOT age <= 19"),
    ("colour IN ('a', 'b')", "colour IN ('a', 'b')"),
    ("colour NOT IN ('a')", "NOT colour = 'a'"),
    ("colour LIKE '12%3_'", "colour LIKE '12%3_'"),
    (r"colour LIKE '\_%' ESCAPE '\'", r"colour LIKE '\_%'"),
    ("colour LIKE 'a!%' ESCAPE '!'", r"colour LIKE 'a\%'"),
    ("colour LIKE 'a__' ESCAPE '_'", r"colour LIKE 'a\_'"),
    ("colour LIKE '_%a%' ESCAPE '_'", r"colour LIKE '\%a%'"),
    ("colour LIKE 'a!!' ESCAPE '!'", "colour LIKE 'a!'"),
    (r"colour LIKE 'a\%'", r"colour LIKE 'a\\%'"),
    ("colour NOT LIKE 'a%'", "NOT colour LIKE 'a%'"),
    ("colour IS NULL", "colour IS NULL"),
    ("colour is not null", "colour IS NOT NULL"),
    ("sold", "sold = TRUE"),
    ("NOT sold AND TRUE", "sold = FALSE"),
    ("sold <> FALSE", "sold = TRUE"),
    ("NOT (age > 5 OR colour = 'a')", "NOT age > 5 AND NOT colour = 'a'"),
    ("(age > 5 or sold) and colour <> 'a'", "(age > 5 OR sold = TRUE) AND NOT colour = 'a'"),
    ("colour = 5", "FALSE"),
    ("NOT colour = 5", "colour IS NOT NULL"),
    ("'a' = 5 OR 1 < 2", "TRUE"),
    ("order.id = 'x'", "order.id = 'x'"),
    ("$x_1 = 1", '"$x_1" = 1'),
]


@pytest.mark.parametrize(("selector", "wanted"), CASES)
def test_a_selector_becomes_a_filter(selector: str, wanted: str) -> None:
    assert jms.convert(selector, SCHEMA) == wanted


REFUSED = [
    ("age >", "expected a property or a value"),
    ("age > 5 5", "expected AND, OR"),
    ("(age > 5", "expected )"),
    ("age = 09", "octal"),
    ("age = 99999999999999999999", "64 bits"),
    ("price = 1E999", "too large"),
    ("age = 5x", "no number"),
    ("colour = 'x", "no part of a selector"),
    ('colour = "x"', "no part of a selector"),
    ("age != 5", "no part of a selector"),
    ("colour < 'b'", "= and <> only"),
    ("sold > TRUE", "= and <> only"),
    ("age * age > 1", "twice on one"),
    ("age + price > 1", "two properties"),
    ("price > age", "Java compares"),
    ("1 / age > 2", "divided by a property"),
    ("age * 0 = 0", "* 0 of a property"),
    ("age > 1 / 0", "division by zero"),
    ("colour + 1 > 2", "arithmetic on colour"),
    ("'a' + 1 > 2", "arithmetic needs numbers"),
    ("age LIKE 'a'", "LIKE is for strings"),
    ("age IN ('a')", "IN is for strings"),
    ("colour IN (5)", "IN takes strings"),
    ("colour LIKE 'a' ESCAPE '!!'", "one character"),
    ("colour LIKE 'a!' ESCAPE '!'", "ends within an escape"),
    ("colour LIKE 'a_' ESCAPE '_'", "ends within an escape"),
    ("'a' LIKE 'a'", "after a property's name"),
    ("(age > 5) = TRUE", "a condition cannot be compared"),
    ("colour", "no condition by itself"),
    ("age NOT 5", "NOT is followed by"),
    ("nope = 1", "no attribute nope"),
    ("tags = 'a'", "several values"),
    ("at = 5", "timestamp"),
    ("(" * 300 + "age" + ")" * 300 + " > 5", "nested"),
]


@pytest.mark.parametrize(("selector", "reason"), REFUSED, ids=[selector[:30] for selector, _ in REFUSED])
def test_what_cannot_be_converted_is_named_with_the_reason(selector: str, reason: str) -> None:
    with pytest.raises(ConversionError) as caught:
        jms.convert(selector, SCHEMA)
    assert reason in str(caught.value)
    assert isinstance(caught.value, tamis.TamisError)


def test_the_needed_properties_have_the_types_that_they_are_compared_in() -> None:
    selectors = [
        "JMSPriority > 3 AND a = 'x' AND b + 1 > 2",
        "c OR d LIKE 'x%' OR e IS NULL",
        "f = TRUE",
        "g < h",
        "(((",
    ]
    needs = jms.needed(selectors)
    assert {name: need.domain for name, need in needs.items()} == {
        "JMSPriority": "float", "a": "string", "b": "float", "c": "boolean", "d": "string", "e": "string",
        "f": "boolean", "g": "float", "h": "float"}  # fmt: skip
    schema = proposed_schema(needs)
    assert [jms.convert(selector, schema) for selector in selectors[:4]]


def test_a_number_that_doubles_round_asks_for_an_integer_unless_another_is_no_integer() -> None:
    needs = jms.needed(
        [
            "a = 3783596826723272134 OR 1 < a",
            "b + 1 > -(9223372036854775807) AND JMSTimestamp < 9007199254740993",
            "c = 3783596826723272134 OR c < 0.5",
            "d = 9007199254740992",
            "e = 3783596826723272134D",
            "f BETWEEN -9223372036854775808 AND 5",
        ]
    )
    assert {name: need.domain for name, need in needs.items()} == {
        "a": "integer", "b": "integer", "JMSTimestamp": "integer", "c": "float", "d": "float", "e": "float",
        "f": "integer"}  # fmt: skip
    schema = proposed_schema(needs)
    index = tamis.compile({"a": jms.convert("a = 3783596826723272134", schema)}, schema)
    assert index.match([{"a": 3783596826723272134}, {"a": 3783596826723272135}]).to_lists() == [["a"], []]
