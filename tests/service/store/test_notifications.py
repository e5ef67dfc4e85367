"""Notifications: recorded batch by batch, read from any place on, kept for a while."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from tamis.service.store import Notified, Pair, Store, StoredEvent, StoreError, notifications
from tests.service.store.made import NOON, events, pairs, recorded, subscribed

BATCH = 1 << 24


def test_a_batch_is_read_as_it_was_recorded(any_store: Store) -> None:
    assert any_store.notifications.head() == 0
    assert recorded(any_store, 1, (BATCH, 7), (BATCH + 2, 7), (BATCH + 2, 9))
    assert any_store.notifications.head() == BATCH + 2
    first = Notified(BATCH, 7, f"evt_{BATCH}", NOON, f'{{"n":{BATCH}}}')
    second = Notified(BATCH + 2, 7, f"evt_{BATCH + 2}", NOON + timedelta(seconds=1), f'{{"n":{BATCH + 2}}}')
    assert any_store.notifications.after(7, 0) == [first, second]
    assert any_store.notifications.after(7, 0, limit=1) == [first]
    assert any_store.notifications.after(7, BATCH) == [second]
    assert any_store.notifications.after(7, BATCH + 2) == []
    assert any_store.notifications.after(7, 1 << 80) == []
    assert any_store.notifications.after(8, 0) == []
    assert any_store.notifications.events([BATCH, 5]) == {BATCH: StoredEvent(BATCH, first.event_id, NOON, first.body)}


def test_a_time_is_found_among_segments_and_rows(any_store: Store) -> None:
    kept = any_store.notifications
    assert (kept.position_at(NOON), kept.oldest()) == (1, None)
    recorded(any_store, 1, (BATCH, 7), (BATCH + 1, 7), (BATCH + 2, 9))
    bound = pairs((2 * BATCH, 7)).append_column("bindings", pa.array(['{"x": 1}']))
    kept.record("stream", 2, events([2 * BATCH], NOON + timedelta(minutes=1)), bound)
    recorded(any_store, 3, (3 * BATCH, 7), start=NOON + timedelta(minutes=2))
    found = [(0, BATCH), (1.5, BATCH + 2), (3, 2 * BATCH), (60, 2 * BATCH), (61, 3 * BATCH), (121, 3 * BATCH + 1)]
    assert [(s, kept.position_at(NOON + timedelta(seconds=s))) for s, _ in found] == found
    assert kept.oldest() == NOON
    kept.sweep(NOON + timedelta(seconds=1))
    assert (kept.position_at(NOON), kept.oldest()) == (BATCH + 1, NOON + timedelta(seconds=1))


def test_a_repeated_batch_writes_nothing(any_store: Store) -> None:
    dead = pa.table({"offset": [4], "id": ["e"], "time": pa.array([NOON]), "body": ["{"], "reason": ["not JSON"]})
    assert any_store.notifications.record("s", 3, events([BATCH]), pairs((BATCH, 1)), dead)
    assert not any_store.notifications.record("s", 3, events([BATCH + 5]), pairs((BATCH + 5, 1)), dead)
    assert any_store.notifications.head() == BATCH
    assert any_store.notifications.total(1) == 1
    assert any_store.dead_letters.count() == 1
    # Another stream counts its batches by itself.
    assert any_store.notifications.record("t", 3, events([2 * BATCH]), pairs((2 * BATCH, 1)))


def test_a_batch_without_matches_is_marked_all_the_same(any_store: Store) -> None:
    assert recorded(any_store, 1)
    assert not recorded(any_store, 1)
    assert any_store.notifications.head() == 0


def test_dead_letters_of_a_batch_come_with_it(any_store: Store) -> None:
    dead = pa.table(
        {"offset": [4], "id": ["e4"], "time": pa.array([NOON]), "body": ["a\0b"], "reason": ["price: not a number"]}
    )
    any_store.notifications.record("s", 1, events([]), pairs(), dead)
    [letter] = any_store.dead_letters.list(None)
    assert (letter.kind, letter.subject, letter.reason, letter.time) == ("event", "e4", "price: not a number", NOON)
    assert (letter.body, letter.detail) == ("a\\x00b", {"offset": 4})


def test_positions_that_a_reader_may_have_passed_are_refused_and_nothing_is_written(any_store: Store) -> None:
    recorded(any_store, 2, (2 * BATCH, 1))
    with pytest.raises(StoreError, match="at or below the head"):
        recorded(any_store, 1, (BATCH, 1))
    assert any_store.notifications.total(1) == 1
    assert recorded(any_store, 1, (3 * BATCH, 1))


def test_pairs_of_everybody_come_in_order_and_events_stay_whole(any_store: Store) -> None:
    recorded(any_store, 1, (BATCH, 3), (BATCH, 1), (BATCH + 1, 2), (BATCH + 2, 1), (BATCH + 2, 2), (BATCH + 2, 3))
    since = any_store.notifications.since
    assert since(0, BATCH + 1, 10) == [Pair(BATCH, 1), Pair(BATCH, 3), Pair(BATCH + 1, 2)]
    assert since(0, BATCH + 2, 4) == [Pair(BATCH, 1), Pair(BATCH, 3), Pair(BATCH + 1, 2)]
    assert since(0, BATCH + 2, 1) == [Pair(BATCH, 1), Pair(BATCH, 3)]
    assert since(BATCH + 1, BATCH + 2, 2) == [Pair(BATCH + 2, 1), Pair(BATCH + 2, 2), Pair(BATCH + 2, 3)]
    assert since(BATCH + 2, BATCH + 2, 10) == []


@pytest.mark.parametrize("few", [0, 5_000])
def test_an_owner_reads_its_own_and_no_others(any_store: Store, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.service.store.notifications._FEW", few)
    a, b, other = (subscribed(any_store, owner=owner).number for owner in ("k1", "k1", "k2"))
    recorded(any_store, 1, (BATCH, a), (BATCH, b), (BATCH, other), (BATCH + 1, other), (BATCH + 2, a), (BATCH + 2, b))

    def read(cursor: int, limit: int) -> list[tuple[int, int]]:
        notified = any_store.notifications.of_owner_after("k1", cursor, limit)
        return [(one.position, one.subscription) for one in notified]

    assert read(0, 10) == [(BATCH, a), (BATCH, b), (BATCH + 2, a), (BATCH + 2, b)]
    assert read(0, 3) == [(BATCH, a), (BATCH, b)]
    assert read(0, 1) == [(BATCH, a), (BATCH, b)]
    assert read(BATCH, 10) == [(BATCH + 2, a), (BATCH + 2, b)]
    assert any_store.notifications.of_owner_after("k3", 0) == []


def test_counts_are_by_the_time_of_the_events(any_store: Store) -> None:
    recorded(any_store, 1, *[(BATCH + k, 1) for k in range(90)], (BATCH, 2))
    minute = timedelta(minutes=1)
    counts = any_store.notifications.counts
    assert counts(1, NOON, minute) == [(NOON, 60), (NOON + minute, 30)]
    assert counts(1, NOON + timedelta(seconds=50), minute) == [(NOON, 10), (NOON + minute, 30)]
    assert counts(1, NOON, timedelta(hours=1)) == [(NOON, 90)]
    assert counts(2, NOON, minute) == [(NOON, 1)]
    assert counts(3, NOON, minute) == []
    assert any_store.notifications.total(1) == 90


@pytest.mark.parametrize("at_once", [1, 3, 10_000])
def test_the_retention_takes_the_oldest_and_leaves_the_rest(
    any_store: Store, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "_SWEPT", at_once)
    recorded(any_store, 1, *[(BATCH + k, number) for k in range(4) for number in (1, 2, 3)])
    recorded(any_store, 2, (2 * BATCH, 1), start=NOON + timedelta(hours=1))
    sweep = any_store.notifications.sweep
    assert sweep(NOON) == 0
    assert sweep(NOON + timedelta(seconds=2)) == 6
    assert [one.position for one in any_store.notifications.after(1, 0)] == [BATCH + 2, BATCH + 3, 2 * BATCH]
    assert set(any_store.notifications.events([BATCH, BATCH + 1, BATCH + 2])) == {BATCH + 2}
    assert sweep(NOON + timedelta(hours=2)) == 7
    assert any_store.notifications.total(1) == 0
    assert any_store.notifications.events([2 * BATCH]) == {}
    # Whoever asks next is told where the stream stands, although nothing of it is left.
    assert any_store.notifications.head() == 2 * BATCH


def test_old_batch_markers_do_not_pile_up(store: Store) -> None:
    for batch in (1, 2, 5_000):
        recorded(store, batch)
    assert recorded(store, 1)
    assert not recorded(store, 5_000)


@pytest.mark.parametrize("kind", ["us", "ms", "ns"])
def test_times_of_any_unit_are_understood(any_store: Store, kind: str) -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)
    table = events([BATCH]).set_column(2, "time", pa.array([at], pa.timestamp(kind, "UTC")))
    any_store.notifications.record("s", 1, table, pairs((BATCH, 1)))
    assert any_store.notifications.events([BATCH])[BATCH].time == at
