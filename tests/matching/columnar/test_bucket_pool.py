"""Every entry stands in the pool where it is said to stand, and can be found and struck out there."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import TamisError
from tamis.matching.columnar import level as module
from tamis.matching.columnar.bucket_kernels import fill_buckets, sort_by
from tamis.matching.columnar.level import ColumnarLevel
from tamis.matching.columnar.planning_kernels import mix
from tests.matching.columnar.subject import found, level_of


def _mixed(count: int) -> dict[str, str]:
    """Subscriptions of many shapes, so that segments of every form come about."""
    rng = random.Random(count)
    forms = [
        lambda k: f"n = {k % 50} AND m > {k}",
        lambda k: f"n BETWEEN {k} AND {k + 9} AND f < {k}.5",
        lambda k: f"s = 'v{k % 7}' AND n < {k} AND m >= {k} AND f > {k % 5}",
        lambda k: f"m = {k % 30} AND n != {k}",
        lambda k: f"m IN ({k}, {k + 1}, {k % 10})",
        lambda k: f"tags = 'v{k % 40}' AND sizes > {k}",
        lambda k: f"f > {k}.25 OR n = {k}",
        lambda k: " AND ".join(rng.sample([f"n > {k}", f"m > {k}", f"f > {k}", "s > 'b'", "t < 'x'", "flag"], 4)),
        lambda k: f"s LIKE '%v{k % 11}' AND n > {k % 13}",
    ]
    return {str(k): rng.choice(forms)(k) for k in range(count)}


MIXED = _mixed(3000)


@pytest.fixture(scope="module")
def level() -> ColumnarLevel:
    return level_of(MIXED)


def entries_of(level: ColumnarLevel, number: int) -> Any:
    """Where a subscription stands in the pool."""
    conjuncts, ends = level.conjuncts, level._buckets.entry_ends
    owners = np.concatenate([np.arange(conjuncts.simple), conjuncts.owners])
    places = [np.arange(ends[c], ends[c + 1]) for c in np.flatnonzero(owners == number)]
    return level._buckets.positions[np.concatenate(places)] if places else np.zeros(0, np.int32)


def test_every_entry_stands_where_it_is_said_to_stand(level: ColumnarLevel) -> None:
    ends, positions = level._buckets.entry_ends, level._buckets.positions
    conjuncts = np.repeat(np.arange(len(level.conjuncts)), np.diff(ends))
    assert ends[0] == 0
    assert ends[-1] == len(positions)
    assert (level._buckets.pool[positions] == conjuncts).all()
    assert len(np.unique(positions)) == len(positions)
    assert (np.diff(ends) >= 1).all()  # no conjunction was forgotten


def test_removing_strikes_out_exactly_one_subscription() -> None:
    level = level_of(MIXED)
    for id in ("0", "17", "1234", "2999"):
        number = level.find(id)
        assert number is not None
        before = level._buckets.pool.copy()
        places = entries_of(level, number)
        level.remove(number)
        changed = np.flatnonzero(before != level._buckets.pool)
        assert changed.tolist() == sorted(places.tolist())
        assert (level._buckets.pool[changed] == -1).all()
        assert level.find(id) is None
    assert len(level) == len(MIXED) - 4


def test_removing_many_at_once_is_removing_them_one_by_one() -> None:
    one_by_one, at_once = level_of(MIXED), level_of(MIXED)
    numbers = np.arange(0, len(MIXED), 3)
    for number in numbers.tolist():
        one_by_one.remove(number)
    at_once.remove_all(numbers)
    assert (one_by_one._buckets.pool == at_once._buckets.pool).all()
    assert one_by_one.gone.tolist() == at_once.gone.tolist() == numbers.tolist()
    assert len(one_by_one) == len(at_once)


def test_a_subscription_that_can_never_match_is_removed_like_any_other() -> None:
    level = level_of({"never": "FALSE", "a": "n = 1", "b": "n = 1 OR m = 1"})
    number = level.find("never")
    assert number is not None
    level.remove(number)
    assert level.find("never") is None
    assert len(level) == 2
    assert found(level, [{"n": 1, "m": 1}]) == [["a", "b"]]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2**62) | st.integers(0, 9)), max_size=60))
def test_every_key_is_found_in_its_groups_table(entries: list[tuple[int, int]]) -> None:
    groups = np.array([group for group, _ in entries], np.int32)
    keys = np.array([key for _, key in entries], np.int64)
    slots, starts, ends, order = fill_buckets(3, groups, keys, np.bincount(groups, minlength=3))
    buckets: dict[tuple[int, int], list[int]] = {}
    for position, entry in enumerate(entries):
        buckets.setdefault(entry, []).append(position)
    for (group, key), members in buckets.items():
        mask = int(starts[group + 1] - starts[group]) - 1
        slot = int(mix(key)) & mask
        while slots[2 * (starts[group] + slot)] != key:
            assert slots[2 * (starts[group] + slot)] != -1
            slot = (slot + 1) & mask
        bucket = slots[2 * (starts[group] + slot) + 1]
        assert sorted(order[ends[bucket] : ends[bucket + 1]].tolist()) == members
    assert len(ends) - 1 == len(buckets)
    # Each table has a free slot, so that a search for what is not there ends.
    for group in range(3):
        assert -1 in slots[2 * starts[group] : 2 * starts[group + 1] : 2]


@pytest.mark.parametrize("function", [sort_by, sort_by.py_func], ids=["compiled", "interpreted"])
@given(st.lists(st.integers(0, 5), max_size=30))
def test_entries_are_sorted_by_key_and_equal_ones_keep_their_order(function: Any, keys: list[int]) -> None:
    entries = np.arange(len(keys))
    function(np.array(keys, np.int64), entries)
    assert entries.tolist() == sorted(range(len(keys)), key=keys.__getitem__)


def test_more_words_than_can_be_numbered_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NUMBERED", 100)
    with pytest.raises(TamisError, match="compile them into several indexes"):
        level_of([f"n = {k}" for k in range(100)])
