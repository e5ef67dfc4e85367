"""The strategies generate what they promise."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tamis.errors import FilterTooComplex
from tamis.language import parse
from tamis.language.forms import normalise
from tamis.matching.naive import event_values, holds
from tamis.schema import Schema
from tamis.testing import events, filters, reference_matches, schemas, workloads, written_filters
from tamis.testing.generated import Generated

_GENERATE_ONLY = settings(max_examples=300, database=None, derandomize=True, phases=[Phase.generate])


@settings(max_examples=100)
@given(schema=schemas())
def test_schemas_survive_their_dict_form(schema: Schema) -> None:
    assert Schema.from_dict(schema.to_dict()) == schema


@settings(max_examples=120)
@given(data=st.data())
def test_filters_are_accepted_by_their_schema(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    text = data.draw(filters(schema))
    tree = parse(text, schema)
    with suppress(FilterTooComplex):
        normalise(tree, schema)


@settings(max_examples=200)
@given(data=st.data())
def test_the_oracle_and_the_parser_agree_with_what_was_meant(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    written = data.draw(written_filters(schema))
    rows = data.draw(st.lists(events(schema), max_size=5))
    tree = parse(written.text, schema)
    for values in event_values(schema.to_arrow(rows), schema):
        assert holds(tree, values, schema) == written.meaning(values, False)
        assert holds(tree, values, schema, negated=True) == written.meaning(values, True)


@settings(max_examples=120)
@given(data=st.data())
def test_events_are_valid(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    event = data.draw(events(schema))
    assert schema.violations(event) == []


@settings(max_examples=100)
@given(workload=workloads())
def test_workloads_have_an_answer(workload: Generated) -> None:
    found = reference_matches(workload.subscriptions, workload.schema, workload.events)
    assert len(found) == len(workload.events)


def test_filters_cover_the_language() -> None:
    seen: list[str] = []

    @_GENERATE_ONLY
    @given(workload=workloads())
    def collect(workload: Generated) -> None:
        seen.extend(workload.subscriptions.values())

    collect()
    texts = " ; ".join(seen)
    for part in (
        "NOT (", " OR ", " AND ", " IN (", "NOT IN", "BETWEEN", "NOT BETWEEN", " LIKE ", " ILIKE ", "RLIKE", "NOT LIKE",
        "ESCAPE", "IS NULL", "IS NOT NULL", "CONTAINS", '"', "<>", "TIMESTAMP '", "TRUE", "event_type", "740993",
    ):  # fmt: skip
        assert part in texts, part


def test_generated_events_satisfy_generated_filters_often_enough_to_tell_matchers_apart() -> None:
    matched = pairs = 0

    @_GENERATE_ONLY
    @given(workload=workloads())
    def count(workload: Generated) -> None:
        nonlocal matched, pairs
        found = reference_matches(workload.subscriptions, workload.schema, workload.events)
        matched += sum(map(len, found))
        pairs += len(workload.events) * len(workload.subscriptions)

    count()
    assert 0.1 < matched / pairs < 0.7
