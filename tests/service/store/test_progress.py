"""How far a shared log has come: moved with what it stands for, by the stream that has it, and by no other."""

from __future__ import annotations

import pytest

from tamis.service.store import Reached, Store, StoreError
from tests.service.store.made import events, pairs, subscribed

LOG = "kafka events"


def record(store: Store, stream: str, batch: int, offsets: str) -> bool:
    here = [batch << 24]
    its = events(here), pairs(*((position, 1) for position in here))
    return store.notifications.record(stream, batch, *its, reached=Reached(LOG, stream, offsets))


def take_over(store: Store, stream: str) -> None:
    store.progress.take_over(store.progress.of(LOG) or Reached(LOG, "", ""), stream)


def test_a_log_is_at_where_its_last_batch_ended(any_store: Store) -> None:
    subscribed(any_store)
    assert any_store.progress.of(LOG) is None
    take_over(any_store, "a")
    assert any_store.progress.of(LOG) == Reached(LOG, "a", "")
    assert record(any_store, "a", 1, "one")
    assert record(any_store, "a", 2, "two")
    assert not record(any_store, "a", 2, "two again"), "a batch that is there moves nothing"
    take_over(any_store, "b")
    assert any_store.progress.of(LOG) == Reached(LOG, "b", "two"), "whoever takes over goes on from there"


def test_a_stream_that_was_overtaken_records_nothing_more(any_store: Store) -> None:
    subscribed(any_store)
    take_over(any_store, "a")
    assert record(any_store, "a", 1, "one")
    take_over(any_store, "b")
    with pytest.raises(StoreError, match="the log kafka events is matched by another service by now"):
        record(any_store, "a", 2, "two")
    assert any_store.notifications.head() == 1 << 24
    assert record(any_store, "b", 2, "two"), "nothing of it is left in the way"


def test_whoever_takes_over_from_a_place_that_was_left_meanwhile_is_refused(any_store: Store) -> None:
    subscribed(any_store)
    begun = Reached(LOG, "", "")
    take_over(any_store, "a")
    with pytest.raises(StoreError, match="matched by another service by now"):
        any_store.progress.take_over(begun, "b")
    seen = any_store.progress.of(LOG)
    assert seen is not None
    assert record(any_store, "a", 1, "one")
    with pytest.raises(StoreError, match="matched by another service by now"):
        any_store.progress.take_over(seen, "b")
    assert any_store.progress.of(LOG) == Reached(LOG, "a", "one")
    assert record(any_store, "a", 2, "two"), "nothing was taken from it"
