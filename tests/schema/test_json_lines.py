"""JSON texts, one event each: good ones in bulk, and bad ones that cost nobody else."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.schema import Checked, Schema
from tamis.schema.json_lines import framed, learn_shape, parse_blocks, parse_json
from tamis.schema.values import write_base64
from tamis.strict_json import StrictJsonError
from tamis.testing import events, schemas
from tests.schema.cases import AUCTIONS, CHAIR, STRANGE, as_dicts, assert_agrees, named, one_attribute, spoiled_events

MALFORMED = ("", " ", "null", "3", "[]", '"x"', "{", "}", '{"price": 1', '{"price": 1}}', "{}{}", "{}\n{}", '{"a":1,}',
             "{'a': 1}", '{"a": 01}', '{"a": .5}', '{"a": tru}', '{"a": "\x01"}', '{"a": "\\x"}', "\ufeff{}", "{}x",
             '{"price": 1, "price": 1}', '{"seller": {"rating": 1, "rating": 2}}', '{"x": ' + "9" * 5000 + "}",
             '{"x": ' + "[" * 100_000 + "]" * 100_000 + "}")  # fmt: skip


def check(schema: Schema, *texts: str | None) -> Checked:
    return schema.check_json(pa.array(texts, pa.string()))


def expected(schema: Schema, texts: list[str]) -> tuple[list[Any], list[tuple[int, str, str]]]:
    """The events by Python's own JSON reader, and what is wrong with them."""
    rows: list[Any] = []
    found: list[tuple[int, str, str]] = []
    for number, text in enumerate(texts):
        try:
            rows.append(parse_json(text))
        except StrictJsonError:
            rows.append(None)
            found.append((number, "", "form"))
            continue
        for violation in schema.violations(rows[-1], number):
            name = violation.attribute.encode("utf-8", "backslashreplace").decode()
            found.append((number, name, violation.rule))
    return rows, found


def _in_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return write_base64(value)
    return value.isoformat() if hasattr(value, "isoformat") else value


@st.composite
def json_texts(draw: st.DrawFn, schema: Schema) -> str:
    """Events as publishers write them: nested or flat, spaced or not, now and then broken."""
    event = draw(st.one_of(events(schema), spoiled_events(schema, STRANGE)))
    written: dict[str, Any] = {}
    for name, value in event.items():
        value = [_in_json(item) for item in value] if isinstance(value, list) else _in_json(value)
        parts = name.split(".")
        node = written
        if len(parts) > 1 and draw(st.booleans()):
            for part in parts[:-1]:
                inner = node.setdefault(part, {})
                node = inner if isinstance(inner, dict) else written
            name = parts[-1] if node is not written else name
        node[name] = value
    text = json.dumps(written, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, None, None, 1])))
    text = text.encode("utf-8", "replace").decode()
    match draw(st.integers(0, 9)):
        case 0:
            return draw(st.sampled_from(MALFORMED))
        case 1:
            return text[: draw(st.integers(0, len(text)))]
        case 2:
            return f" {text}\r"
    return text


@given(st.data(), schemas())
def test_a_check_of_texts_agrees_with_pythons_json_and_the_reading_of_each(data: st.DataObject, schema: Schema) -> None:
    texts = data.draw(st.lists(json_texts(schema), max_size=8))
    rows, wrong = expected(schema, texts)
    assert_agrees(schema, schema.check_json(pa.array(texts, pa.string())), rows, wrong)


@pytest.mark.parametrize("text", MALFORMED)
def test_what_is_no_json_object_breaks_the_form_and_nothing_else(text: str) -> None:
    good = json.dumps(CHAIR)
    checked = check(AUCTIONS, good, text, good)
    assert named(checked) == [(1, "", "form")]
    assert checked.valid_rows.to_pylist() == [0, 2]
    assert checked.violations["message"][0].as_py()


def test_a_text_of_two_events_and_an_empty_one_do_not_cancel_out() -> None:
    good = json.dumps(CHAIR)
    checked = check(AUCTIONS, good + good, "", good)
    assert named(checked) == [(0, "", "form"), (1, "", "form")]
    assert checked.valid_rows.to_pylist() == [2]


def test_a_missing_text_and_broken_utf8_break_the_form() -> None:
    assert named(check(AUCTIONS, None)) == [(0, "", "form")]
    texts = pa.array([b'{"event_type": "\xff"}', b"\xff", json.dumps(CHAIR).encode(), b'{"\xff": 1}'])
    checked = AUCTIONS.check_json(texts)
    assert named(checked) == [(0, "", "form"), (1, "", "form"), (3, "", "form")]
    assert checked.valid_rows.to_pylist() == [2]


