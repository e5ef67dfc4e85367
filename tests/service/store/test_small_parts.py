"""Dead letters, deliveries, schemas, advertisements and backtests."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from tamis.service.store import Backtest, DeliveryState, RevokedError, Store, StoreError
from tests.service.store.made import LATER, NOON, subscribed


def test_dead_letters_are_listed_by_owner_and_kind_and_removed_by_id(any_store: Store) -> None:
    letters = any_store.dead_letters
    first = letters.add("delivery", "sub_1", "k1", "timed out", '{"a":1}', {"attempts": 8})
    second = letters.add("event", "evt_2", "", "not JSON \0 \ud800", "{\0")
    found = letters.get(first)
    assert found is not None
    assert (found.kind, found.subject, found.owner, found.reason) == ("delivery", "sub_1", "k1", "timed out")
    assert (found.body, found.detail) == ('{"a":1}', {"attempts": 8})
    assert [letter.id for letter in letters.list(None)] == [first, second]
    assert [letter.id for letter in letters.list("k1")] == [first]
    assert [letter.id for letter in letters.list(None, "event")] == [second]
    assert [letter.id for letter in letters.list(None, after=first)] == [second]
    assert (letters.count(), letters.count("k1"), letters.count(kind="event")) == (2, 1, 1)
    assert letters.remove([first, first, 1 << 90]) == 1
    assert letters.get(first) is None
    assert letters.count() == 1


def test_the_id_of_a_removed_dead_letter_is_not_used_again(any_store: Store) -> None:
    first = any_store.dead_letters.add("event", "", "", "", "")
    any_store.dead_letters.remove([first])
    assert any_store.dead_letters.add("event", "", "", "", "") > first


def test_dead_letters_are_also_listed_from_the_newest_back(any_store: Store) -> None:
    letters = any_store.dead_letters
    ids = [letters.add("event", "", "ann", "", "") for _ in range(5)]
    first = letters.list("ann", limit=2, newest_first=True)
    rest = letters.list("ann", after=first[-1].id, newest_first=True)
    assert [letter.id for letter in first + rest] == ids[::-1]


def test_dead_letters_go_when_their_time_is_up(any_store: Store) -> None:
    any_store.dead_letters.add("event", "", "", "", "")
    assert any_store.dead_letters.sweep(datetime.now(UTC) - timedelta(hours=1)) == 0
    assert any_store.dead_letters.sweep(datetime.now(UTC) + timedelta(seconds=1)) == 1
    assert any_store.dead_letters.count() == 0


def test_delivery_states_are_saved_over_the_old_ones(any_store: Store) -> None:
    failing = DeliveryState(2, 40, 3, NOON, "HTTP 500", True)
    any_store.deliveries.save([DeliveryState(1, 10), DeliveryState(2, 20)])
    any_store.deliveries.save([failing, DeliveryState(3)])
    assert any_store.deliveries.get([1, 2, 3, 4]) == {
        1: DeliveryState(1, 10),
        2: failing,
        3: DeliveryState(3, 0, 0, None, "", False),
    }
    any_store.deliveries.remove([1])
    any_store.deliveries.save([])
    assert set(any_store.deliveries.get(range(5))) == {2, 3}


def test_a_cursor_that_comes_late_does_not_take_a_newer_one_back(any_store: Store) -> None:
    any_store.deliveries.save([DeliveryState(1, 20), DeliveryState(2, 5)])
    any_store.deliveries.save([DeliveryState(1, 10, 3), DeliveryState(2, 5, 1, NOON, "HTTP 500")])
    assert any_store.deliveries.get([1, 2]) == {
        1: DeliveryState(1, 20),
        2: DeliveryState(2, 5, 1, NOON, "HTTP 500"),
    }


def test_a_delivery_that_is_set_back_stays_so_whatever_was_under_way(any_store: Store) -> None:
    hook = subscribed(any_store, delivery={"mode": "webhook", "url": "https://a.example.org/"})
    any_store.deliveries.save([DeliveryState(hook.number, 30, 2, NOON, "HTTP 500", True)])
    assert any_store.subscriptions.replay(hook.id, 10) == 10
    set_back = DeliveryState(hook.number, 10, epoch=1)
    assert any_store.deliveries.get([hook.number]) == {hook.number: set_back}
    (change,) = any_store.subscriptions.changes(hook.revision)
    assert change.number == hook.number, "whoever pushes is told"
    any_store.deliveries.save([DeliveryState(hook.number, 40)])
    assert any_store.deliveries.get([hook.number]) == {hook.number: set_back}
    any_store.deliveries.save([DeliveryState(hook.number, 20, epoch=1)])
    assert any_store.subscriptions.replay(hook.id, 50) == 20, "what was not sent yet is not left out"
    any_store.deliveries.begin_at(hook.number, 60)
    assert any_store.deliveries.get([hook.number]) == {hook.number: DeliveryState(hook.number, 60, epoch=3)}


def test_a_delivery_that_has_sent_nothing_yet_is_not_set_ahead(any_store: Store) -> None:
    hook = subscribed(any_store, delivery={"mode": "webhook", "url": "https://a.example.org/"})
    assert any_store.subscriptions.replay(hook.id, 10) == 0
    any_store.deliveries.begin_at(hook.number + 1, 10)
    assert any_store.deliveries.get([hook.number, hook.number + 1]) == {
        hook.number: DeliveryState(hook.number, 0, epoch=1),
        hook.number + 1: DeliveryState(hook.number + 1, 10, epoch=1),
    }


def test_nothing_is_set_back_on_behalf_of_a_revoked_key(any_store: Store) -> None:
    key, _ = any_store.keys.create("Gallery", ["subscribe"])
    hook = subscribed(any_store, owner=key.id, delivery={"mode": "webhook", "url": "https://a.example.org/"})
    any_store.keys.revoke(key.id)
    with pytest.raises(RevokedError):
        any_store.subscriptions.replay(hook.id, 0, by_owner=True)
    assert any_store.deliveries.get([hook.number]) == {}


def test_the_newest_schema_is_in_force_and_the_old_ones_stay(any_store: Store) -> None:
    assert any_store.schemas.current() is None
    assert any_store.schemas.add({"attributes": {"é": "float"}}) == 1
    assert any_store.schemas.add({"attributes": {}}, after=1) == 2
    assert any_store.schemas.current() == (2, {"attributes": {}})
    assert any_store.schemas.get(1) == {"attributes": {"é": "float"}}
    assert any_store.schemas.get(3) is None


def test_of_two_who_extend_one_schema_the_second_is_told(any_store: Store) -> None:
    any_store.schemas.add({}, after=0)
    with pytest.raises(StoreError, match="version 1 by now, not 0"):
        any_store.schemas.add({}, after=0)


def test_advertisements_stand_until_they_expire_or_are_removed(any_store: Store) -> None:
    mine = any_store.advertisements.create("k1", "antiques", "price < 10", LATER)
    theirs = any_store.advertisements.create("k2", "antiques", "TRUE", LATER)
    any_store.advertisements.create("k1", "antiques", "TRUE", datetime.now(UTC) - timedelta(seconds=1))
    assert any_store.advertisements.list() == [mine, theirs]
    assert any_store.advertisements.list("k1") == [mine]
    assert any_store.advertisements.get(mine.id) == mine
    assert any_store.advertisements.get("\0") is None
    assert any_store.advertisements.sweep(datetime.now(UTC)) == 1
    assert any_store.advertisements.remove(mine.id)
    assert not any_store.advertisements.remove(mine.id)


def test_a_backtest_waits_runs_and_is_done(any_store: Store) -> None:
    backtests = any_store.backtests
    first = backtests.create("k1", {"filter": "price < 10"})
    second = backtests.create("k2", {})
    claimed = backtests.claim()
    assert claimed is not None
    assert (claimed.id, claimed.state, claimed.request) == (first, "running", {"filter": "price < 10"})
    backtests.progress(first, 10, 100)
    running = backtests.get(first)
    assert running is not None
    assert (running.done, running.total, running.result) == (10, 100, None)
    backtests.finish(first, {"total": 3})
    done = backtests.get(first)
    assert done is not None
    assert (done.state, done.result, done.error) == ("done", {"total": 3}, "")
    again = backtests.claim()
    assert again is not None
    assert again.id == second
    backtests.finish(second, error="Spark failed")
    assert [(one.id, one.state) for one in backtests.list("k2")] == [(second, "failed")]
    assert backtests.claim() is None
    assert backtests.get("\0") is None
    assert backtests.sweep(datetime.now(UTC) + timedelta(seconds=1)) == 2


def test_a_backtest_whose_process_died_is_run_again_but_not_for_ever(any_store: Store) -> None:
    id = any_store.backtests.create("", {})
    for _ in range(3):
        claimed = any_store.backtests.claim()
        assert claimed is not None
        any_store.backtests.requeue()
    assert any_store.backtests.claim() is None
    ended = any_store.backtests.get(id)
    assert ended is not None
    assert (ended.state, ended.error) == ("failed", "the process that ran it ended each time")


def test_a_backtest_is_claimed_by_one_only(any_store: Store) -> None:
    wanted = {any_store.backtests.create("", {}) for _ in range(12)}
    claimed: list[Backtest] = []

    def claim() -> None:
        while (job := any_store.backtests.claim()) is not None:
            claimed.append(job)

    threads = [threading.Thread(target=claim) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # On PostgreSQL one who meets a row in another's hands looks no further: the rest is there for the next.
    claim()
    assert len(claimed) == 12
    assert {job.id for job in claimed} == wanted
