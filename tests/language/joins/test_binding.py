"""Many join texts at once: bound by shape, with the same outcome as one by one."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.errors import FilterError
from tamis.language import Filter
from tamis.language.cutting import fill_conjunct, literals_of
from tamis.language.joins import BoundJoins, Join, are_joins, bind_joins, parse_join
from tamis.schema import Schema
from tamis.testing import GeneratedJoins, join_schemas, join_workloads, joins
from tests.generated import cases
from tests.language.joins.test_parsing import FROM, SCHEMA


def filled(bound: BoundJoins) -> dict[int, Join]:
    """The join of each row, with its values."""
    found = {}
    for block in bound.blocks:
        for row, values in zip(block.rows.tolist(), literals_of(block.columns, len(block.rows)), strict=True):
            filters = tuple(
                Filter(tuple(fill_conjunct(conjunct, values) for conjunct in filter.conjuncts))
                for filter in block.template.filters
            )
            found[row] = Join(block.template.signature, filters, block.template.columns)
    return found


def test_texts_of_one_shape_share_a_block() -> None:
    texts = [f"{FROM} WHERE PER BETWEEN {n} AND {n + 1}.5 AND Rating > {n} AND Analyst = 'a{n}'" for n in range(100)]
    bound = bind_joins(texts, SCHEMA)
    assert bound.errors == []
    assert len(bound.blocks) == 1
    assert filled(bound)[42] == parse_join(texts[42], SCHEMA)


def test_a_text_that_is_none_is_reported_and_stops_no_other() -> None:
    texts: list[Any] = [FROM, "SELECT * FROM", None, 7, f"{FROM} WHERE PER > 'a'", f"{FROM} WHERE PER > 1", "\ud800"]
    for many in (texts, texts * 10):
        bound = bind_joins(many, SCHEMA)
        assert sorted(filled(bound)) == [row for row in range(len(many)) if row % 7 in (0, 5)]
        assert [row % 7 for row, _ in bound.errors[:5]] == [1, 2, 3, 4, 6]
        assert "a join is a text" in str(bound.errors[1][1])


def test_a_literal_that_does_not_fit_its_shape_is_parsed_by_itself() -> None:
    texts = [f"{FROM} WHERE Stocks.day > {n}" for n in (1, 2, 9223372036854775807, 99999999999999999999)]
    bound = bind_joins(pa.array(texts * 10), SCHEMA)
    assert bound.errors == []
    for row, join in filled(bound).items():
        expected = parse_join(texts[row % 4], SCHEMA)
        assert join.signature == expected.signature
        assert len(join.filters) == 2


@given(st.data(), join_schemas())
@settings(max_examples=cases(60), deadline=None)
def test_binding_agrees_with_parsing(data: st.DataObject, schema: Schema) -> None:
    texts = [data.draw(joins(schema)).text for _ in range(data.draw(st.integers(1, 4)))]
    texts += [text.replace("1", "2") for text in texts] * 9
    bound = bind_joins(texts, schema)
    found = filled(bound)
    refused = dict(bound.errors)
    assert sorted([*found, *refused]) == list(range(len(texts)))
    for row, text in enumerate(texts):
        if row in refused:
            with pytest.raises(FilterError, match=re.escape(refused[row].message)):
                parse_join(text, schema)
        else:
            assert found[row].signature == parse_join(text, schema).signature


@given(join_workloads(max_subscriptions=1, max_events=1))
@settings(max_examples=10, deadline=None)
def test_generated_texts_are_taken_for_joins(workload: GeneratedJoins) -> None:
    assert are_joins(pa.array(list(workload.texts.values()))).all()


def test_filters_are_not_taken_for_joins() -> None:
    texts = [
        "select > 5",
        "select IN (1)",
        "Select IS NULL",
        "select.x = 4",
        "selected = 4",
        "select",
        "",
        None,
        "(x = 1)",
    ]
    assert not are_joins(pa.array(texts, pa.string())).any()
    wanted = ["SELECT * FROM a", "\n select\t*", 'select "a" from b', "SELECT a, b FROM c", "SELECT DISTINCT a FROM b"]
    assert are_joins(pa.array(wanted)).all()