@pytest.mark.parametrize(
    ("domain", "written", "values"),
    [
        ("integer", "1.0", [1]),
        ("integer", "1e3", [1000]),
        ("integer", "-0", [0]),
        ("integer", "9223372036854775807", [2**63 - 1]),
        ("integer", "[7]", [7]),
        ("integer", "null", []),
        ("integer", "[]", []),
        ("float", "1", [1.0]),
        ("float", "1152921504606846976", [2.0**60]),
        ("float", "1e400", [float("inf")]),
        ("float", "Infinity", [float("inf")]),
        ("float", "9007199254740993.0", [2.0**53]),
        ("string", '"2024-05-01"', ["2024-05-01"]),
        ("string", '"\\ud83d\\ude00"', ["😀"]),
        ("timestamp", '"1970-01-01T00:00:01Z"', [1_000_000]),
        ("timestamp", '"1970-01-01 01:00+01:00"', [0]),
        ("timestamp", "5", [5]),
        ("boolean", "true", [True]),
    ],
)
def test_a_value_is_taken_where_it_keeps_its_meaning(domain: str, written: str, values: list[Any]) -> None:
    schema = one_attribute(domain)
    text = f'{{"x": {written}}}'
    for texts in ([text], ["{}", text, '{"x": []}', text]):
        checked = check(schema, *texts)
        assert named(checked) == []
        found = [row.get("x", []) for row in as_dicts(checked.valid)]
        assert found == [values if each == text else [] for each in texts]


@pytest.mark.parametrize(
    ("domain", "written", "rule"),
    [
        ("integer", "1.5", "domain"),
        ("integer", "9223372036854775808", "domain"),
        ("integer", "true", "domain"),
        ("integer", '"1"', "domain"),
        ("integer", "NaN", "domain"),
        ("integer", "[1, 2]", "R2"),
        ("float", "9007199254740993", "domain"),
        ("float", "NaN", "domain"),
        ("float", "[1.5, 1.5]", "R2"),
        ("string", "1", "domain"),
        ("string", '"\\ud800"', "domain"),
        ("string", '{"y": 1}', "R3"),
        ("timestamp", '"soon"', "domain"),
        ("timestamp", "1.5", "domain"),
        ("boolean", "0", "domain"),
    ],
)
def test_a_value_is_refused_where_it_would_lose_its_meaning(domain: str, written: str, rule: str) -> None:
    checked = check(one_attribute(domain), "{}", f'{{"x": {written}}}', "{}")
    assert [(event, found) for event, _, found in named(checked)] == [(1, rule)]
    assert checked.valid_rows.to_pylist() == [0, 2]


def test_large_integers_in_a_list_are_not_rounded_unseen() -> None:
    schema = one_attribute("float", ["optional", "multiple"])
    checked = check(schema, '{"x": [1.5, 9007199254740993]}', '{"x": [1.5, 9007199254740992]}')
    assert named(checked) == [(0, "x", "domain")]
    assert as_dicts(checked.valid) == [{"x": [1.5, 2.0**53]}]


def test_dotted_names_may_be_nested_flat_or_both_ways_in_turn() -> None:
    texts = ['{"seller": {"rating": 3}}', '{"seller.rating": 3}', '{"seller": {}, "seller.rating": 3}']
    wide = [json.dumps({**CHAIR, **json.loads(text)}) for text in texts]
    checked = check(AUCTIONS, *wide * 30)
    assert named(checked) == []
    assert checked.valid.column("seller.rating").to_pylist() == [3] * 90
    both = json.dumps(CHAIR | {"seller.rating": 3, "seller": {"rating": 4}})
    assert named(check(AUCTIONS, both)) == [(0, "seller.rating", "form")]


def test_one_name_may_be_the_beginning_of_another() -> None:
    names = {"a": "string", "a.b": "integer", "a.b.c": "integer"}
    schema = Schema.from_dict({"attributes": names, "event_types": {"e": dict.fromkeys(names, "optional")}})
    checked = check(schema, '{"a": "x"}', '{"a": {"b": 1}}', '{"a": {"b": {"c": 2}}}', '{"a.b": 3, "a": "y"}')
    assert named(checked) == []
    assert as_dicts(checked.valid) == [{"a": ["x"]}, {"a.b": [1]}, {"a.b.c": [2]}, {"a": ["y"], "a.b": [3]}]


