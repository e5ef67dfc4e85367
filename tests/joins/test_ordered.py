"""The ordered index beside a sorted list."""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.joins.kernels import BLOCK, LAST_ITEM, LEAST_ITEM, find, following, is_entry, preceding
from tamis.joins.ordered import OrderedIndex

Entry = tuple[int, float, int]


def listed(index: OrderedIndex) -> list[Entry]:
    return list(zip(*(column.tolist() for column in index.entries()), strict=True))


def arrays(entries: list[Entry]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    keys, values, items = zip(*entries, strict=True) if entries else ((), (), ())
    return np.array(keys, np.int64), np.array(values, np.float64), np.array(items, np.int64)


def drawn(rng: np.random.Generator, count: int, keys: int) -> list[Entry]:
    # Few values, so that many entries agree in them.
    return [(int(rng.integers(keys)), float(rng.integers(12)), item) for item in range(count)]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1 << 32), keys=st.sampled_from([1, 3, 200]), built=st.sampled_from([0, 1, 700]))
def test_what_comes_and_goes_stays_in_order(seed: int, keys: int, built: int) -> None:
    rng = np.random.default_rng(seed)
    entries = drawn(rng, 1500, keys)
    index = OrderedIndex.of(*arrays(entries[:built]))
    expected = sorted(entries[:built])
    waiting = entries[built:]
    while waiting:
        coming, waiting = waiting[:100], waiting[100:]
        index.insert(*arrays(coming))
        for entry in coming:
            insort(expected, entry)
        going = [expected[k] for k in rng.permutation(len(expected))[: rng.integers(0, 140)]]
        assert index.remove(*arrays(going)) == len(going)
        assert index.remove(*arrays(going)) == 0
        expected = sorted(set(expected) - set(going))
        assert listed(index) == expected
        assert len(index) == len(expected)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1 << 32), count=st.sampled_from([0, 1, 90, 1000]))
def test_finding_is_bisection(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    entries = sorted(drawn(rng, count, 5))
    o = OrderedIndex.of(*arrays(entries)).arrays
    for key, value in [(int(rng.integers(-1, 7)), float(rng.integers(-1, 13))) for _ in range(30)]:
        for item in (LEAST_ITEM, LAST_ITEM):
            place, offset = find(o, key, value, item)
            position = bisect_left(entries, (key, value, item))
            for move, step in ((following, 1), (preceding, -1)):
                here, there, at = place, offset, position
                if step < 0:
                    here, there = move(o, here, there)
                    at -= 1
                for _ in range(3):
                    assert is_entry(o, here) == (0 <= at < len(entries))
                    if not is_entry(o, here):
                        break
                    block = o.order[here]
                    assert (o.keys[block, there], o.values[block, there], o.items[block, there]) == entries[at]
                    here, there = move(o, here, there)
                    at += step


@pytest.mark.parametrize("built", [0, 3 * BLOCK])
def test_blocks_know_their_least_companion(built: int) -> None:
    rng = np.random.default_rng(7)
    entries = drawn(rng, 6 * BLOCK, 3)
    companions = rng.random((len(entries), 2))
    index = OrderedIndex.of(*arrays(entries[:built]), companions[:built])
    if not built:
        index = OrderedIndex(companions=2)
    index.insert(*arrays(entries[built:]), companions[built:])
    index.remove(*arrays([entries[k] for k in rng.permutation(len(entries))[: 5 * BLOCK]]))
    o = index.arrays
    for block in o.order[: o.counters[0]]:
        here = slice(0, o.length[block])
        assert o.least[block] == o.companions[block, here, 0].min()
        assert (o.companions[block, here] == companions[o.items[block, here]]).all()


def test_blocks_that_empty_are_used_again() -> None:
    index = OrderedIndex()
    for start in range(0, 100 * BLOCK, BLOCK):
        entries = [(0, float(k), k) for k in range(start, start + BLOCK)]
        index.insert(*arrays(entries))
        index.remove(*arrays(entries))
    assert len(index.arrays.order) == 16
