"""A revoked key's subscriptions are paused with it, and nobody makes or resumes any for it."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from tamis.service.store import RevokedError, Store, TicketError
from tests.service.store.made import CHEAP, LATER, subscribed


def test_revoking_pauses_the_active_ones_each_under_a_revision_of_its_own(any_store: Store) -> None:
    key, _ = any_store.keys.create("Gallery", ["subscribe"])
    other, _ = any_store.keys.create("Museum", ["subscribe"])
    mine = [subscribed(any_store, owner=key.id) for _ in range(3)]
    asleep = subscribed(any_store, owner=key.id)
    any_store.subscriptions.replace(asleep.id, state="paused")
    theirs = subscribed(any_store, owner=other.id)
    before = any_store.subscriptions.revision
    assert any_store.keys.revoke(key.id) == 3
    changes = any_store.subscriptions.changes(before)
    assert [(one.number, one.filter) for one in changes] == [(one.number, None) for one in mine]
    assert [one.revision for one in changes] == [before + 1, before + 2, before + 3]
    assert any_store.subscriptions.count(key.id, "paused") == 4
    assert any_store.subscriptions.count(key.id, "active") == 0
    found = any_store.subscriptions.get(theirs.id)
    assert found is not None
    assert found.state == "active"
    assert any_store.keys.revoked({key.id, other.id, "", "no\0such"}) == {key.id}


def test_nothing_is_made_resumed_or_renewed_for_a_revoked_key_but_by_others(any_store: Store) -> None:
    key, _ = any_store.keys.create("Gallery", ["subscribe"])
    one = subscribed(any_store, owner=key.id)
    any_store.keys.revoke(key.id)
    table = pa.table({"id": ["a"], "filter": ["price < 1"]})
    refused: list[Callable[[], object]] = [
        lambda: subscribed(any_store, owner=key.id),
        lambda: any_store.subscriptions.import_table(table, key.id, LATER, {"mode": "pull"}),
        lambda: any_store.subscriptions.replace(one.id, state="active", by_owner=True),
        lambda: any_store.subscriptions.renew(one.id, LATER, by_owner=True),
        lambda: any_store.subscriptions.transfer(one.id, key.id),
    ]
    for attempt in refused:
        with pytest.raises(RevokedError, match="revoked"):
            attempt()
    assert any_store.subscriptions.count(key.id) == 1
    assert any_store.subscriptions.replace(one.id, state="active").state == "active"


def test_a_transfer_moves_the_count_and_changes_the_ticket(any_store: Store) -> None:
    key, _ = any_store.keys.create("Gallery", ["subscribe"])
    brought = f"tkt_{'c' * 43}"
    one, ticket = any_store.subscriptions.create(CHEAP, brought)
    given, new = any_store.subscriptions.transfer(one.id, key.id)
    assert given.owner == key.id
    assert given.revision > one.revision
    assert [any_store.subscriptions.ticket_fits(one.id, each) for each in (ticket, new)] == [False, True]
    assert (any_store.subscriptions.count(""), any_store.subscriptions.count(key.id)) == (0, 1)
    with pytest.raises(TicketError):
        any_store.subscriptions.create(CHEAP, brought)
