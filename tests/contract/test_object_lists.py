"""Lists of objects in events: every way in reads the same leaves of them, as values of multiple attributes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.errors import EventError
from tamis.pipeline.workers.inputs import Reader
from tamis.schema import Checked, Schema
from tamis.service.intake import door
from tamis.service.intake.arrow_rows import read_arrow
from tamis.service.intake.cloudevents import read_structured
from tests.schema.cases import as_dicts

_SEVERAL = ["optional", "multiple"]
SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "lines.sku": "string", "lines.count": "integer", "lines.parts.name": "string", "lines.maker": "string",
            "note": "string", "note.by": "string", "tag": "string", "ce.type": "string",
        },
        "event_types": {
            "order": {
                "lines.sku": _SEVERAL, "lines.count": _SEVERAL, "lines.parts.name": _SEVERAL, "lines.maker": "optional",
                "note": _SEVERAL, "note.by": _SEVERAL, "tag": _SEVERAL, "ce.type": "optional",
            }
        },
    }
)  # fmt: skip
FILTERS = {
    "absent": "lines.sku IS NULL",
    "present": "lines.parts.name IS NOT NULL",
    "a": "lines.sku = 'a'",
    "no a": "lines.sku != 'a'",
    "many": "lines.count > 3",
    "one maker": "lines.maker != 'm'",
    "by": "note.by = 'x' AND note IS NULL",
}

Leaves = dict[str, list[Any]]
Verdict = tuple[Leaves, set[tuple[str, str]]]


def leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The rule as the page says it, for events in which no name is given by two ways."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from leaves(member, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, name)
    elif value is not None:
        yield name, value


def reference(event: dict[str, Any]) -> Verdict:
    found: Leaves = {}
    for name, value in leaves(event, ""):
        found.setdefault(name, []).append(value)
    wrong = {(name, "R3") for name in found if name not in SCHEMA.attributes}
    if len(found.get("lines.maker", [])) > 1:
        wrong.add(("lines.maker", "R2"))
    return ({} if wrong else found), wrong


def verdicts(checked: Checked, count: int) -> list[Verdict]:
    wrong: list[set[tuple[str, str]]] = [set() for _ in range(count)]
    for row, name, rule in zip(
        *(checked.violations[name].to_pylist() for name in ("event", "attribute", "rule")), strict=True
    ):
        wrong[row].add((name, rule))
    valid = dict(zip(checked.valid_rows.to_pylist(), as_dicts(checked.valid), strict=True))
    return [(valid.get(row, {}), wrong[row]) for row in range(count)]


def leaf(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, values, st.none(), st.lists(st.one_of(values, st.none()), max_size=3))


def objects(members: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """One object, none, or a list of them, some of them null."""
    one = st.fixed_dictionaries({}, optional=members)
    return st.one_of(one, st.none(), st.lists(st.one_of(one, one, st.none()), max_size=3))


SKUS, NUMBERS, NAMES = st.sampled_from(["a", "b"]), st.integers(0, 7), st.sampled_from(["x", "é"])
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "lines": objects(
            {
                "sku": leaf(SKUS),
                "count": leaf(NUMBERS),
                "maker": leaf(st.just("m")),
                "parts": objects({"name": leaf(NAMES)}),
                "colour": leaf(SKUS),
            }
        ),
        "note": objects({"by": leaf(NAMES)}),
        "tag": leaf(SKUS),
    },
)

_TEXTS = pa.list_(pa.string())
_LINE = pa.struct(
    {"sku": _TEXTS, "count": pa.list_(pa.int64()), "maker": _TEXTS, "colour": _TEXTS,
     "parts": pa.list_(pa.struct({"name": _TEXTS}))}
)  # fmt: skip
_ROW = pa.struct({"lines": pa.list_(_LINE), "note": pa.large_list(pa.struct({"by": _TEXTS})), "tag": _TEXTS})


def typed(value: Any, kind: pa.DataType) -> Any:
    """The value as a column of this type holds it: whatever may be a list is one."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        items = value if isinstance(value, list) else [value]
        return None if value is None else [typed(item, kind.value_type) for item in items]
    if pa.types.is_struct(kind) and value is not None:
        return {field.name: typed(value.get(field.name), field.type) for field in kind}
    return value


