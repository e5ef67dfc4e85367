"""The change feed: whoever follows it holds what the store holds."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from tamis.service.store import Store
from tests.service.store.made import CHEAP, LATER, subscribed


def followed(store: Store, state: dict[int, str], after: int, limit: int = 7) -> int:
    """Applies all changes after a revision, and returns the newest."""
    while rows := store.subscriptions.changes(after, limit):
        assert [row.revision for row in rows] == sorted({row.revision for row in rows})
        assert rows[0].revision > after
        for row in rows:
            if row.filter is None:
                state.pop(row.number, None)
            else:
                state[row.number] = row.filter
        after = rows[-1].revision
    return after


def held(store: Store) -> dict[int, str]:
    return {one.number: one.filter for one in store.subscriptions.list(None, state="active", limit=1_000_000)}


def test_each_change_is_told_once_and_in_order(any_store: Store) -> None:
    one = subscribed(any_store)
    two = subscribed(any_store, text="price < 2", filter="price < 2")
    state: dict[int, str] = {}
    at = followed(any_store, state, 0)
    assert state == {one.number: "price < 10", two.number: "price < 2"}
    any_store.subscriptions.replace(one.id, state="paused")
    any_store.subscriptions.replace(two.id, filter="price < 3")
    assert [(row.number, row.filter) for row in any_store.subscriptions.changes(at)] == [
        (one.number, None),
        (two.number, "price < 3"),
    ]
    any_store.subscriptions.replace(one.id, state="active")
    assert followed(any_store, state, at) == any_store.subscriptions.revision
    assert state == held(any_store)


def test_a_renewal_of_one_that_stands_gives_followers_nothing_to_do(any_store: Store) -> None:
    one = subscribed(any_store)
    assert any_store.subscriptions.renew(one.id, LATER + timedelta(days=1)).expires == LATER + timedelta(days=1)
    assert any_store.subscriptions.revision == one.revision


def test_expiry_gives_each_a_revision(any_store: Store) -> None:
    moment = datetime.now(UTC)
    for _ in range(20):
        subscribed(any_store, expires=moment - timedelta(microseconds=1))
    stays = subscribed(any_store, expires=moment + timedelta(hours=1))
    state: dict[int, str] = {}
    at = followed(any_store, state, 0)
    assert any_store.subscriptions.expire(moment) == 20
    assert any_store.subscriptions.expire(moment) == 0
    assert any_store.subscriptions.revision == at + 20
    followed(any_store, state, at)
    assert set(state) == {stays.number}


@pytest.mark.timeout(120)
def test_a_follower_misses_nothing_while_many_write_at_once(any_store: Store) -> None:
    """On PostgreSQL, revisions that were not committed in their order would be passed over here."""

    def write(owner: str) -> None:
        for k in range(20):
            made, _ = any_store.subscriptions.create(CHEAP)
            if k % 3 == 0:
                any_store.subscriptions.cancel(made.id)

    writers = [threading.Thread(target=write, args=(str(k),)) for k in range(6)]
    state: dict[int, str] = {}
    at = 0
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        at = followed(any_store, state, at)
    followed(any_store, state, at)
    assert state == held(any_store)
    assert len(state) == 6 * 13
