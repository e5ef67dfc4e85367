"""What Sigma rules become, one modifier at a time, and which are refused with what reason."""

from __future__ import annotations

import time
from typing import Any

import pytest

import tamis
from tamis import Schema
from tamis.dialects import ConversionError, Report, convert_all, proposed_schema, sigma

pytest.importorskip("sigma", reason="the Sigma extra is not installed")

FIELDS = ("Image", "CommandLine", "User", "Hashes", "message", "logsource.category", "logsource.product")
SCHEMA = Schema.from_dict(
    {
        "attributes": {**dict.fromkeys(FIELDS, "string"), "EventID": "integer", "Size": "float", "On": "boolean"},
        "event_types": {"event": dict.fromkeys((*FIELDS, "EventID", "Size", "On"), "optional")},
    }
)


def rule(condition: str = "sel", **named: Any) -> dict[str, Any]:
    return {"title": "t", "logsource": {"category": "c", "product": "p"}, "detection": named | {"condition": condition}}


CASES: list[tuple[dict[str, Any], str]] = [
    ({"Image": "a.exe"}, "Image ILIKE 'a.exe'"),
    ({"Image": r"C:\\*\a?.exe"}, r"Image ILIKE 'C:\\%\\a_.exe'"),
    ({"Image": r"C:\*"}, "Image ILIKE 'C:*'"),
    ({"Image": "50%_a"}, r"Image ILIKE '50\%\_a'"),
    ({"Image": ["4624", "4625"]}, "Image IN ('4624', '4625')"),
    ({"Image": ""}, "Image = ''"),
    ({"Image": 4624}, "Image = '4624'"),
    ({"Image": "it's"}, "Image ILIKE 'it''s'"),
    ({"Image": None}, "Image IS NULL"),
    ({"Image|exists": True}, "Image IS NOT NULL"),
    ({"Image|contains|all": ["a", "b"]}, "Image ILIKE '%a%' AND Image ILIKE '%b%'"),
    ({"Image|startswith|cased": "A"}, "Image LIKE 'A%'"),
    ({"Image|cased": "A"}, "Image = 'A'"),
    ({"Image|neq": "a"}, "Image IS NULL OR NOT Image ILIKE 'a'"),
    ({"Image|re": r"a\d+$"}, r"Image RLIKE 'a\d+$'"),
    ({"Image|re|i|s": "a.b"}, "Image RLIKE '(?is)a.b'"),
    ({"Image|cidr": "10.0.0.0/30"}, r"Image RLIKE '^10\.0\.0\.[0-3]$'"),
    ({"Image|base64": "abc"}, "Image ILIKE 'YWJj'"),
    ({"Image|fieldref": "User"}, "Image = User"),
    ({"EventID": [1, "2"]}, "EventID IN (1, 2)"),
    ({"Size": ["-2.50", "1e3"]}, "Size IN (-2.5, 1000)"),
    ({"EventID|gte": 4}, "EventID >= 4"),
    ({"Size|lt": 2.5}, "Size < 2.5"),
    ({"EventID": "*"}, "EventID IS NOT NULL"),
    ({"On": "true"}, "On = TRUE"),
    ({"On": False}, "On = FALSE"),
]


@pytest.mark.parametrize(("selection", "wanted"), CASES, ids=str)
def test_a_selection_becomes_a_condition(selection: dict[str, Any], wanted: str) -> None:
    assert sigma.convert(rule(sel=selection), SCHEMA) == wanted


def test_windash_stands_for_every_dash_that_windows_takes() -> None:
    text = sigma.convert(rule(sel={"CommandLine|windash|contains": " -f"}), SCHEMA)
    assert [part for part in ("' -f", "' /f", "' –f", "' —f") if part.replace("'", "%") in text] == [
        "' -f", "' /f", "' –f", "' —f"]  # fmt: skip


def test_base64offset_and_wide_stand_for_all_three_places_in_the_encoding() -> None:
    text = sigma.convert(rule(sel={"CommandLine|wide|base64offset|contains": "http"}), SCHEMA)
    assert text.count("ILIKE") == 3
    assert "%aAB0AHQAcA%" in text


NEGATIONS = [
    ("sel and not filter", "Image ILIKE 'a' AND (User IS NULL OR NOT User ILIKE 'b')"),
    ("not filter", "User IS NULL OR NOT User ILIKE 'b'"),
    ("sel and not sel2", "Image ILIKE 'a' AND NOT Image ILIKE '%c%'"),
    ("not (sel or filter)", "(Image IS NULL OR NOT Image ILIKE 'a') AND (User IS NULL OR NOT User ILIKE 'b')"),
    ("not 1 of sel*", "Image IS NULL OR NOT Image ILIKE 'a' AND NOT Image ILIKE '%c%'"),
    ("not empty", "Image IS NOT NULL"),
]