def columns(events: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(pa.array([typed(event, _ROW) for event in events], _ROW))


def _texts(events: list[dict[str, Any]]) -> pa.Array:
    return pa.array([json.dumps(event, ensure_ascii=False) for event in events], pa.large_string())


def _alone(events: list[dict[str, Any]]) -> list[Verdict]:
    found: list[Verdict] = []
    for event in events:
        wrong: set[tuple[str, str]] = {(violation.attribute, violation.rule) for violation in SCHEMA.violations(event)}
        values = {} if wrong else as_dicts(SCHEMA.to_arrow([event]))[0]
        found.append((values, wrong))
    return found


def _spark(events: list[dict[str, Any]]) -> list[Verdict]:
    """Rows of Spark, whose structs' unknown members are passed over."""
    batch = columns(events)
    reader = Reader(SCHEMA, tuple(range(batch.num_columns)), tuple(batch.schema.names), check=True)
    read = reader.read(batch)
    assert read.violations is not None
    wrong = [{(one["attribute"], one["rule"]) for one in row or []} for row in read.violations.to_pylist()]
    valid = dict(zip(read.rows.tolist(), as_dicts(read.events), strict=True))
    return [(valid.get(row, {}), wrong[row]) for row in range(len(events))]


READERS: dict[str, Callable[[list[dict[str, Any]]], list[Verdict]]] = {
    "dicts": _alone,
    "JSON texts": lambda events: verdicts(SCHEMA.check_json(_texts(events)), len(events)),
    "Arrow columns": lambda events: verdicts(SCHEMA.check(columns(events)), len(events)),
}


@pytest.mark.parametrize("reader", READERS)
@given(events=st.lists(EVENTS, min_size=1, max_size=8))
def test_every_reader_gives_the_leaves_of_listed_objects(reader: str, events: list[dict[str, Any]]) -> None:
    assert READERS[reader](events) == [reference(event) for event in events]


@given(st.lists(EVENTS, min_size=1, max_size=8))
def test_rows_of_spark_give_them_too(events: list[dict[str, Any]]) -> None:
    known = [without_colour(event) for event in events]
    assert _spark(known) == [reference(event) for event in known]


def without_colour(value: Any) -> Any:
    if isinstance(value, list):
        return [without_colour(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: without_colour(member) for name, member in value.items() if name != "colour"}


@given(st.lists(EVENTS, min_size=1, max_size=8), st.sampled_from(["json", "arrow", "cloudevents"]), st.booleans())
def test_the_door_of_the_service_reads_them_too(events: list[dict[str, Any]], form: str, bulk: bool) -> None:
    match form:
        case "json":
            texts = _texts(events)
        case "arrow":
            sink = pa.BufferOutputStream()
            batch = columns(events)
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            texts = read_arrow(sink.getvalue().to_pybytes(), 100, 1 << 24)
        case _:
            context = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
            bodies = [json.dumps({**context, "data": event}).encode() for event in events]
            texts = pa.array([json.dumps(read_structured(body)[0][1]) for body in bodies], pa.large_string())
            texts = pa.array([_without(text, ("id", "source", "specversion")) for text in texts.to_pylist()])
    expected = {row for row, event in enumerate(events) if reference(event)[1]}
    repeats = door.FEW // len(events) + 1 if bulk else 1
    judged = door.judge(SCHEMA, pa.concat_arrays([texts] * repeats), ignore_unknown=False, event_bytes=1 << 20)
    assert {row % len(events) for row in judged.reasons} == expected
    assert len(judged.reasons) == len(expected) * repeats


def _without(text: str, names: tuple[str, ...]) -> str:
    """The event without the context attributes that the schema here has not."""
    body = json.loads(text)
    body["ce"] = {name: value for name, value in body["ce"].items() if name not in names}
    return json.dumps(body)


@given(st.lists(EVENTS, min_size=1, max_size=8))
def test_matches_and_absence_go_by_the_leaves(events: list[dict[str, Any]]) -> None:
    fitting = [event for event in map(without_colour, events) if not reference(event)[1]]
    index = tamis.compile(FILTERS, SCHEMA)
    flat = [reference(event)[0] for event in fitting]
    expected = tamis.compile(FILTERS, SCHEMA, matcher="naive").match(flat).to_lists()
    for given_as in (fitting, columns(fitting)):
        found = index.match(given_as).to_lists()
        assert [sorted(ids) for ids in found] == [sorted(ids) for ids in expected]


def test_what_is_there_is_not_taken_for_absent() -> None:
    schema = Schema.from_dict({"attributes": {"d.a.id": "string"}, "event_types": {"e": {"d.a.id": _SEVERAL}}})
    index = tamis.compile({"absent": "d.a.id IS NULL", "x": "d.a.id = 'x'"}, schema)
    event = {"d": {"a": [{"key1": "value1"}, {"id": "x"}]}}
    assert index.match([event]).to_lists() == [["x"]]
    assert index.match([{"d": {"a": [{"key1": "value1"}, {}]}}]).to_lists() == [["absent"]]
    assert index.match([{"d": {"a": [[{"id": "x"}]]}}]).to_lists() == [["x"]]


def test_two_objects_with_a_value_of_a_single_attribute_are_refused_by_its_name() -> None:
    event = {"lines": [{"maker": "m"}, {"maker": "m"}]}
    assert [str(violation) for violation in SCHEMA.violations(event)] == [
        "event 0: attribute 'lines.maker' takes one value, the event gives ['m', 'm'] (R2)"
    ]
    with pytest.raises(EventError, match=r"'lines.maker' takes one value"):
        tamis.compile({"m": "lines.maker = 'm'"}, SCHEMA).match([event])


def test_conditions_on_two_members_may_hold_in_two_objects() -> None:
    index = tamis.compile({"both": "lines.sku = 'a' AND lines.count = 2"}, SCHEMA)
    assert index.match([{"lines": [{"sku": "a", "count": 1}, {"sku": "b", "count": 2}]}]).to_lists() == [["both"]]


def test_objects_in_the_list_of_an_attribute_without_members_are_refused() -> None:
    event: dict[str, Any] = {"tag": ["a", {"b": "c"}]}
    batch = pa.record_batch({"tag": pa.array([[{"b": "c"}]])})
    for check in (
        lambda: SCHEMA.to_arrow([event]),
        lambda: SCHEMA.to_arrow(batch),
        lambda: tamis.compile({"none": "tag IS NULL"}, SCHEMA).match([event]),
    ):
        with pytest.raises(EventError, match=r"attribute 'tag': \{'b': 'c'\} is not a string"):
            check()
    assert len(SCHEMA.check_json(_texts([event]), ignore_unknown=True).violations) == 1


def test_values_and_objects_in_one_list_are_read_apart() -> None:
    event = {"note": ["p", {"by": "x"}]}
    assert as_dicts(SCHEMA.to_arrow([event])) == [{"note": ["p"], "note.by": ["x"]}]
    assert as_dicts(SCHEMA.check_json(_texts([event])).valid) == [{"note": ["p"], "note.by": ["x"]}]


def test_what_comes_by_two_ways_is_given_twice() -> None:
    twice: list[dict[str, Any]] = [
        {"lines.sku": "a", "lines": [{"sku": "b"}]},
        {"lines": [{"parts.name": "x"}, {"parts": {"name": "x"}}]},
    ]
    for event in twice:
        assert [violation.rule for violation in SCHEMA.violations(event)] == ["form"]
        assert SCHEMA.check_json(_texts([event])).violations["rule"].to_pylist() == ["form"]
    assert SCHEMA.check_json(pa.array(['{"lines": [{"sku": "a", "sku": "b"}]}'])).violations.num_rows == 1


def test_numbers_beyond_what_floats_hold_are_exact_in_listed_objects_too() -> None:
    texts = pa.array([f'{{"lines": [{{"count": {2**53 + 1}}}, {{"count": 1.0}}]}}'] * 3)
    assert as_dicts(SCHEMA.check_json(texts).valid) == [{"lines.count": [2**53 + 1, 1]}] * 3


def test_a_list_that_contains_itself_breaks_the_form() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert [violation.rule for violation in SCHEMA.violations({"lines": loop})] == ["form"]


def test_texts_with_listed_objects_are_read_in_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read one by one they would take twenty times as long."""
    from tamis.schema import json_lines

    monkeypatch.setattr(json_lines, "read_event", lambda *_: pytest.fail("an event was read by itself"))
    events: list[dict[str, Any]] = [
        {"lines": [{"sku": "a", "parts": [{"name": "x"}]}, {"count": row}], "note": [{"by": "é"}]} for row in range(50)
    ]
    one = [{"lines": {"sku": "a"}} for _ in range(50)]
    checked = SCHEMA.check_json(_texts([*events, *one]))
    assert checked.valid.num_rows == 100
