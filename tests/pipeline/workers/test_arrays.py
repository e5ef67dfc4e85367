"""The flat arrays that workers make: lists, paces, tallies."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.pipeline.workers.charging import id_lists, joined, number_lists, spread
from tamis.pipeline.workers.inputs import Pace
from tamis.pipeline.workers.jobs import Tally, first_of_each
from tests.pipeline.auction_day import SCHEMA


def _parts_of(rows: int) -> st.SearchStrategy[list[list[list[int]]]]:
    part = st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=rows, max_size=rows)
    return st.lists(part, min_size=1, max_size=4)


LISTS = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6)


@given(parts=st.integers(0, 6).flatmap(_parts_of))
def test_lists_of_several_shards_are_joined_row_by_row(parts: list[list[list[int]]]) -> None:
    arrays = [pa.array(part, pa.list_(pa.int64())) for part in parts]
    assert joined(arrays).to_pylist() == [list(chain.from_iterable(row)) for row in zip(*parts, strict=True)]


@given(LISTS, st.data())
def test_lists_are_spread_over_the_rows_of_their_events(lists: list[list[int]], data: st.DataObject) -> None:
    count = len(lists) + data.draw(st.integers(0, 4))
    rows = sorted(data.draw(st.permutations(range(count)))[: len(lists)])
    expected: list[list[int]] = [[] for _ in range(count)]
    for row, values in zip(rows, lists, strict=True):
        expected[row] = values
    told = spread(pa.array(lists, pa.list_(pa.int64())), np.array(rows, np.int64), count)
    assert told.to_pylist() == expected


def test_matches_become_lists_of_ids_or_of_numbers() -> None:
    index = tamis.compile({"a": "price > 1", "b": "price > 2"}, SCHEMA)
    matches = index.match([{"price": 0.5}, {"price": 3.0}])
    assert [sorted(ids) for ids in id_lists(matches).to_pylist()] == [[], ["a", "b"]]
    assert [sorted(numbers) for numbers in number_lists(matches, 10).to_pylist()] == [[], [10, 11]]
    assert number_lists(matches, 0).type == pa.list_(pa.int32())


def test_a_pace_takes_fewer_events_where_they_match_more() -> None:
    pace = Pace(10_000)
    batch = pa.record_batch({"n": pa.array(range(100_000))})
    pieces, most = pace.pieces(batch), 0
    for piece in pieces:
        matches_each = 10 if piece["n"][0].as_py() < 50_000 else 500
        pace.saw(piece.num_rows, matches_each * piece.num_rows)
        most = max(most, piece.num_rows)
    assert most == 1000
    assert next(pace.pieces(batch)).num_rows == 20


def test_a_pace_loses_no_event_and_keeps_their_order() -> None:
    pace = Pace(1_000_000)
    batches = [pa.record_batch({"n": pa.array(range(start, start + 700))}) for start in range(0, 7000, 700)]
    told = []
    for pieces in pace.rounds(iter(batches)):
        told += [number for piece in pieces for number in piece["n"].to_pylist()]
        pace.saw(sum(piece.num_rows for piece in pieces), 10)
    assert told == list(range(7000))


@pytest.mark.parametrize("merge_at", [2, 10**9])
def test_a_tally_counts_by_window_and_number(merge_at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.pipeline.workers.jobs.MERGE_AT", merge_at)
    tally = Tally(3)
    tally.add(np.array([5, 5, -7, 5]), np.array([0, 2, 1, 0]))
    tally.add(np.array([5, 6]), np.array([0, 0]))
    cells = sorted(zip(*(column.tolist() for column in tally.cells()), strict=True))
    assert cells == [(-7, 1, 1), (5, 0, 3), (5, 2, 1), (6, 0, 1)]
    assert len(tally) == 4


def test_an_empty_tally_has_no_cells() -> None:
    assert [column.tolist() for column in Tally(0).cells()] == [[], [], []]


@given(st.lists(st.lists(st.integers(0, 5), max_size=20), max_size=5), st.integers(0, 4))
def test_the_first_of_each_number_are_taken_up_to_the_limit(batches: list[list[int]], limit: int) -> None:
    taken = np.zeros(6, np.uint8)
    seen: dict[int, int] = {}
    for batch in batches:
        expected = []
        for place, number in enumerate(batch):
            if seen.get(number, 0) < limit:
                seen[number] = seen.get(number, 0) + 1
                expected.append(place)
        assert first_of_each(np.array(batch, np.int64), taken, limit).tolist() == expected