def test_unknown_names_break_r3_whatever_their_type_and_can_be_ignored() -> None:
    odd = [CHAIR | {"z": value} for value in (1, "x", [1], {"y": 1}, True, [{"y": 1}], None, {})]
    texts = [json.dumps(event) for event in odd] * 20
    checked = check(AUCTIONS, *texts)
    assert {rule for _, _, rule in named(checked)} == {"R3"}
    assert [row % 8 for row in checked.valid_rows.to_pylist()] == [6, 7] * 20
    assert AUCTIONS.check_json(pa.array(texts), ignore_unknown=True).valid.num_rows == 160


def test_one_bad_text_among_thousands_is_found_alone() -> None:
    texts = [json.dumps(CHAIR | {"quantity": number}) for number in range(5_000)]
    places = random.Random(7).sample(range(5_000), 40)
    bad = ("{", '{"event_type": 5}', json.dumps(CHAIR | {"price": "x"}), json.dumps(CHAIR | {"quantity": 2**63}), "")
    for turn, place in enumerate(places):
        texts[place] = bad[turn % len(bad)]
    rows, wrong = expected(AUCTIONS, texts)
    assert_agrees(AUCTIONS, check(AUCTIONS, *texts), rows, wrong)


def test_publishers_with_different_habits_are_parsed_apart_and_in_bulk() -> None:
    habits: list[dict[str, Any]] = [
        {"event_type": "furniture", "tags": "red", "opened": 0},
        {"event_type": ["furniture"], "tags": ["red"], "opened": "1970-01-01"},
        {"quantity": 4.0, "tags": ["red"], "opened": "1970-01-01T00:00:00Z"},
    ]
    texts = pa.array([json.dumps(CHAIR | habits[number % 3]) for number in range(3_000)])
    checked = AUCTIONS.check_json(texts)
    assert named(checked) == []
    canonical = {name: [value] for name, value in CHAIR.items()} | {"tags": ["red"], "opened": [0]}
    assert all(row == canonical for row in as_dicts(checked.valid))


def test_bulk_parsing_takes_every_good_text_in_one_group() -> None:
    texts = pa.array([json.dumps(CHAIR | {"seller": {"rating": number}}) for number in range(2_000)])
    rows = framed(texts)
    groups = parse_blocks(texts, rows, learn_shape(AUCTIONS, [json.loads(texts[0].as_py())]))
    assert [len(parsed) for parsed, _ in groups] == [2_000]


def test_bulk_parsing_leaves_out_only_neighbours_of_a_bad_text() -> None:
    texts = [json.dumps(CHAIR | {"quantity": number}) for number in range(2_000)]
    texts[1_234] = json.dumps(CHAIR | {"quantity": 1.5})
    array = pa.array(texts)
    groups = parse_blocks(array, framed(array), learn_shape(AUCTIONS, [CHAIR]))
    assert sum(len(parsed) for parsed, _ in groups) >= 2_000 - 16
    assert len(groups) == 1


def test_other_string_types_and_chunks_are_taken_too() -> None:
    texts = [json.dumps(CHAIR), "{", json.dumps(CHAIR)]
    for lines in (
        pa.array(texts, pa.large_string()),
        pa.array(texts, pa.string_view()),
        pa.chunked_array([texts[:1], texts[1:]]),
        pa.array(["", *texts]).slice(1),
        pa.array([text.encode() for text in texts]),
        pa.array([text.encode() for text in texts], pa.large_binary()),
    ):
        assert AUCTIONS.check_json(lines).valid_rows.to_pylist() == [0, 2]
    assert AUCTIONS.check_json(pa.array([], pa.string())).valid.num_rows == 0
    assert AUCTIONS.check_json(pa.chunked_array([], pa.string())).valid.num_rows == 0


def test_good_texts_are_not_read_one_by_one() -> None:
    text = json.dumps(CHAIR | {"tags": ["a", "b"], "opened": "2024-05-01T10:00:00Z", "seller": {"rating": 3}})
    lines = pa.array([text] * 50_000)
    started = time.process_time()
    assert AUCTIONS.check_json(lines).valid.num_rows == 50_000
    # Five times what it takes: a machine under load must not fail the test, reading row by row must.
    assert time.process_time() - started < 0.5
