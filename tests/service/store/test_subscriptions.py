"""Subscriptions: made, found, changed, ended."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tamis.service.store import NotFoundError, Store, TextError, TooManyError
from tests.service.store.made import CHEAP, LATER, subscribed


def test_what_was_made_is_found_as_it_was_made(any_store: Store) -> None:
    delivery = {"mode": "webhook", "url": "https://example.org/é", "secret": "whsec_1"}
    new = replace(
        CHEAP, owner="k1", label="Clocks", dialect="cloudevents", filter="TRUE", residual="[1]", delivery=delivery
    )
    made, ticket = any_store.subscriptions.create(new)
    assert any_store.subscriptions.get(made.id) == made
    assert any_store.subscriptions.by_number([made.number, 999]) == {made.number: made}
    assert (made.delivery, made.filter, made.residual, made.state) == (delivery, "TRUE", "[1]", "active")
    assert (len(made.id), made.id[:4], len(ticket), ticket[:4]) == (26, "sub_", 47, "tkt_")


def test_a_ticket_fits_its_own_subscription_only(any_store: Store) -> None:
    one, ticket = any_store.subscriptions.create(CHEAP)
    other, _ = any_store.subscriptions.create(CHEAP)
    fits = any_store.subscriptions.ticket_fits
    assert fits(one.id, ticket)
    assert not fits(other.id, ticket)
    assert not fits(one.id, ticket[:-1])
    assert not fits("sub_" + "A" * 22, ticket)
    assert not fits("nonsense\0", "\ud800")


def test_an_owner_makes_no_more_than_are_allowed_however_many_ask_at_once(any_store: Store) -> None:
    def made(_: int) -> bool:
        try:
            any_store.subscriptions.create(replace(CHEAP, owner="k1"), most=3)
        except TooManyError:
            return False
        return True

    with ThreadPoolExecutor(8) as asking:
        assert sum(asking.map(made, range(8))) == 3
    assert any_store.subscriptions.count("k1", "active") == 3


def test_with_the_same_ticket_nothing_more_is_made_so_no_allowance_is_in_the_way(any_store: Store) -> None:
    one, ticket = any_store.subscriptions.create(CHEAP, "tkt_" + "A" * 43, most=1)
    assert any_store.subscriptions.create(CHEAP, ticket, most=1) == (one, ticket)


@pytest.mark.parametrize("id", ["", "sub_", "sub_\0", "sub_" + "A" * 22, "1", "\ud800" * 26])
def test_an_unknown_id_is_none_or_not_found(any_store: Store, id: str) -> None:
    assert any_store.subscriptions.get(id) is None
    with pytest.raises(NotFoundError):
        any_store.subscriptions.cancel(id)


@pytest.mark.parametrize("field", ["label", "text", "filter"])
@pytest.mark.parametrize("bad", ["a\0b", "a\ud800"])
def test_a_text_that_no_database_holds_is_refused(any_store: Store, field: str, bad: str) -> None:
    bad_field: dict[str, Any] = {field: bad}
    with pytest.raises(TextError, match=f"{field}: a text with a NUL"):
        any_store.subscriptions.create(replace(CHEAP, **bad_field))
    assert any_store.subscriptions.count(None) == 0
    assert any_store.subscriptions.revision == 0


def test_owners_are_listed_apart_and_in_pages(any_store: Store) -> None:
    mine = [subscribed(any_store, owner="k1") for _ in range(5)]
    theirs = subscribed(any_store, owner="k2")
    listed = any_store.subscriptions.list
    assert listed("k1", limit=3) == mine[:3]
    assert listed("k1", after=mine[2].number) == mine[3:]
    assert listed(None) == [*mine, theirs]
    assert listed("") == []
    assert listed(None, after=1 << 70) == []


def test_search_looks_into_id_label_and_text_in_any_case(any_store: Store) -> None:
    clock = subscribed(any_store, label="Old CLOCKS")
    text = subscribed(any_store, text="title = 'clock'")
    percent = subscribed(any_store, label="100%")
    subscribed(any_store, label="beds")
    found = any_store.subscriptions.list
    assert found(None, search="clock") == [clock, text]
    assert found(None, search=clock.id) == [clock]
    assert found(None, search="%") == [percent]
    assert found(None, search="_%") == []
    assert found(None, search="\0") == []


def test_counts_follow_every_change(any_store: Store) -> None:
    count = any_store.subscriptions.count
    one, two, three = (subscribed(any_store, owner="k1") for _ in range(3))
    subscribed(any_store, owner="k2")
    any_store.subscriptions.cancel(one.id)
    any_store.subscriptions.cancel(one.id)
    any_store.subscriptions.replace(two.id, state="paused")
    any_store.subscriptions.renew(three.id, datetime.now(UTC) - timedelta(seconds=1))
    assert any_store.subscriptions.expire(datetime.now(UTC)) == 1
    assert [count("k1", state) for state in ("active", "paused", "expired", "cancelled")] == [0, 1, 1, 1]
    assert (count("k1"), count("k2", "active"), count(None), count("nobody")) == (3, 1, 4, 0)


def test_a_change_changes_what_it_names_and_nothing_else(any_store: Store) -> None:
    one = subscribed(any_store, label="Clocks", residual="[1]")
    changed = any_store.subscriptions.replace(one.id, label="Watches", residual=None)
    assert changed == replace(one, label="Watches", residual=None, revision=changed.revision)
    assert any_store.subscriptions.get(one.id) == changed
    assert changed.revision > one.revision


def test_a_new_text_is_its_own_filter_or_has_one(any_store: Store) -> None:
    one = subscribed(any_store, text="price < 1", filter="price < 1")
    changed = any_store.subscriptions.replace(one.id, text="price<2", filter="price < 2")
    assert (changed.text, changed.filter) == ("price<2", "price < 2")
    # The filter stays when only the text is written anew.
    again = any_store.subscriptions.replace(one.id, text="price  < 2")
    assert any_store.subscriptions.get(one.id) == again
    assert again.filter == "price < 2"


def test_one_that_was_cancelled_stays_cancelled(any_store: Store) -> None:
    one = subscribed(any_store)
    ended = any_store.subscriptions.cancel(one.id)
    assert any_store.subscriptions.cancel(one.id) == ended
    with pytest.raises(NotFoundError, match="was cancelled"):
        any_store.subscriptions.renew(one.id, LATER)
    with pytest.raises(NotFoundError, match="was cancelled"):
        any_store.subscriptions.replace(one.id, state="active")


def test_an_expired_one_is_matched_again_once_renewed(any_store: Store) -> None:
    one = subscribed(any_store, expires=datetime.now(UTC))
    any_store.subscriptions.expire(datetime.now(UTC))
    before = any_store.subscriptions.revision
    assert any_store.subscriptions.renew(one.id, LATER).state == "active"
    [change] = any_store.subscriptions.changes(before)
    assert (change.number, change.filter) == (one.number, one.filter)


def test_only_what_is_active_is_suspended_and_it_has_a_reason_until_it_is_resumed(any_store: Store) -> None:
    hook = {"mode": "webhook", "url": "https://example.org"}
    one, paused, ended = (subscribed(any_store, delivery=hook) for _ in range(3))
    any_store.subscriptions.replace(paused.id, state="paused")
    any_store.subscriptions.cancel(ended.id)
    before = any_store.subscriptions.revision
    every = {one.number: "too slow", paused.number: "no", ended.number: "no", ended.number + 99: "no"}
    [suspended] = any_store.subscriptions.suspend(every)
    assert (suspended.id, suspended.state, suspended.reason) == (one.id, "suspended", "too slow")
    assert any_store.subscriptions.get(one.id) == suspended
    assert any_store.subscriptions.suspended() == [one.number]
    assert any_store.subscriptions.suspend(every) == []
    [change] = any_store.subscriptions.changes(before)
    assert (change.number, change.filter) == (one.number, None)
    assert one.number in [other.number for other in any_store.subscriptions.pushed()]
    assert any_store.subscriptions.count(one.owner, "suspended") == 1
    resumed = any_store.subscriptions.replace(one.id, state="active")
    assert (resumed.reason, any_store.subscriptions.suspended()) == (None, [])


def test_one_that_is_suspended_expires_too(any_store: Store) -> None:
    one = subscribed(any_store, expires=datetime.now(UTC))
    any_store.subscriptions.suspend({one.number: "too slow"})
    assert any_store.subscriptions.expire(datetime.now(UTC)) == 1
    assert any_store.subscriptions.renew(one.id, LATER).reason is None


def test_pushed_ones_are_those_with_a_webhook_or_a_topic_that_have_not_ended(any_store: Store) -> None:
    subscribed(any_store)
    hook = subscribed(any_store, delivery={"mode": "webhook", "url": "https://example.org"})
    topic = subscribed(any_store, delivery={"mode": "kafka", "topic": "matches"})
    ended = subscribed(any_store, delivery={"mode": "kafka", "topic": "matches"})
    any_store.subscriptions.cancel(ended.id)
    assert any_store.subscriptions.pushed() == [hook, topic]
    assert any_store.subscriptions.pushed(after=hook.number) == [topic]
    any_store.subscriptions.replace(hook.id, delivery={"mode": "pull"})
    assert any_store.subscriptions.pushed(limit=1) == [any_store.subscriptions.get(topic.id)]


def test_ended_ones_are_purged_once_the_follower_knows(any_store: Store) -> None:
    ended, standing = subscribed(any_store, owner="k1"), subscribed(any_store, owner="k1")
    any_store.subscriptions.cancel(ended.id)
    later = datetime.now(UTC) + timedelta(seconds=1)
    known = any_store.subscriptions.revision
    assert any_store.subscriptions.purge(later, followed=known - 1) == 0
    assert any_store.subscriptions.purge(datetime.now(UTC) - timedelta(hours=1), followed=known) == 0
    assert any_store.subscriptions.purged == 0
    assert any_store.subscriptions.purge(later, followed=known) == 1
    assert any_store.subscriptions.purged == known
    assert any_store.subscriptions.list(None) == [standing]
    assert any_store.subscriptions.count("k1") == 1


def test_asking_again_with_the_same_ticket_gives_the_same_subscription(any_store: Store) -> None:
    ticket = f"tkt_{'a' * 43}"
    made, shown = any_store.subscriptions.create(CHEAP, ticket)
    again, _ = any_store.subscriptions.create(CHEAP, ticket)
    other, _ = any_store.subscriptions.create(CHEAP, f"tkt_{'b' * 43}")
    assert shown == ticket
    assert again == made
    assert other.id != made.id
    assert any_store.subscriptions.count(None) == 2
    assert any_store.subscriptions.ticket_fits(made.id, ticket)
    assert ticket not in made.id
