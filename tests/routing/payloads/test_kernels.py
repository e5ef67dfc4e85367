"""The least recently used makes room, as in a dictionary that is kept in order."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.routing.payloads.kernels import NOWHERE, acknowledged, admitted, arrived, found, has_gone, store_of, used
from tests.generated import cases

KEYS = st.integers(0, 12).map(lambda n: n * 2**58 - 5)  # they fall on few places of the hash table


@settings(max_examples=cases(100), deadline=None)
@given(st.integers(0, 5), st.lists(st.tuples(st.integers(0, 1), KEYS), max_size=60))
def test_keys_come_and_go_as_in_an_ordered_dictionary(capacity: int, keys: list[tuple[int, int]]) -> None:
    recent = store_of(2, 1, capacity, capacity).repository
    reference: list[OrderedDict[int, None]] = [OrderedDict(), OrderedDict()]
    for node, key in keys:
        mine = reference[node]
        assert (used(recent, node, key) != NOWHERE) == (key in mine)
        if key in mine:
            mine.move_to_end(key)
        else:
            admitted(recent, node, key, True)
            mine[key] = None
            if len(mine) > capacity:
                mine.popitem(last=False)
        for which in (0, 1):
            there = {key for _, key in keys if found(recent, which, key) != NOWHERE}
            assert there == set(reference[which])


@pytest.mark.parametrize("link", [0, 63, 64, 129])
def test_a_forgotten_entry_has_gone_nowhere(link: int) -> None:
    store = store_of(1, 130, 1, 1)
    arrived(store, 0, 7, True, True)
    acknowledged(store, 0, 7, link)
    assert has_gone(store, 0, 7, link)
    assert not has_gone(store, 0, 7, link - 1)
    arrived(store, 0, 8, True, True)
    assert not has_gone(store, 0, 7, link)
    arrived(store, 0, 7, True, True)
    assert not has_gone(store, 0, 7, link)


def test_what_passes_by_makes_room_for_what_is_wanted() -> None:
    store = store_of(1, 1, 10, 2)
    for payload, wanted in ((1, True), (2, False), (3, False), (4, True)):
        assert arrived(store, 0, payload, True, wanted)
    assert [found(store.repository, 0, payload) != NOWHERE for payload in (1, 2, 3, 4)] == [True, False, False, True]
    arrived(store, 0, 1, False, False)
    arrived(store, 0, 5, True, True)
    assert found(store.repository, 0, 1) == NOWHERE
