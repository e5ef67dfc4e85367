"""Answers in parts are put together event by event, with nothing lost and nothing twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.matching.base import matcher as module
from tamis.matching.base.matcher import Answer, Matches, Part, Work

rows = st.lists(st.lists(st.integers(0, 4), unique=True, max_size=5), min_size=6, max_size=6)


def part(first: int, found: list[list[int]], before: int = 0) -> Part:
    """A part, perhaps one that begins within a larger buffer."""
    offsets = before + np.cumsum([0, *map(len, found)], dtype=np.int64)
    numbers = np.array([99] * before + [number for row in found for number in row], np.int32)
    return Part(first, offsets, numbers)


@given(sources=st.lists(rows, max_size=3), cut=st.integers(0, 6), before=st.integers(0, 3))
def test_parts_of_several_sources_are_put_together(sources: list[list[list[int]]], cut: int, before: int) -> None:
    answers, expected = [], [[] for _ in range(6)]  # type: ignore[var-annotated]
    for source, found in enumerate(sources):
        names = pa.array([f"{source}-{number}" for number in range(5)])
        answers.append(Answer(names, [part(0, found[:cut], before), part(cut, found[cut:])]))
        for event, row in enumerate(found):
            expected[event] += [f"{source}-{number}" for number in row]
    matches = Matches(6, answers)
    assert matches.to_lists() == expected
    assert len(matches) == sum(map(len, expected))
    assert matches.counts.tolist() == [len(row) for row in expected]
    assert matches.offsets.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    assert matches.numbers.dtype == np.int64
    assert matches.names.take(pa.array(matches.numbers)).to_pylist() == [id for row in expected for id in row]
    table = matches.to_arrow()
    assert table["event"].to_pylist() == [event for event, row in enumerate(expected) for _ in row]
    assert table["subscription"].to_pylist() == [id for row in expected for id in row]


def test_names_that_are_equal_arrays_are_still_different_sources() -> None:
    found = [[0], [1]]
    answers = [Answer(pa.array(["a", "b"]), [part(0, found)]), Answer(pa.array(["a", "b"]), [part(0, found)])]
    assert Matches(2, answers).numbers.tolist() == [0, 2, 1, 3]


def test_one_part_that_covers_only_some_events() -> None:
    matches = Matches(5, [Answer(pa.array(["a", "b"]), [part(2, [[1], [], [0, 1]])])])
    assert matches.to_lists() == [[], [], ["b"], [], ["a", "b"]]


def test_ids_of_any_numbers_in_any_order() -> None:
    matches = Matches(
        0, [Answer(pa.array(["a", "b"]), []), Answer(pa.array([], pa.string()), []), Answer(pa.array(["c"]), [])]
    )
    assert matches.ids([2, 0, 0, 1, 2]).to_pylist() == ["c", "a", "a", "b", "c"]
    assert matches.ids([]).to_pylist() == []
    assert matches.names.to_pylist() == ["a", "b", "c"]


def test_large_strings_and_strings_go_together() -> None:
    answers = [
        Answer(pa.array(["a"], pa.large_string()), [part(0, [[0]])]),
        Answer(pa.array(["b"], pa.string()), [part(0, [[0]])]),
    ]
    assert Matches(1, answers).to_lists() == [["a", "b"]]
    assert Matches(1, answers).names.type == pa.large_string()


def test_ids_that_are_too_much_for_strings_become_large_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    real = module._take

    def overflowing(names: list[pa.Array], bases: Any, numbers: Any) -> pa.Array:
        if names[0].type == pa.string():
            raise pa.ArrowInvalid("offset overflow while concatenating arrays")
        return real(names, bases, numbers)

    monkeypatch.setattr(module, "_take", overflowing)
    found = Matches(1, [Answer(pa.array(["a", "b"]), []), Answer(pa.array(["c"]), [])]).ids([2, 1, 1])
    assert found.type == pa.large_string()
    assert found.to_pylist() == ["c", "b", "b"]


def test_no_answers_and_no_events() -> None:
    assert Matches(2, []).to_lists() == [[], []]
    assert Matches(0, []).to_arrow().num_rows == 0


def test_work_is_counted_from_nothing() -> None:
    work = Work()
    counted = ("candidates", "buckets", "probes", "predicates", "nodes")
    assert [getattr(work, name) for name in counted] == [0] * 5
    work.counters += [5, 4, 3, 2, 1]
    assert [getattr(work, name) for name in counted] == [5, 4, 3, 2, 1]
