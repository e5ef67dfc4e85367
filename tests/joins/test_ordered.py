"""The ordered index beside a sorted list."""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.joins.index.kernels import BLOCK, LAST_ITEM, LEAST_ITEM, PLACES, find, following, is_entry, preceding
from tamis.joins.index.ranges import Records
from tamis.joins.index.tables import OrderedIndex, entries_of
from tests.generated import cases

Entry = tuple[int, float, int]


def listed(index: OrderedIndex) -> list[Entry]:
    entries = index.entries()
    return list(zip(*(entries[name].tolist() for name in ("key", "value", "number")), strict=True))


def records(entries: list[Entry]) -> Records:
    keys, values, items = zip(*entries, strict=True) if entries else ((), (), ())
    # What stands beside an entry follows from its item, so that a wrong pairing is seen.
    item = np.array(items, np.int64)
    return entries_of(np.array(keys), np.array(values), item, item * 7919 % 1009, item + 0.25, item + 0.5)


def drawn(rng: np.random.Generator, count: int, keys: int) -> list[Entry]:
    # Few values, so that many entries agree in them.
    return [(int(rng.integers(keys)), float(rng.integers(12)), item) for item in range(count)]


@settings(max_examples=cases(40), deadline=None)
@given(seed=st.integers(0, 1 << 32), keys=st.sampled_from([1, 3, 200]), built=st.sampled_from([0, 1, 700]))
def test_what_comes_and_goes_stays_in_order(seed: int, keys: int, built: int) -> None:
    rng = np.random.default_rng(seed)
    entries = drawn(rng, 1500, keys)
    index = OrderedIndex.of(records(entries[:built]))
    expected = sorted(entries[:built])
    waiting = entries[built:]
    while waiting:
        coming, waiting = waiting[:100], waiting[100:]
        index.insert(records(coming))
        for entry in coming:
            insort(expected, entry)
        going = [expected[k] for k in rng.permutation(len(expected))[: rng.integers(0, 140)]]
        assert index.remove(records(going)) == len(going)
        assert index.remove(records(going)) == 0
        expected = sorted(set(expected) - set(going))
        assert listed(index) == expected
        assert len(index) == len(expected)


@settings(max_examples=cases(30), deadline=None)
@given(seed=st.integers(0, 1 << 32), count=st.sampled_from([0, 1, 90, 1000]))
def test_finding_is_bisection(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    entries = sorted(drawn(rng, count, 5))
    o = OrderedIndex.of(records(entries)).arrays
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
                    entry = o.entries[o.places[here].block, there]
                    assert (entry.key, entry.value, entry.number) == entries[at]
                    here, there = move(o, here, there)
                    at += step


@pytest.mark.parametrize("built", [0, 3 * BLOCK])
def test_blocks_know_the_least_end(built: int) -> None:
    rng = np.random.default_rng(7)
    entries = drawn(rng, 6 * BLOCK, 3)
    index = OrderedIndex.of(records(entries[:built]))
    index.insert(records(entries[built:]))
    index.remove(records([entries[k] for k in rng.permutation(len(entries))[: 5 * BLOCK]]))
    o = index.arrays
    for block in o.places["block"][: o.counters[PLACES]]:
        here = o.entries[block, : o.heads[block].length]
        assert o.heads[block].least == here["end"].min()
        assert (here["end"] == here["number"] * 7919 % 1009).all()
        assert (here["low"] == here["number"] + 0.25).all()
        assert (here["high"] == here["number"] + 0.5).all()


def test_blocks_that_empty_are_used_again() -> None:
    index = OrderedIndex()
    for start in range(0, 100 * BLOCK, BLOCK):
        entries = [(0, float(k), k) for k in range(start, start + BLOCK)]
        index.insert(records(entries))
        index.remove(records(entries))
    assert len(index.arrays.heads) == 16
