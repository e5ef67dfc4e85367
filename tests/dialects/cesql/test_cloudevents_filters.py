"""Filters of the Subscriptions API: what they mean, what is refused, and what becomes of them in Tamis."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tamis
from tamis.dialects.cloudevents_filters import CloudEventsFilterError, CloudEventsFilters
from tamis.language import Limits
from tamis.service.base.offering import serving_schema
from tests.dialects.cesql.cases import SOLD
from tests.generated import cases

SCHEMA = serving_schema(None)
EVENT = SOLD | {"time": "2024-05-01T10:00:00Z"}


def holds(*filters: dict[str, Any]) -> bool:
    return CloudEventsFilters.parse(filters).holds(EVENT)


def test_no_filter_holds_for_every_event() -> None:
    assert holds()


@pytest.mark.parametrize(
    "filter",
    [
        {"exact": {"type": "com.shop.sold"}},
        {"exact": {"type": "com.shop.sold", "subject": "oak desk"}},
        {"exact": {"hops": "3"}},
        {"exact": {"urgent": "true"}},
        {"exact": {"time": "2024-05-01T10:00:00Z"}},
        {"prefix": {"type": "com.", "source": "/shop"}},
        {"suffix": {"type": ".sold"}},
        {"all": [{"prefix": {"type": "com."}}, {"suffix": {"type": ".sold"}}]},
        {"any": [{"exact": {"type": "x"}}, {"suffix": {"type": ".sold"}}]},
        {"not": {"exact": {"type": "x"}}},
        {"not": {"exact": {"absent": "x"}}},
        {"not": {"not": {"prefix": {"type": "com"}}}},
        {"sql": "hops > 2 AND subject LIKE '%desk'"},
        {"not": {"sql": "absent = 1"}},
        {"all": [{"any": [{"not": {"sql": "FALSE"}}]}]},
    ],
)
def test_a_filter_holds(filter: dict[str, Any]) -> None:
    assert holds(filter)
    assert not holds({"not": filter})


@pytest.mark.parametrize(
    "filter",
    [
        {"exact": {"type": "com.shop.Sold"}},
        {"exact": {"type": "com.shop.sold", "subject": "elm desk"}},
        {"exact": {"absent": "x"}},
        {"prefix": {"type": "sold"}},
        {"suffix": {"type": "com"}},
        {"all": [{"prefix": {"type": "com."}}, {"suffix": {"type": ".bought"}}]},
        {"any": [{"exact": {"type": "x"}}, {"suffix": {"type": "y"}}]},
        {"sql": "absent = 1"},
        {"sql": "type"},
    ],
)
def test_a_filter_does_not_hold(filter: dict[str, Any]) -> None:
    assert not holds(filter)


def test_all_filters_of_a_list_must_hold() -> None:
    assert holds({"prefix": {"type": "com."}}, {"sql": "TRUE"})
    assert not holds({"prefix": {"type": "com."}}, {"sql": "FALSE"})


@pytest.mark.parametrize(
    ("filters", "place", "said"),
    [
        ("type", "filters", "a list"),
        ({"exact": {"type": "x"}}, "filters", "a list"),
        (["x"], "filters[0]", "one member"),
        ([{}], "filters[0]", "one member"),
        ([{"exact": {"type": "a"}, "prefix": {"type": "b"}}], "filters[0]", "one member"),
        ([{"sql": "TRUE"}, {"exakt": {"type": "x"}}], "filters[1]", "did you mean 'exact'"),
        ([{"exact": {}}], "filters[0].exact", "an object"),
        ([{"exact": "type"}], "filters[0].exact", "an object"),
        ([{"prefix": {"Type": "x"}}], "filters[0].prefix", "no attribute's name"),
        ([{"prefix": {"data": "x"}}], "filters[0].prefix", "no attribute's name"),
        ([{"prefix": {"type": ""}}], "filters[0].prefix.type", "not empty"),
        ([{"exact": {"hops": 3}}], "filters[0].exact.hops", "a string"),
        ([{"exact": {"type": "a\x00"}}], "filters[0].exact.type", "control characters"),
        ([{"exact": {"type": "\ud800"}}], "filters[0].exact.type", "surrogates"),
        ([{"exact": {"type": "x" * 2_001}}], "filters[0].exact.type", "2000"),
        ([{"all": []}], "filters[0].all", "at least one"),
        ([{"any": {"exact": {"type": "x"}}}], "filters[0].any", "a list"),
        ([{"any": [{"not": [{"exact": {"type": "x"}}]}]}], "filters[0].any[0].not", "one member"),
        ([{"sql": 5}], "filters[0].sql", "in a string"),
        ([{"sql": "type = \x00'a'"}], "filters[0].sql", "NUL"),
        ([{"any": [{"sql": "type ="}]}], "filters[0].any[0].sql", "ends too early"),
        ([{"sql": "LENGHT(type) = 1"}], "filters[0].sql", "did you mean LENGTH"),
        ([{"sql": "LEFT(type) = 'a'"}], "filters[0].sql", "does not take 1 argument"),
        ([{"sql": "TRUE"}] * 501, "filters[500]", "500"),
    ],
)
def test_what_is_no_filter_is_refused_with_its_place(filters: Any, place: str, said: str) -> None:
    with pytest.raises(CloudEventsFilterError, match=said) as refused:
        CloudEventsFilters.parse(filters)
    assert refused.value.place == place


def test_filters_cannot_be_nested_without_end() -> None:
    filter: dict[str, Any] = {"exact": {"type": "x"}}
    for _ in range(21):
        filter = {"not": filter}
    with pytest.raises(CloudEventsFilterError, match="levels"):
        CloudEventsFilters.parse([filter])


def test_a_refusal_shows_the_expression_and_survives_pickling() -> None:
    with pytest.raises(CloudEventsFilterError) as refused:
        CloudEventsFilters.parse([{"sql": "type = 'a' OR OR id = 'b'"}])
    again = pickle.loads(pickle.dumps(refused.value))
    assert str(again) == str(refused.value)
    assert again.text[again.start : again.end] == "OR"
    assert again.start == 14


def test_filters_are_written_to_json_and_read_again() -> None:
    given = [{"exact": {"type": "caf\u00e9"}}, {"any": [{"sql": "hops = 3"}, {"not": {"prefix": {"id": "4"}}}]}]
    filters = CloudEventsFilters.parse(given)
    text = filters.to_json()
    assert text.isascii()
    assert json.loads(text) == given
    assert CloudEventsFilters.from_json(text) == filters


@pytest.mark.parametrize(
    ("filter", "text"),
    [
        ({"exact": {"type": "a"}}, "ce.type = 'a'"),
        ({"exact": {"type": "it's"}}, "ce.type = 'it''s'"),
        ({"prefix": {"type": "a%"}}, r"ce.type LIKE 'a\%%'"),
        ({"suffix": {"type": r"\a"}}, r"ce.type LIKE '%\\a'"),
        ({"all": [{"prefix": {"type": "a"}}, {"exact": {"subject": "b"}}]}, "ce.subject = 'b' AND ce.type LIKE 'a%'"),
        ({"any": [{"exact": {"type": "a"}}, {"exact": {"type": "b"}}]}, "ce.type IN ('a', 'b')"),
        ({"not": {"exact": {"type": "a"}}}, "ce.type != 'a'"),
        ({"sql": "type = 'a' OR 'b' = type OR type IN ('c', 5)"}, "ce.type IN ('5', 'a', 'b', 'c')"),
        ({"sql": "NOT (type LIKE 'a%') AND subject != 'b'"}, "ce.subject != 'b' AND ce.type NOT LIKE 'a%'"),
        ({"sql": "FALSE"}, "FALSE"),
        ({"sql": "type = 'a' AND 1 / 0 = 1"}, "FALSE"),
        ({"sql": " OR ".join(f"type = '{number:03}'" for number in range(900))}, None),
    ],
)
def test_what_tamis_can_say_is_said_exactly(filter: dict[str, Any], text: str | None) -> None:
    found, exact = CloudEventsFilters.parse([filter]).to_tamis(SCHEMA)
    assert exact
    assert text is None or found == text


@pytest.mark.parametrize(
    ("filter", "text"),
    [
        ({"exact": {"hops": "3"}}, "ce.type IS NOT NULL"),
        ({"not": {"exact": {"hops": "3"}}}, "ce.type IS NOT NULL"),
        ({"exact": {"time": "2024-05-01T10:00:00Z"}}, "ce.time IS NOT NULL AND ce.type IS NOT NULL"),
        ({"not": {"exact": {"time": "2024-05-01T10:00:00Z"}}}, "ce.type IS NOT NULL"),
        ({"sql": "type = 'a' AND hops > 3"}, "ce.type = 'a'"),
        ({"sql": "type = 'a' AND UPPER(subject) = 'B'"}, "ce.type = 'a'"),
        ({"all": [{"exact": {"type": "a"}}, {"any": [{"sql": "hops = 3"}, {"exact": {"id": "x"}}]}]}, "ce.type = 'a'"),
        ({"prefix": {"type": "%" * 1_500}}, "ce.type IS NOT NULL"),
    ],
)
def test_what_tamis_cannot_say_is_left_to_be_looked_at(filter: dict[str, Any], text: str) -> None:
    assert CloudEventsFilters.parse([filter]).to_tamis(SCHEMA) == (text, False)


def test_what_is_beyond_the_limits_is_left_to_be_looked_at() -> None:
    either = [{"any": [{"suffix": {name: f"{n}"}} for name in ("subject", "source", "id")]} for n in range(4)]
    filters = CloudEventsFilters.parse([{"all": either}])
    assert filters.to_tamis(SCHEMA)[1]
    assert filters.to_tamis(SCHEMA, Limits(conjuncts=10)) == ("ce.type IS NOT NULL", False)


VALUES = ["a", "b", "ab", "ba", "a%", "_", "\\", "a\\b", "'", "true", "5", "\u00e9", "A"]
STRINGS = ["id", "source", "type", "subject", "datacontenttype", "dataschema"]
NAMES = [*STRINGS, "time", "ext", "specversion"]

contexts = st.fixed_dictionaries(
    {name: st.sampled_from(VALUES) for name in ("id", "source", "type")} | {"specversion": st.just("1.0")},
    optional={
        **{name: st.sampled_from(VALUES) for name in ("subject", "datacontenttype", "dataschema")},
        "time": st.just("2024-05-01T10:00:00Z"),
        "ext": st.sampled_from(["a", "5", True, 5]),
    },
)


def quoted(text: str) -> str:
    # A backslash at the end would escape the closing quote, and cannot be written in CESQL.
    return "'" + text.replace("'", "\\'") + ("x'" if text.endswith("\\") else "'")


literals = st.one_of(st.sampled_from(VALUES).map(quoted), st.sampled_from(["5", "TRUE", "1 / 0", "CONCAT('a', 'b')"]))
patterns = (
    st.lists(st.sampled_from(["a", "b", "%", "_", r"\%", r"\_", r"\b", "x"]), max_size=4).map("".join).map(quoted)
)
tests = st.one_of(
    st.builds("{} {} {}".format, st.sampled_from(NAMES), st.sampled_from(["=", "!=", "<"]), literals),
    st.builds("{} {} {}".format, literals, st.sampled_from(["=", "<>"]), st.sampled_from(NAMES)),
    st.builds("{} = {}".format, st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.builds("{} {} {}".format, st.sampled_from(NAMES), st.sampled_from(["LIKE", "NOT LIKE"]), patterns),
    st.builds(
        lambda name, word, listed: f"{name} {word} ({', '.join(listed)})",
        st.sampled_from(NAMES),
        st.sampled_from(["IN", "NOT IN"]),
        st.lists(literals, min_size=1, max_size=3),
    ),
    st.builds("EXISTS {}".format, st.sampled_from(NAMES)),
    st.sampled_from(["TRUE", "FALSE", "subject", "NOT 5", "UPPER(type) = 'A'", "1 = 1", "'true'", "0"]),
)
expressions = st.recursive(
    tests,
    lambda inner: st.one_of(
        st.builds("NOT ({})".format, inner),
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["AND", "OR", "XOR"]), inner),
        st.builds("({}) OR ({}) AND ({}) OR ({})".format, inner, inner, inner, inner),
    ),
    max_leaves=6,
)
compared = st.builds(
    lambda how, given: {how: given},
    st.sampled_from(["exact", "prefix", "suffix"]),
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES), min_size=1, max_size=2),
)
filters = st.recursive(
    st.one_of(compared, expressions.map(lambda text: {"sql": text})),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda found: {"all": found}),
        st.lists(inner, min_size=1, max_size=3).map(lambda found: {"any": found}),
        inner.map(lambda found: {"not": found}),
    ),
    max_leaves=5,
)


@settings(
    max_examples=cases(60), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.lists(st.lists(filters, max_size=2), min_size=5, max_size=20), st.lists(contexts, min_size=5, max_size=15))
def test_the_tamis_filter_holds_wherever_the_filters_do_and_nowhere_else_if_it_is_exact(
    lists: list[list[dict[str, Any]]], events: list[dict[str, Any]]
) -> None:
    parsed = [CloudEventsFilters.parse(given) for given in lists]
    made = [one.to_tamis(SCHEMA) for one in parsed]
    index = tamis.compile({str(number): text for number, (text, _) in enumerate(made)}, SCHEMA)
    bodies = [{"ce": {name: value for name, value in event.items() if name != "ext"}} for event in events]
    found = index.match(bodies).to_arrow().to_pydict()
    pairs = set(zip(found["event"], found["subscription"], strict=True))
    for number, (one, (text, exact)) in enumerate(zip(parsed, made, strict=True)):
        for row, event in enumerate(events):
            matched, held = (row, str(number)) in pairs, one.holds(event)
            assert matched >= held, (lists[number], event, text)
            assert not exact or matched == held, (lists[number], event, text)


def test_connectives_and_negation_over_string_attributes_stay_exact() -> None:
    texts = ["type = 'a' XOR EXISTS subject", "NOT (subject LIKE 'a%' OR dataschema = 'b')"]
    filters: list[dict[str, Any]] = [{"sql": text} for text in texts]
    filters.append({"not": {"any": [{"exact": {"subject": "a"}}, {"prefix": {"source": "b"}}]}})
    assert all(CloudEventsFilters.parse([filter]).to_tamis(SCHEMA)[1] for filter in filters)


@pytest.mark.parametrize("operands", [9, 10, 40, 400])
def test_a_long_run_of_xor_does_not_grow_with_every_operand(operands: int) -> None:
    run = " XOR ".join(f"type = 'a{number}'" for number in range(operands))
    filters = CloudEventsFilters.parse([{"sql": run}])
    text, exact = filters.to_tamis(SCHEMA)
    assert (exact, len(text) < 10_000) == (False, True)
    assert filters.holds({**EVENT, "type": "a7"})
