"""Filters bound in parts, as Spark's workers bind them, and joined, are the filters bound in one go."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.language import Bound, bind
from tamis.pipeline.compile import build, joined_bounds
from tamis.testing import Generated, redundant_crowds
from tests.contract.every import answers
from tests.generated import cases
from tests.language.auction import SCHEMA
from tests.language.test_meaning import filled


@settings(max_examples=cases(40))
@given(workload=redundant_crowds(), parts=st.integers(1, 5))
def test_filters_bound_in_parts_answer_like_filters_compiled_in_one_go(workload: Generated, parts: int) -> None:
    rows = pa.table({"id": list(workload.subscriptions), "filter": list(workload.subscriptions.values())})
    length = -(-rows.num_rows // parts)
    pieces = [rows["filter"].combine_chunks()[first : first + length] for first in range(0, rows.num_rows, length)]
    bound = [bind(piece, workload.schema) for piece in pieces]
    joined = joined_bounds(bound)
    assert joined.count == rows.num_rows
    assert _by_row(joined) == {
        number * length + row: filters for number, one in enumerate(bound) for row, filters in _by_row(one).items()
    }
    index = build(rows, joined, workload.schema, None)
    here = tamis.compile(workload.subscriptions, workload.schema)
    assert [(id, str(error)) for id, error in index.errors] == [(id, str(error)) for id, error in here.errors]
    assert answers(index, workload.events) == answers(here, workload.events)


@pytest.mark.parametrize(
    "texts",
    [
        ("price IS NOT NULL", "price > 10 OR price IS NOT NULL"),
        ("price IS NULL AND price > 5", "price IS NULL AND price BETWEEN 1 AND 2", "FALSE"),
        ("title = 'a' AND title IS NULL", "price > 5 AND price IS NULL"),
        ("price > 5 AND price IS NULL", "title = 'a' AND title IS NULL", "bids = 3 AND bids IS NULL"),
    ],
)
def test_texts_of_different_shapes_with_one_meaning_are_joined(texts: tuple[str, ...]) -> None:
    joined = joined_bounds([bind(pa.array([text] * 20), SCHEMA) for text in texts])
    rows = _by_row(joined)
    assert list(rows) == list(range(20 * len(texts)))
    assert len({str(filters) for filters in rows.values()}) == 1


def test_blocks_of_one_form_become_one() -> None:
    joined = joined_bounds([bind(pa.array([f"price > {row}" for row in range(30)]), SCHEMA)] * 3)
    assert [block.rows.tolist() for block in joined.blocks] == [list(range(90))]


def _by_row(bound: Bound) -> dict[int, list[object]]:
    """What each row's filter is, in order of row: its conjuncts by blocks, those of `terms` in any order."""
    found: dict[int, list[object]] = {}
    for blocks in (bound.blocks, bound.terms):
        for block in blocks:
            for place, row in enumerate(block.rows.tolist()):
                found.setdefault(row, []).append(filled(block, place))
    return {row: sorted(found[row], key=str) for row in sorted(found)}
