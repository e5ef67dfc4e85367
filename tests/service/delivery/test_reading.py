"""What is read and rendered for new matches, and what is not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tamis.service.base.events import BEGINNING, Cursor, Notification, notification_id
from tamis.service.delivery.store_reader import Reading, Renderer
from tamis.service.store import Store, Subscription, Wanted
from tests.service.delivery.made import NOON, StillClock, cheap, record, run, subscribed


class Plain:
    """Matched conditions that nobody looks at."""

    def conditions(self, *_: object) -> list[Any]:
        return []


class Counting(Renderer):
    """Counts what it renders, and what events were fetched for it."""

    def __init__(self) -> None:
        super().__init__(Plain())  # type: ignore[arg-type]
        self.rendered: list[tuple[int, int]] = []

    def render(
        self,
        subscription: Subscription,
        event: Any,
        bindings: str | None = None,
        changes: str | None = None,
        notice: str | None = None,
    ) -> Notification:
        self.rendered.append((event.position, subscription.number))
        return super().render(subscription, event, bindings, changes, notice)


def _reading(store: Store) -> tuple[Reading, Counting]:
    async def made() -> StillClock:
        return StillClock()

    renderer = Counting()
    return Reading(store, renderer, run(made())), renderer


def test_only_what_concerns_somebody_is_looked_at(any_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    subscriptions = [subscribed(any_store) for _ in range(40)]
    live = subscriptions[3]
    positions = record(any_store, 1, [(event, [one.number for one in subscriptions]) for event in cheap(20)])
    positions += record(any_store, 2, [(event, [one.number for one in subscriptions[10:]]) for event in cheap(20)])
    fetched: list[int] = []
    events = any_store.notifications.events

    def noted(wanted: Sequence[int]) -> Any:
        fetched.extend(wanted)
        return events(wanted)

    monkeypatch.setattr(any_store.notifications, "events", noted)
    reading, renderer = _reading(any_store)
    gathered = reading.gather(0, reading.head(), 10_000, Wanted.of({live.number}))
    assert gathered.upto == positions[-1]
    assert renderer.rendered == [(position, live.number) for position in positions[:20]]
    assert fetched == positions[:20]


def test_a_large_batch_is_gathered_in_parts_that_do_not_part_an_event(store: Store) -> None:
    numbers = [subscribed(store).number for _ in range(7)]
    positions = record(store, 1, [(event, numbers) for event in cheap(9)])
    reading, renderer = _reading(store)
    done, parts = 0, 0
    while done < reading.head():
        done = reading.gather(done, reading.head(), 20, Wanted.of(set(numbers))).upto
        parts += 1
    assert renderer.rendered == [(position, number) for position in positions for number in numbers]
    assert parts > 3


def test_all_of_an_owners_subscriptions_are_read_in_pages(any_store: Store) -> None:
    mine = [subscribed(any_store, owner="mine").number for _ in range(5)]
    other = subscribed(any_store, owner="other").number
    paused = subscribed(any_store, owner="mine")
    positions = record(any_store, 1, [(event, [*mine, other, paused.number]) for event in cheap(6)])
    any_store.subscriptions.replace(paused.id, state="paused")
    reading, _ = _reading(any_store)
    for owner, numbers in (("mine", mine), (None, sorted([*mine, other]))):
        cursor, seen = BEGINNING, []
        while True:
            page = reading.wide_page(owner, cursor, positions[-2], 4)
            seen += [one.key for one in page.notifications]
            cursor = page.cursor
            if page.complete:
                break
        assert seen == [(position, number) for position in positions[:-1] for number in numbers]
        assert cursor == Cursor(positions[-2])


def test_nothing_is_made_of_matches_that_nobody_reads(store: Store) -> None:
    first, second = subscribed(store, owner="one"), subscribed(store, owner="two")
    record(store, 1, [(cheap()[0], [first.number, second.number])])
    reading, renderer = _reading(store)
    gathered = reading.gather(0, reading.head(), 100, Wanted.of(set()))
    assert (gathered.upto, gathered.notifications) == (reading.head(), [])
    assert not renderer.rendered


def test_a_poll_of_large_events_stops_before_it_fills_the_memory(store: Store) -> None:
    subscription = subscribed(store)
    record(store, 1, [({"title": "x" * 200_000}, [subscription.number]) for _ in range(250)])
    reading, _ = _reading(store)
    page = reading.poll(subscription.number, 0, 1_000)
    assert (len(page.notifications), page.complete) == (100, False)
    assert reading.poll(subscription.number, page.notifications[-1].position, 1_000).notifications


def test_a_notification_is_the_same_however_often_it_is_made(store: Store) -> None:
    subscription = subscribed(store)
    (position,) = record(store, 1, [({"price": 1, "deep": {"a": [1, None]}}, [subscription.number])])
    reading, _ = _reading(store)
    (first,) = reading.page(subscription.number, 0, position, 10).notifications
    (second,) = reading.gather(0, position, 10, Wanted.of({subscription.number})).notifications
    assert first == second
    form = json.loads(first.body)
    assert form["id"] == notification_id(f"evt_{position}", subscription.id)
    assert form["event"] == {"price": 1, "deep": {"a": [1, None]}}
    assert (form["time"], form["cursor"]) == (NOON.isoformat().replace("+00:00", "Z"), str(position))
    assert json.loads(first.wide) == form | {"cursor": f"{position}-{subscription.number}"}


def test_an_id_tells_events_and_subscriptions_apart() -> None:
    ids = {notification_id(event, to) for event in ("a", "b", "a\0b") for to in ("x", "y", "b\0x")}
    assert len(ids) == 9 - 1, "only a NUL could confuse them, which neither side can have"
    assert notification_id("evt_1", "sub_1") == "ntf_" + "4a939a46a928f2075bc73a46977e087a"
