"""Converted Sigma rules hold for exactly the events that their detections match."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis import Schema
from tamis.dialects import ConversionError, sigma
from tamis.language import normalise, parse
from tests.dialects.agreement import assert_agree
from tests.dialects.sigma import detection
from tests.generated import cases

pytest.importorskip("sigma", reason="the Sigma extra is not installed")

KINDS = {"Image": "string", "ParentImage": "string", "CommandLine": "string", "User": "string", "EventID": "float",
         "Port": "integer", "Signed": "boolean", "Ip": "string", "Level": "level", "Names": "string"}  # fmt: skip
SCHEMA = Schema.from_dict(
    {
        "domains": {"level": {"type": "enumerated", "values": ["low", "Low", "high", "l*"]}},
        "attributes": KINDS,
        "event_types": {
            "event": {name: ["optional", "multiple"] if name == "Names" else "optional" for name in KINDS}
            | {"User": "mandatory"}
        },
    }
)
WORDS = st.text(alphabet="aAbB\\.*?%_é\n", max_size=4)
TEXTS = st.text(alphabet="aAbB\\.*?%_éÉ\n", max_size=5)
FIELDS = ["Image", "ParentImage", "CommandLine", "User", "Level", "Names"]
ADDRESSES = st.sampled_from(["10.1.2.3", "10.200.0.1", "192.168.0.77", "::1", "2001:db8:0:0::5", "fe80::1", "none"])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(FIELDS, TEXTS), "EventID": st.integers(0, 4).map(float), "Port": st.integers(0, 4),
    "Signed": st.booleans(), "Ip": ADDRESSES, "Level": st.sampled_from(["low", "Low", "high", "l*"]),
    "Names": st.lists(TEXTS, max_size=3),
}  # fmt: skip


def some_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return values | st.lists(values, min_size=1, max_size=4)


@st.composite
def items(draw: st.DrawFn) -> tuple[str, Any]:
    field = draw(st.sampled_from(FIELDS))
    match draw(
        st.sampled_from(["text", "text", "text", "all", "number", "compare", "boolean", "cidr", "re", "given", "ref"])
    ):
        case "text":
            how = draw(st.sampled_from(["", "|contains", "|startswith", "|endswith", "|cased", "|contains|cased"]))
            return field + how, draw(some_of(WORDS))
        case "all":
            return f"{field}|contains|all", draw(st.lists(WORDS, min_size=2, max_size=3))
        case "number":
            return draw(st.sampled_from(["EventID", "Port"])), draw(some_of(st.integers(0, 4)))
        case "compare":
            how = draw(st.sampled_from(["gt", "gte", "lt", "lte"]))
            return f"{draw(st.sampled_from(['EventID', 'Port']))}|{how}", draw(st.sampled_from([0, 2, 2.5]))
        case "boolean":
            return "Signed", draw(st.booleans())
        case "cidr":
            networks = ["10.0.0.0/8", "10.1.2.0/23", "192.168.0.64/26", "2001:db8::/32", "::/1"]
            return "Ip|cidr", draw(some_of(st.sampled_from(networks)))
        case "re":
            patterns = ["a+b", "^[ab]", "(?:a|\\.)$", "[^a]"]
            return f"{field}|re{draw(st.sampled_from(['', '|i']))}", draw(st.sampled_from(patterns))
        case "given":
            if draw(st.booleans()):
                return f"{field}|exists", draw(st.booleans())
            return field, None
    return "Image|fieldref", "ParentImage"


def mappings() -> st.SearchStrategy[Any]:
    return st.lists(items(), min_size=1, max_size=2).map(dict)


@st.composite
def rules(draw: st.DrawFn) -> tuple[dict[str, Any], detection.Condition]:
    names = ["sel_a", "sel_b", "filter_a", "filter_b"]
    named = {name: draw(mappings() | st.lists(mappings(), min_size=2, max_size=2)) for name in names}
    leaf = st.sampled_from(
        [("is", name) for name in names] + [("1 of", "filter_"), ("all of", "sel_"), ("1 of", "sel_")]
    )
    tree = st.recursive(
        leaf,
        lambda inner: (
            st.builds(lambda one: ("not", one), inner)
            | st.builds(lambda word, a, b: (word, a, b), st.sampled_from(["and", "or"]), inner, inner)
        ),
        max_leaves=4,
    )
    usual = st.just(("and", ("all of", "sel_"), ("not", ("1 of", "filter_"))))
    return named, draw(usual | tree)


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    # `User` is mandatory: the converter may count on it.
    return {name: draw(values) for name, values in VALUES.items() if name == "User" or draw(st.booleans())}


@settings(max_examples=cases(50), deadline=None)
@given(rules(), st.lists(events(), min_size=6, max_size=14))
def test_a_converted_rule_matches_what_its_detection_matches(
    rule: tuple[dict[str, Any], detection.Condition], some: list[dict[str, Any]]
) -> None:
    named, condition = rule
    text = detection.text(condition)
    try:
        filter = sigma.convert({"title": "generated", "detection": {**named, "condition": text}}, SCHEMA)
    except ConversionError as error:
        assert "alternatives" in error.reason  # noqa: PT017 - nothing else in these rules may be refused
        return
    assert_agree(filter, SCHEMA, some, lambda event: detection.matches(named, condition, event), (text, named))


@settings(max_examples=cases(15), deadline=None)
@given(
    st.lists(st.text(alphabet="aAbB.\\%_", min_size=1, max_size=4), min_size=12, max_size=20),
    st.lists(st.text(alphabet="aAbB.\\%_", min_size=1, max_size=4), min_size=12, max_size=20),
    st.lists(events(), min_size=6, max_size=14),
)
def test_long_lists_that_are_joined_into_regular_expressions_keep_their_meaning(
    images: list[str], commands: list[str], some: list[dict[str, Any]]
) -> None:
    named = {"sel": {"Image|contains": images, "CommandLine|endswith": commands}}
    filter = sigma.convert({"detection": {**named, "condition": "sel"}}, SCHEMA)
    assert filter.count("ILIKE") == 0
    assert "RLIKE" in filter
    assert_agree(filter, SCHEMA, some, lambda event: detection.matches(named, ("is", "sel"), event), named)


EXCLUSIONS = st.builds(
    lambda how, image, command: {f"Image{how}": image, "CommandLine|contains": command},
    st.sampled_from(["", "|startswith", "|endswith"]),
    st.text(alphabet="ab", min_size=1, max_size=3)
    | st.lists(st.text(alphabet="ab", min_size=1, max_size=2), min_size=2),
    st.text(alphabet="ab", min_size=1, max_size=2),
)


@settings(max_examples=cases(15), deadline=None)
@given(
    st.lists(EXCLUSIONS, min_size=5, max_size=7),
    st.lists(st.fixed_dictionaries({"User": st.just("u")}, optional={
        "Image": st.text(alphabet="aAbB", max_size=4), "CommandLine": st.text(alphabet="ab", max_size=3)}),
        min_size=10, max_size=20),
)  # fmt: skip
def test_many_exclusions_that_are_told_apart_by_an_attribute_keep_their_meaning(
    exclusions: list[dict[str, Any]], some: list[dict[str, Any]]
) -> None:
    named = {"sel": {"User": "u"}} | {f"filter_{at}": exclusion for at, exclusion in enumerate(exclusions)}
    condition = ("and", ("is", "sel"), ("not", ("1 of", "filter_")))
    filter = sigma.convert({"detection": {**named, "condition": detection.text(condition)}}, SCHEMA)
    assert_agree(filter, SCHEMA, some, lambda event: detection.matches(named, condition, event), named)


def test_a_dozen_exclusions_come_to_few_alternatives() -> None:
    named: dict[str, Any] = {"sel": {"Image|endswith": "\\x.exe"}, "condition": "sel and not 1 of filter_*"}
    for at in range(12):
        named[f"filter_{at}"] = {"ParentImage|endswith": f"\\parent{at}.exe", "CommandLine|contains": f"c{at}"}
    text = sigma.convert({"detection": named}, SCHEMA)
    assert len(normalise(parse(text, SCHEMA), SCHEMA).conjuncts) <= 26