@pytest.mark.parametrize(("condition", "wanted"), NEGATIONS)
def test_a_negated_test_holds_where_the_field_is_absent(condition: str, wanted: str) -> None:
    named = {"sel": {"Image": "a"}, "sel2": {"Image|contains": "c"}, "filter": {"User": "b"}, "empty": {"Image": None}}
    assert sigma.convert(rule(condition, **named), SCHEMA) == wanted


def test_keywords_are_looked_for_in_the_attribute_that_is_named() -> None:
    keywords = rule("keywords", keywords=["evil", "*bad?"])
    assert sigma.convert(keywords, SCHEMA, keywords="message") == "message ILIKE '%evil%' OR message ILIKE '%bad_%'"


KEYWORDS: list[tuple[Any, str]] = [
    ({"|all": ["sh -c", 4444]}, "message ILIKE '%sh -c%' AND message ILIKE '%4444%'"),
    ([True, 2.5], "message ILIKE '%true%' OR message ILIKE '%2.5%'"),
    ({"|re": "a.c"}, "message RLIKE 'a.c'"),
    ({"|cased": "Ab"}, "message LIKE '%Ab%'"),
    ({"|neq": 7}, "message IS NULL OR NOT message ILIKE '%7%'"),
    ({"|base64offset": "run"}, "message ILIKE '%cnVu%' OR message ILIKE '%J1b%' OR message ILIKE '%ydW%'"),
]


@pytest.mark.parametrize(("keywords", "wanted"), KEYWORDS, ids=str)
def test_whatever_a_keyword_is_it_is_looked_for_anywhere_in_the_line(keywords: Any, wanted: str) -> None:
    assert sigma.convert(rule("keywords", keywords=keywords), SCHEMA, keywords="message") == wanted


@pytest.mark.parametrize("keywords", [{"|cidr": "10.0.0.0/8"}, {"|gt": 5}, [None]], ids=str)
def test_what_cannot_be_looked_for_in_a_line_is_no_keyword(keywords: Any) -> None:
    with pytest.raises(ConversionError, match="another test"):
        sigma.convert(rule("keywords", keywords=keywords), SCHEMA, keywords="message")


def test_the_log_source_is_asked_for_where_its_attributes_are_named() -> None:
    text = sigma.convert(rule(sel={"Image": "a"}), SCHEMA, log_source="logsource.")
    assert text == "logsource.category ILIKE 'c' AND logsource.product ILIKE 'p' AND Image ILIKE 'a'"


REFUSED: list[tuple[Any, str, str]] = [
    (rule("keywords", keywords=["evil"]), "has no field", "keywords=..."),
    (rule(sel={"Image|re": "(?=a)b"}), "egular expression", "lookaround"),
    (rule(sel={"Image|expand": "%admins%"}), "the placeholder %admins%", "write its values"),
    (rule(sel={"Address|cidr|expand": "%offices%"}), "the placeholder %offices%", "write its values"),
    (rule(sel={"Nope": "a"}), "no attribute Nope", "extend the schema"),
    (rule("sel | count() > 5", sel={"Image": "a"}), "counts events", "correlation"),
    (rule("sel and nothing", sel={"Image": "a"}), "nothing", ""),
    (rule("1 of nothing*", sel={"Image": "a"}), "doesn't match any detection", ""),
    (rule(sel={"EventID": "abc"}), "asks for a text and EventID is integer", "one domain"),
    (rule(sel={"EventID": "1_000"}), "asks for a text and EventID is integer", "one domain"),
    (rule(sel={"Size": "inf"}), "asks for a text and Size is float", "one domain"),
    (rule(sel={"event_type": "login"}), "the types that an event is of", "another name"),
    (rule(sel={"Image|gt": 5}), "asks for a number and Image is string", "one domain"),
    (rule(sel={"Image|fieldref": "EventID"}), "Image is string and EventID is integer", "same domain"),
    (rule(sel={"Image|fieldref|startswith": "User"}), "two attributes as wholes", ""),
    (rule(sel={"Image|nomodifier": "x"}), "nomodifier", ""),
    (rule(sel={"Size|hour": 5}), "a part of a time", "attribute of its own"),
    ({"title": "c", "correlation": {"type": "event_count"}}, "counts or orders several events", "refers to"),
    ({"title": "f", "filter": {"rules": "any"}}, "changes other rules", "apply it"),
    ({"title": "n"}, "no detection", ""),
    ({"action": "global", "detection": {}}, "part of a collection", "whole file"),
    ("title: [", "no YAML", ""),
    ("- a\n- b", "a rule is a mapping", ""),
    ("a: 1\n---\nb: 2", "expected one rule, found 2", ""),
]


