"""The data structures by themselves, compiled and through their Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.lab.le_subscribe import gough as automata
from tamis.lab.le_subscribe.clustering import distinct_runs
from tamis.lab.le_subscribe.gough import grow
from tamis.lab.le_subscribe.hanson import ABOVE, AT, BELOW, mark
from tamis.matching.codes.encoding import HIGHEST, LOWEST
from tamis.testing import reference_matches
from tests.contract.every import answers
from tests.lab.le_subscribe.test_work import EVENTS, SCHEMA, drawn


def plain(kernel: Any) -> Any:
    return getattr(kernel, "py_func", kernel)


@pytest.mark.parametrize("kernel", [distinct_runs, plain(distinct_runs)])
def test_equal_runs_have_one_number(kernel: Any) -> None:
    runs = [[1, 2], [1], [1, 2], [], [2, 1], [1], []]
    offsets = np.cumsum([0, *map(len, runs)]).astype(np.int64)
    words = np.array([word for run in runs for word in run], np.int32)
    table, numbers, firsts = np.full(16, -1, np.int32), np.empty(7, np.int32), np.empty(7, np.int32)
    with np.errstate(over="ignore"):
        assert kernel(offsets, words, table, numbers, firsts) == 4
    assert numbers.tolist() == [0, 1, 0, 2, 3, 1, 2]
    assert firsts[:4].tolist() == [0, 1, 3, 4]
    assert sorted(table[table >= 0].tolist()) == [0, 1, 2, 3]


bounds = st.integers(0, 12)


@given(
    intervals=st.lists(st.tuples(bounds, bounds).map(sorted), min_size=1, max_size=20),
    code=st.integers(-1, 14),
    compiled=st.booleans(),
)
def test_the_way_of_a_value_meets_one_mark_of_each_interval_it_lies_in(
    intervals: list[list[int]], code: int, compiled: bool
) -> None:
    keys = sorted({bound for interval in intervals for bound in interval})
    begins = np.array([2 * keys.index(low) + 1 for low, _ in intervals])
    stops = np.array([2 * keys.index(high) + 1 for _, high in intervals])
    rows, firsts = np.arange(len(intervals), dtype=np.int32), np.array([0, len(keys)])
    trees, counts = np.zeros(len(intervals), np.int64), np.zeros(3 * len(keys), np.int64)
    run = mark if compiled else plain(mark)
    run(firsts, trees, begins, stops, rows, counts, rows, False)
    starts = np.concatenate([[0], np.cumsum(counts)])
    marks = np.empty(starts[-1], np.int32)
    run(firsts, trees, begins, stops, rows, starts.copy(), marks, True)
    met: list[int] = []
    left, right = 0, len(keys)
    while left < right:
        node = (left + right) // 2
        where = AT if code == keys[node] else BELOW if code < keys[node] else ABOVE
        met += marks[starts[3 * node + where] : starts[3 * node + where + 1]].tolist()
        left, right = (left, node) if where == BELOW else (node + 1, right) if where == ABOVE else (0, 0)
    assert sorted(met) == [i for i, (low, high) in enumerate(intervals) if low <= code <= high]


@pytest.mark.parametrize("kernel", [grow, plain(grow)])
def test_an_automaton_that_does_not_fit_is_not_made(kernel: Any) -> None:
    count = 30
    offsets = np.arange(0, 2 * count + 1, 2).astype(np.int32)
    columns = np.tile(np.array([0, 1], np.int32), count)
    lows = np.array([bound for k in range(count) for bound in (k, count - k)], np.int32)
    highs = np.full(2 * count, HIGHEST, np.int32)
    members = np.arange(count, dtype=np.int32)
    with np.errstate(over="ignore"):
        assert not kernel(offsets, columns, lows, highs, members, 200)[0]
        fits, node_columns, absents, edge_starts, cuts, nexts, out_starts, outs = kernel(
            offsets, columns, lows, highs, members, 20_000
        )
    assert fits
    assert node_columns[0] == 0
    assert (absents == -1).all()  # every conjunction asks for both
    assert cuts[0] == LOWEST
    assert len(nexts) == edge_starts[-1] == len(cuts) == len(out_starts) - 1
    assert out_starts[-1] == len(outs)


@pytest.mark.parametrize("most", [1, 64, 1000])
def test_automata_are_split_until_they_fit(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    subscriptions = drawn(400, 7)
    whole = tamis.compile(dict(list(subscriptions.items())[:10]), SCHEMA, matcher="gough")
    assert len(whole.matcher._levels[0]._own[0].roots) == 1  # type: ignore[attr-defined]
    monkeypatch.setattr(automata, "LEAST", 64)
    monkeypatch.setattr(automata, "MOST", most)
    index = tamis.compile(subscriptions, SCHEMA, matcher="gough")
    assert len(index.matcher._levels[0]._own[0].roots) > 10  # type: ignore[attr-defined]
    assert answers(index, EVENTS) == reference_matches(subscriptions, SCHEMA, EVENTS)


def test_gough_is_rebuilt_on_every_addition() -> None:
    subscriptions = drawn(300, 8)
    items = list(subscriptions.items())
    index = tamis.compile(dict(items[:200]), SCHEMA, matcher="gough")
    for key, text in items[200:205]:
        index.add({key: text})
        index.match(EVENTS)
        assert len(index.matcher._levels) == 1  # type: ignore[attr-defined]
    index.add(dict(items[205:]))
    assert len(index.matcher._levels) == 1  # type: ignore[attr-defined]
    assert answers(index, EVENTS) == reference_matches(subscriptions, SCHEMA, EVENTS)
