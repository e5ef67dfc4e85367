"""Converted event patterns hold for exactly the events that event-ruler would match."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tamis import Schema
from tamis.dialects import ConversionError, eventbridge
from tests.dialects.agreement import assert_agree, assert_all_agree, matched
from tests.dialects.eventbridge import ruler
from tests.generated import cases

SCHEMA = Schema.from_dict(
    {
        "domains": {"colour": {"type": "enumerated", "values": ["red", "Red", "rose", "blue"]}},
        "attributes": {
            "source": "string", "detail-type": "string", "detail.state": "string", "detail.count": "float",
            "detail.size": "integer", "detail.on": "boolean", "detail.ip": "string", "detail.colour": "colour",
            "detail.nested.tags": "string", "detail.nested.scores": "float", "detail.nested.ports": "integer",
            "detail.nested.colours": "colour",
        },
        "event_types": {
            "event": {
                "source": "optional", "detail-type": "optional", "detail.state": "optional", "detail.count": "optional",
                "detail.size": "optional", "detail.on": "optional", "detail.ip": "optional",
                "detail.colour": "optional", "detail.nested.tags": ["optional", "multiple"],
                "detail.nested.scores": ["optional", "multiple"],
                "detail.nested.ports": ["optional", "multiple"], "detail.nested.colours": ["optional", "multiple"],
            }
        },
    }
)  # fmt: skip
# Cases that fold to each other, or to more than one character; what LIKE and regular expressions treat apart.
WORDS = ["", "a", "b", "ab", "aB", "AB", "ba", "abab", "ki", "KI", "\u212ai", "is", "IS", "iſ", "i", "İ", "İs", "é",
         "É", "a*", "*", "a\\", "a%", "a_", "a.b", "a\nb", "it's"]  # fmt: skip
TEXTS = st.sampled_from(WORDS) | st.text(alphabet="ab", max_size=3)
COLOURS = st.sampled_from(["red", "Red", "rose", "blue"])
INTEGERS = st.integers(-3, 6) | st.sampled_from([2**53 + 1, -(2**63)])
FLOATS = st.sampled_from([-1.5, 0.0, -0.0, 0.1, 1.0, 2.5, 3.0, 1e300, 5e-324]) | st.integers(-2, 4)
ADDRESSES = st.sampled_from(
    ["10.0.0.1", "10.0.0.255", "10.0.1.0", "10.255.0.7", "192.168.1.1", "::1", "0:0:0:0:0:0:0:1", "2001:db8::1",
     "2001:0DB8:0:0::1", "2001:db8:1::", "fe80::1:2", "10.0.0", "x"]
)  # fmt: skip
NETWORKS = st.sampled_from(
    ["10.0.0.0/8", "10.0.0.0/24", "10.0.0.7/24", "10.0.0.128/25", "0.0.0.0/0", "192.168.1.0/31", "2001:db8::/32",
     "::/0", "::/127", "fe80::/10", "2001:db8::/33"]
)  # fmt: skip


def wildcards() -> st.SearchStrategy[str]:
    parts = st.lists(st.sampled_from(["*", "\\*", "\\\\", "a", "k", "%", "_", "b"]), max_size=5)
    return parts.map("".join).filter(lambda text: "**" not in text)


def text_tests(values: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    texts = values.filter(bool)
    caseless = st.builds(lambda text: {"equals-ignore-case": text}, values)
    several = st.lists(texts, min_size=1, max_size=3)
    return st.one_of(
        values,
        st.builds(lambda text: {"exactly": text}, values),
        st.builds(lambda kind, text: {kind: text}, st.sampled_from(["prefix", "suffix"]), values | caseless),
        caseless,
        st.builds(lambda text: {"wildcard": text}, wildcards()),
        st.builds(lambda text: {"anything-but": text}, values | st.lists(values, min_size=1, max_size=3)),
        st.builds(
            lambda kind, operand: {"anything-but": {kind: operand}},
            st.sampled_from(["prefix", "suffix", "equals-ignore-case"]),
            texts | several,
        ),
        st.builds(
            lambda operand: {"anything-but": {"wildcard": operand}},
            wildcards() | st.lists(wildcards(), min_size=1, max_size=2),
        ),
        st.builds(lambda wanted: {"exists": wanted}, st.booleans()),
    )


def number_tests(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    ranges = st.builds(
        lambda above, low, below, width: {"numeric": [above, low, below, low + width]},
        st.sampled_from([">", ">="]),
        values.filter(lambda value: abs(value) < 10),
        st.sampled_from(["<", "<="]),
        st.sampled_from([0.5, 1, 2.5]),
    )
    return st.one_of(
        values,
        st.builds(lambda op, value: {"numeric": [op, value]}, st.sampled_from(["=", "<", "<=", ">", ">="]), values),
        ranges,
        st.builds(lambda operand: {"anything-but": operand}, values | st.lists(values, min_size=1, max_size=3)),
        st.builds(lambda wanted: {"exists": wanted}, st.booleans()),
    )


TESTS: dict[str, st.SearchStrategy[Any]] = {
    "source": text_tests(TEXTS),
    "detail-type": text_tests(TEXTS),
    "detail.state": text_tests(TEXTS),
    "detail.count": number_tests(FLOATS),
    "detail.size": number_tests(INTEGERS | FLOATS),
    "detail.on": st.booleans() | st.just({"exists": False}),
    "detail.ip": st.builds(lambda network: {"cidr": network}, NETWORKS) | ADDRESSES,
    "detail.colour": text_tests(COLOURS | TEXTS),
    "detail.nested.tags": text_tests(TEXTS),
    "detail.nested.scores": number_tests(FLOATS),
    "detail.nested.ports": number_tests(INTEGERS | FLOATS),
    "detail.nested.colours": text_tests(COLOURS),
}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "source": TEXTS, "detail-type": TEXTS, "detail.state": TEXTS, "detail.count": FLOATS, "detail.size": INTEGERS,
    "detail.on": st.booleans(), "detail.ip": ADDRESSES, "detail.colour": COLOURS, "detail.nested.tags": TEXTS,
    "detail.nested.scores": FLOATS, "detail.nested.ports": INTEGERS, "detail.nested.colours": COLOURS,
}  # fmt: skip


def nested(pairs: dict[str, Any]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for name, value in pairs.items():
        *path, last = name.split(".")
        inner = root
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return root


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for name, values in VALUES.items():
        if draw(st.booleans()):
            pairs[name] = draw(st.lists(values, max_size=3) if "nested" in name else values)
    return nested(pairs)


@st.composite
def patterns(draw: st.DrawFn, names: tuple[str, ...] = tuple(TESTS), depth: int = 0) -> dict[str, Any]:
    """Distinct fields at each place, and $or at the top or inside `detail`."""
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    pattern = nested({name: draw(st.lists(TESTS[name], min_size=1, max_size=3)) for name in chosen})
    rest = tuple(name for name in names if name not in chosen)
    if depth < 2 and len(rest) > 1 and draw(st.booleans()):
        inner = tuple(name for name in rest if name.startswith("detail."))
        if len(inner) > 1 and draw(st.booleans()):
            branches = [draw(patterns(inner, depth + 1))["detail"] for _ in range(2)]
            pattern.setdefault("detail", {})["$or"] = branches
        else:
            pattern["$or"] = [draw(patterns(rest, depth + 1)) for _ in range(2)]
    return pattern


@settings(max_examples=cases(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(patterns(), st.lists(events(), min_size=5, max_size=12))
def test_a_converted_pattern_matches_what_event_ruler_matches(
    pattern: dict[str, Any], some: list[dict[str, Any]]
) -> None:
    try:
        text = eventbridge.convert(pattern, SCHEMA)
    except ConversionError as error:
        assert "too long a pattern" in error.reason  # noqa: PT017 - nothing else in these patterns may be refused
        return
    assert_agree(text, SCHEMA, some, lambda event: ruler.matches(pattern, event), pattern)


@pytest.mark.parametrize("name", sorted(TESTS))
@settings(max_examples=cases(40), deadline=None)
@given(data=st.data())
def test_one_test_on_one_field_matches_what_event_ruler_matches(data: st.DataObject, name: str) -> None:
    test = data.draw(TESTS[name])
    values = data.draw(st.lists(VALUES[name], min_size=8, max_size=8))
    some = [nested({name: value}) for value in values] + [{}]
    if "nested" in name:
        some += [nested({name: [first, second]}) for first, second in pairwise(values)]
    pattern = nested({name: [test]})
    try:
        text = eventbridge.convert(pattern, SCHEMA)
    except ConversionError as error:
        assert "too long a pattern" in error.reason  # noqa: PT017
        return
    assert_agree(text, SCHEMA, some, lambda event: ruler.matches(pattern, event), pattern)


@pytest.mark.parametrize("name", sorted(name for name in TESTS if "nested" in name))
@settings(max_examples=cases(40), deadline=None)
@given(data=st.data())
def test_one_test_on_members_of_an_arrays_objects_matches_what_event_ruler_matches(
    data: st.DataObject, name: str
) -> None:
    test = data.draw(TESTS[name])
    member = name.removeprefix("detail.nested.")
    objects = st.fixed_dictionaries({}, optional={member: VALUES[name] | st.lists(VALUES[name], max_size=2)})
    some = data.draw(st.lists(st.lists(objects, max_size=3), min_size=6, max_size=6))
    pattern = nested({name: [test]})
    try:
        text = eventbridge.convert(pattern, SCHEMA)
    except ConversionError as error:
        assert "too long a pattern" in error.reason  # noqa: PT017
        return
    events = [{"detail": {"nested": listed}} for listed in some]
    assert_agree(text, SCHEMA, events, lambda event: ruler.matches(pattern, event), pattern)


def test_what_event_ruler_holds_together_is_named() -> None:
    pattern = {"detail": {"nested": {"tags": ["a"], "ports": [5]}, "state": ["on"]}}
    (lost,) = eventbridge.loosened(pattern, SCHEMA)
    assert lost.startswith("detail.nested: if this is an array, the conditions on tags and ports may hold for")
    event = {"detail": {"nested": [{"tags": "a", "ports": 1}, {"tags": "b", "ports": 5}], "state": "on"}}
    assert matched(eventbridge.convert(pattern, SCHEMA), SCHEMA, [event]) == [True]
    assert eventbridge.loosened({"detail": {"nested": {"tags": ["a"]}, "state": ["on"]}}, SCHEMA) == []
    assert eventbridge.loosened({"$or": [{"detail": {"nested": {"tags": ["a"]}}}, {"source": ["b"]}]}, SCHEMA) == []
    apart = {"detail": {"nested": {"tags": ["a"], "$or": [{"ports": [5]}, {"scores": [1.5]}]}}}
    (lost,) = eventbridge.loosened(apart, SCHEMA)
    assert "tags and ports and scores" in lost


@pytest.mark.parametrize("name", ["source", "detail.nested.tags"])
def test_case_is_ignored_one_character_at_a_time(name: str) -> None:
    forms: dict[str, Any] = {}
    for word in WORDS:
        caseless = {"equals-ignore-case": word}
        forms |= {f"is {word}": caseless, f"begins {word}": {"prefix": caseless}, f"ends {word}": {"suffix": caseless}}
        forms |= {f"is not {word}": {"anything-but": caseless}}
    patterns = {id: nested({name: [test]}) for id, test in forms.items()}
    filters = {id: eventbridge.convert(pattern, SCHEMA) for id, pattern in patterns.items()}
    some = [nested({name: word}) for word in [*WORDS, "K", "aİ", "İa", "\u212a", "xiſ"]]
    assert_all_agree(filters, SCHEMA, some, lambda id, event: ruler.matches(patterns[id], event))
