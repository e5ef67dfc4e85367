"""Subscriptions that are pushed to: in order, again until acknowledged, set aside in the end, and none for another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest

from tamis.service.base.events import Notification
from tamis.service.delivery.channels import Undelivered
from tamis.service.delivery.store_reader import NotReplayable
from tamis.service.store import DeliveryState, Store, Subscription
from tests.service.delivery.made import NOON, WEBHOOK, Running, Told, cheap, record, run, subscribed

DOWN = Undelivered("answered 500")


def _state(store: Store, subscription: Subscription) -> DeliveryState:
    return store.deliveries.get([subscription.number])[subscription.number]


def _webhook(store: Store, path: str = "a", **fields: Any) -> Subscription:
    return subscribed(store, delivery=WEBHOOK | {"url": f"https://{path}.example.org/"}, **fields)


async def _let_time_pass(running: Running) -> None:
    while True:
        await running.clock.pass_next()


def test_notifications_go_out_in_order_and_the_cursor_is_kept(any_store: Store) -> None:
    hook = _webhook(any_store)
    positions = record(any_store, 1, [(event, [hook.number]) for event in cheap(30)])

    async def push() -> None:
        async with Running(any_store) as running:
            first = [(await running.channel.next()).position for _ in positions]
            assert first == positions, "what came before the start"
            more = running.record(2, [(event, [hook.number]) for event in cheap(30)])
            assert [(await running.channel.next()).position for _ in more] == more
        assert _state(any_store, hook) == DeliveryState(hook.number, more[-1])
        async with Running(any_store) as running:
            running.record(3, [(cheap()[0], [hook.number])])
            assert (await running.channel.next()).position >> 24 == 3, "nothing is sent twice"

    run(push())


def test_what_a_revoked_key_made_is_pushed_no_more_until_an_administrator_resumes_it(any_store: Store) -> None:
    key, _ = any_store.keys.create("Gallery", ["subscribe"])
    revoked, stays = _webhook(any_store, owner=key.id), _webhook(any_store, "b")

    async def push() -> None:
        async with Running(any_store) as running:
            assert any_store.keys.revoke(key.id) == 1
            await running.delivery.notice_changes()
            first, second = running.record(1, [(event, [revoked.number, stays.number]) for event in cheap(2)])
            for position in (first, second):
                sent = await running.channel.next()
                assert (sent.subscription.id, sent.position) == (stays.id, position)
            any_store.subscriptions.replace(revoked.id, state="active")
            await running.delivery.notice_changes()
            assert (await running.channel.next()).subscription.id == revoked.id, "what had matched is sent then"

    run(push())


def test_one_of_two_pushes_and_the_other_goes_on_when_it_ends(any_store: Store) -> None:
    hook = _webhook(any_store)

    async def push() -> None:
        async with AsyncExitStack() as ending:
            one = await ending.enter_async_context(Running(any_store))
            async with Running(any_store) as other:
                assert (one.delivery.status()["pushing"], other.delivery.status()["pushing"]) == (1, 0)
                (first,) = one.record(1, [(cheap()[0], [hook.number])])
                assert (await one.channel.next()).position == first
                await ending.aclose()
                await other.delivery.notice_changes()
                assert other.delivery.status()["pushing"] == 1
                (second,) = other.record(2, [(cheap()[0], [hook.number])])
                assert (await other.channel.next()).position == second, "what was sent is not sent again"
                assert one.channel.all == [(hook.id, first)]

    run(push())


def test_whoever_loses_the_lock_ends_pushing_and_begins_again_where_others_have_come_to(store: Store) -> None:
    hook = _webhook(store)

    async def push() -> None:
        async with Running(store) as running:
            (first,) = running.record(1, [(cheap()[0], [hook.number])])
            assert (await running.channel.next()).position == first
            lock = store.lock("pushing")
            running.delivery._sole.release()
            assert lock.hold()
            await running.delivery.notice_changes()
            assert (running.delivery.status()["pushing"], running.delivery.status()["outlets"]) == (0, 0)
            (second,) = running.record(2, [(cheap()[0], [hook.number])])
            store.deliveries.save([DeliveryState(hook.number, second)])
            lock.release()
            await running.delivery.notice_changes()
            (third,) = running.record(3, [(cheap()[0], [hook.number])])
            assert (await running.channel.next()).position == third

    run(push())


def test_a_failed_attempt_is_made_again_later_and_the_others_wait_for_it(store: Store) -> None:
    hook = _webhook(store)

    async def push() -> None:
        async with Running(store, Told(DOWN, Undelivered("slow down", retry_after=9, fault=False))) as running:
            first, second = running.record(1, [(event, [hook.number]) for event in cheap(2)])
            waits = [await running.clock.pass_next() for _ in range(2)]
            assert waits == [1.0, 9.0]
            sent = [(await running.channel.next()).position for _ in range(4)]
            assert sent == [first, first, first, second]
        assert _state(store, hook) == DeliveryState(hook.number, second)

    run(push())


def test_after_the_last_attempt_it_is_a_dead_letter_and_the_next_one_goes_out(store: Store) -> None:
    hook = _webhook(store, owner="key")

    async def push() -> None:
        async with Running(store, Told(DOWN, DOWN, DOWN), attempts=3) as running:
            first, second = running.record(1, [(event, [hook.number]) for event in cheap(2)])
            for _ in range(2):
                await running.clock.pass_next()
            assert [(await running.channel.next()).position for _ in range(4)] == [first] * 3 + [second]
            (letter,) = store.dead_letters.list("key")
            assert (letter.kind, letter.subject, letter.reason) == ("delivery", hook.id, "answered 500")
            assert letter.detail["attempts"] == 3
            assert json.loads(letter.body)["cursor"] == str(first)
            running.channel.answers.append(DOWN)
            assert (await running.delivery.replay(letter)).kind == "failed"
            assert store.dead_letters.count() == 1
            assert (await running.delivery.replay(letter)).kind == "delivered"
            assert store.dead_letters.count() == 0
            again = [await running.channel.next() for _ in range(2)][-1]
            assert (again.id, again.body.decode()) == (letter.detail["notification"], letter.body)
            store.subscriptions.cancel(hook.id)
            with pytest.raises(NotReplayable):
                await running.delivery.replay(letter)

    run(push())


def test_what_would_be_swept_away_before_the_next_attempt_becomes_a_dead_letter(store: Store) -> None:
    hook = _webhook(store)
    record(store, 1, [(cheap()[0], [hook.number])], NOON - timedelta(days=6, hours=10))

    async def push() -> None:
        async with Running(store, Told(DOWN)) as running:
            await running.channel.next()
            running.record(2, [(cheap()[0], [hook.number])])
            await running.channel.next()
        assert store.dead_letters.count() == 1

    run(push())


def test_gone_disables_until_the_subscription_is_changed(store: Store) -> None:
    hook = _webhook(store)

    async def push() -> None:
        async with Running(store, Told(Undelivered("answered 410", fault=False, gone=True))) as running:
            (first,) = running.record(1, [(cheap()[0], [hook.number])])
            await running.channel.next()
            running.record(2, [(cheap()[0], [hook.number])])
            other = _webhook(store, "b")
            await running.delivery.notice_changes()
            running.record(3, [(cheap()[0], [other.number])])
            assert (await running.channel.next()).subscription.id == other.id
            assert running.delivery.status()["disabled"] == 1
            store.subscriptions.replace(hook.id, delivery=WEBHOOK | {"url": "https://c.example.org/"})
            await running.delivery.notice_changes()
            again = await running.channel.next()
            assert (again.position, again.subscription.delivery["url"]) == (first, "https://c.example.org/")
            assert (await running.channel.next()).position > first
        assert not _state(store, hook).disabled

    run(push())


def test_a_disabled_one_stays_so_over_a_restart(store: Store) -> None:
    hook, other = _webhook(store), _webhook(store, "b")
    store.deliveries.save([DeliveryState(hook.number, disabled=True, last_error="answered 410")])
    record(store, 1, [(cheap()[0], [hook.number, other.number])])

    async def push() -> None:
        async with Running(store) as running:
            assert (await running.channel.next()).subscription.id == other.id
        assert [id for id, _ in running.channel.all] == [other.id]

    run(push())


def test_a_breaker_spares_the_endpoint_and_counts_for_all_who_use_it(store: Store) -> None:
    hooks = [_webhook(store) for _ in range(3)]

    async def push() -> None:
        settings = {"breaker_failures": 2, "breaker_seconds": 100.0, "attempts": 50}
        async with Running(store, Told(*[DOWN] * 3), **settings) as running:
            running.record(1, [(cheap()[0], [hook.number for hook in hooks])])
            passing = asyncio.create_task(_let_time_pass(running))
            for _ in range(2 * len(hooks)):
                await running.channel.next()
            passing.cancel()
            assert running.clock.now() - NOON >= timedelta(seconds=100), "it was left alone"
            status = running.delivery.status()
        assert (status["failed"], status["breakers_open"]) == (3, 0)

    run(push())


def test_endpoints_that_hang_do_not_hold_the_others(store: Store) -> None:
    hanging = [_webhook(store, f"hanging{k}") for k in range(50)]
    hook = _webhook(store, "well")

    async def push() -> None:
        channel = Told()
        stuck: list[str] = []

        async def hang(notification: Notification) -> None:
            if "hanging" in notification.subscription.delivery["url"]:
                stuck.append(notification.subscription.id)
                await asyncio.Event().wait()

        channel.before = hang
        async with Running(store, channel) as running:
            numbers = [one.number for one in [*hanging, hook]]
            positions = running.record(1, [(event, numbers) for event in cheap(20)])
            assert [(await channel.next()).position for _ in positions] == positions
            assert len(stuck) == 50, "one at a time for each"
            for task in list(running.delivery._outlets._tasks):
                task.cancel()

    run(push())


def test_no_endpoint_is_called_by_more_than_a_few_at_a_time(store: Store) -> None:
    hooks = [_webhook(store) for _ in range(30)]

    async def push() -> None:
        channel, go = Told(), asyncio.Event()
        under_way, most = 0, 0

        async def count(_: Notification) -> None:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            if most == 8:
                go.set()
            await go.wait()
            under_way -= 1

        channel.before = count
        async with Running(store, channel) as running:
            running.record(1, [(cheap()[0], [hook.number for hook in hooks])])
            for _ in hooks:
                await channel.next()
        assert most == 8

    run(push())


@pytest.mark.parametrize(
    ("end", "resumes"),
    [
        (lambda store, id: store.subscriptions.cancel(id), False),
        (lambda store, id: store.subscriptions.replace(id, state="paused"), True),
        (lambda store, id: store.subscriptions.replace(id, delivery={"mode": "pull"}), False),
    ],
)
def test_one_that_is_not_active_gets_nothing_more(
    store: Store, end: Callable[[Store, str], Subscription], resumes: bool
) -> None:
    hook, other = _webhook(store), _webhook(store, "b")

    async def push() -> None:
        async with Running(store) as running:
            running.record(1, [(cheap()[0], [hook.number])])
            await running.channel.next()
            end(store, hook.id)
            # The pipeline had not noticed yet.
            (late,) = running.record(2, [(cheap()[0], [hook.number, other.number])])
            assert (await running.channel.next()).subscription.id == other.id
            await running.delivery.notice_changes()
            if resumes:
                store.subscriptions.replace(hook.id, state="active")
                await running.delivery.notice_changes()
                assert (await running.channel.next()).key == (late, hook.number)
        assert running.channel.all.count((hook.id, late)) == resumes

    run(push())


def test_a_subscription_made_while_delivery_runs_is_served(store: Store) -> None:
    async def push() -> None:
        async with Running(store) as running:
            hook = _webhook(store)
            (position,) = running.record(1, [(cheap()[0], [hook.number])])
            await running.delivery.notice_changes()
            assert (await running.channel.next()).key == (position, hook.number)

    run(push())


def test_one_that_is_given_a_webhook_later_is_told_from_then_on(store: Store) -> None:
    plain = subscribed(store)
    record(store, 1, [(cheap()[0], [plain.number])])

    async def push() -> None:
        async with Running(store) as running:
            await running.delivery.begin_from_now(plain.number)
            store.subscriptions.replace(plain.id, delivery=WEBHOOK)
            await running.delivery.notice_changes()
            (position,) = running.record(2, [(cheap()[0], [plain.number])])
            assert (await running.channel.next()).position == position

    run(push())


def test_a_wait_for_the_next_attempt_survives_a_restart(store: Store) -> None:
    hook = _webhook(store)

    async def push() -> None:
        async with Running(store, Told(DOWN)) as running:
            (position,) = running.record(1, [(cheap()[0], [hook.number])])
            await running.channel.next()
            await running.clock.waits.get()
        state = _state(store, hook)
        assert (state.cursor, state.failures, state.last_error) == (0, 1, "answered 500")
        async with Running(store) as running:
            assert await running.clock.pass_next() == 1.0
            assert (await running.channel.next()).position == position
        assert _state(store, hook).cursor == position

    run(push())