@pytest.mark.parametrize(("form", "reason", "remedy"), REFUSED, ids=lambda case: str(case)[:40])
def test_what_cannot_be_converted_is_named_with_the_reason(form: Any, reason: str, remedy: str) -> None:
    with pytest.raises(ConversionError) as caught:
        sigma.convert(form, SCHEMA)
    assert reason in str(caught.value)
    assert remedy in caught.value.remedy
    assert isinstance(caught.value, tamis.TamisError)


COLLECTION = """
action: global
id: 8c2f4ab0-0000-4000-8000-000000000001
logsource: {product: p}
detection: {filter: {User: u}, condition: sel and not filter}
---
id: 8c2f4ab0-0000-4000-8000-000000000002
detection: {sel: {Image: a}}
---
action: repeat
logsource: {category: c}
detection: {sel: {Image: b}}
---
action: reset
---
detection: {sel: {Image: c}, condition: sel}
"""


def test_what_a_collection_shares_is_part_of_each_of_its_rules() -> None:
    rules = list(sigma.documents(COLLECTION))
    assert [form.get("id") for form in rules] == ["8c2f4ab0-0000-4000-8000-000000000002", None, None]
    excluding = " AND (User IS NULL OR NOT User ILIKE 'u')"
    assert [sigma.convert(form, SCHEMA, log_source="logsource.") for form in rules] == [
        f"logsource.product ILIKE 'p' AND Image ILIKE 'a'{excluding}",
        f"logsource.category ILIKE 'c' AND logsource.product ILIKE 'p' AND Image ILIKE 'b'{excluding}",
        "Image ILIKE 'c'",
    ]


def test_one_bad_rule_does_not_stop_the_others() -> None:
    rules = [("a", rule(sel={"Image": "a"})), ("b", rule("nope", sel={"Image": "a"})), ("c", rule(sel={"User": "u"}))]
    report = convert_all([*rules, ("a", rules[0][1])], lambda form: sigma.convert(form, SCHEMA))
    assert isinstance(report, Report)
    assert report.converted == {"a": "Image ILIKE 'a'", "c": "User ILIKE 'u'"}
    assert [refused.id for refused in report.refused] == ["b", "a"]


def test_the_needed_attributes_are_texts_unless_all_rules_ask_for_numbers() -> None:
    rules = [
        rule(sel={"EventID": 1, "Image|endswith": "x", "Port|gt": 5, "On": True, "there|exists": True}),
        rule(sel={"EventID": "4*", "Port": 80, "ref|fieldref": "other"}),
    ]
    needs = sigma.needed([*rules, "title: ["])
    assert {name: need.domain for name, need in needs.items()} == {
        "EventID": "string", "Image": "string", "Port": "float", "On": "boolean", "there": "string", "ref": "string",
        "other": "string"}  # fmt: skip
    schema = proposed_schema(needs)
    assert all(sigma.convert(form, schema) for form in rules)


def test_whole_numbers_that_doubles_round_stay_as_they_are_written() -> None:
    number = 3783596826723272134
    assert sigma.convert(rule(sel={"EventID": number}), SCHEMA) == f"EventID = {number}"
    assert sigma.convert(rule(sel={"EventID|gt": number}), SCHEMA) == f"EventID > {number}"
    assert sigma.convert(rule(sel={"EventID|neq": number}), SCHEMA) == f"EventID IS NULL OR NOT EventID = {number}"
    assert sigma.convert(rule(sel=[number]), SCHEMA, keywords="message") == f"message ILIKE '%{number}%'"
    needs = sigma.needed([rule(sel={"EventID": number, "Port": 80}), rule(sel={"Port|gt": 0.5})])
    assert {name: need.domain for name, need in needs.items()} == {"EventID": "integer", "Port": "float"}


def test_numbers_that_are_one_to_pysigma_are_refused_unless_they_are_quoted() -> None:
    numbers = [3783596826723272134, 3783596826723272135]
    with pytest.raises(ConversionError, match="takes 3783596826723272134 and 3783596826723272135 for one number"):
        sigma.convert(rule(sel={"EventID": numbers}), SCHEMA)
    quoted = sigma.convert(rule(sel={"EventID": [str(number) for number in numbers]}), SCHEMA)
    assert quoted == "EventID IN (3783596826723272134, 3783596826723272135)"


def test_a_thousand_rules_convert_in_seconds() -> None:
    forms = [
        rule(
            "sel and not 1 of filter_*",
            sel={"Image|endswith": [f"\\tool{at}.exe", "\\other.exe"], "CommandLine|contains|all": [f"-x{at}", "-y"]},
            filter_a={"User": f"u{at}", "Image|startswith": "C:\\Windows\\"},
            filter_b={"Hashes|contains": f"MD5={at}"},
        )
        for at in range(1_000)
    ]
    start = time.perf_counter()
    report = convert_all(((str(at), form) for at, form in enumerate(forms)), lambda form: sigma.convert(form, SCHEMA))
    assert len(report.converted) == 1_000
    assert time.perf_counter() - start < 60
