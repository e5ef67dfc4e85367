"""Replay: what was pushed is pushed again, in order and under the same ids, whatever was under way; and then live."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from tamis.service.base.events import Notification
from tamis.service.delivery.channels import Undelivered
from tamis.service.store import DeliveryState, Store, StoreError, Subscription
from tests.service.delivery.made import WEBHOOK, Running, Told, cheap, run, subscribed

DOWN = Undelivered("answered 500")


def _webhook(store: Store) -> Subscription:
    return subscribed(store, delivery=WEBHOOK)


async def _sent(running: Running, count: int) -> list[Notification]:
    return [await running.channel.next() for _ in range(count)]


async def _replay(running: Running, hook: Subscription, cursor: int) -> None:
    running.store.subscriptions.replay(hook.id, cursor)
    await running.delivery.notice_changes()


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0)


def test_a_replay_sends_everything_since_then_again_and_goes_on_with_what_is_new(any_store: Store) -> None:
    hook = _webhook(any_store)

    async def push() -> None:
        async with Running(any_store) as running:
            old = running.record(1, [(event, [hook.number]) for event in cheap(5)])
            running.clock.time += timedelta(minutes=1)
            since = running.clock.now()
            later = running.record(2, [(event, [hook.number]) for event in cheap(30)])
            first = await _sent(running, 35)
            await running.delivery._cursors.save()
            await _replay(running, hook, any_store.notifications.position_at(since) - 1)
            new = running.record(3, [(event, [hook.number]) for event in cheap(30)])
            again = await _sent(running, 60)
            assert [one.position for one in first + again] == [*old, *later, *later, *new]
            assert [one.id for one in again[:30]] == [one.id for one in first[5:]]
        assert any_store.deliveries.get([hook.number]) == {hook.number: DeliveryState(hook.number, new[-1], epoch=1)}

    run(push())


@pytest.mark.parametrize("answer", [None, DOWN, Undelivered("answered 410", gone=True)])
@pytest.mark.parametrize("attempts", [1, 9])
def test_what_comes_of_a_call_under_way_does_not_move_what_was_set_back(
    store: Store, answer: Undelivered | None, attempts: int
) -> None:
    hook = _webhook(store)

    async def push() -> None:
        channel = Told(None, None, None, answer)
        calling, go = asyncio.Event(), asyncio.Event()

        async def hang(notification: Notification) -> None:
            if notification.position == positions[3] and not go.is_set():
                calling.set()
                await go.wait()

        channel.before = hang
        async with Running(store, channel, attempts=attempts) as running:
            positions = [batch << 24 | 1 for batch in range(1, 7)]
            for batch in range(1, 7):
                running.record(batch, [(cheap()[0], [hook.number])])
            await calling.wait()
            await running.delivery._cursors.save()
            await _replay(running, hook, positions[0])
            await running.delivery._cursors.save()
            assert store.deliveries.get([hook.number])[hook.number].cursor == positions[0]
            go.set()
            sent = [one.position for one in await _sent(running, 4 + 5)]
            assert sent == [*positions[:4], *positions[1:]]
            assert running.clock.waits.empty(), "the attempt before does not count"
        assert store.deliveries.get([hook.number]) == {hook.number: DeliveryState(hook.number, positions[-1], epoch=1)}
        assert store.dead_letters.count() == 0

    run(push())


@pytest.mark.parametrize("batch", [1, 3])
def test_calls_in_parallel_that_end_after_a_replay_are_made_again(store: Store, batch: int) -> None:
    hook = subscribed(store, delivery=WEBHOOK | {"parallel": 4, "batch": batch})

    async def push() -> None:
        channel, go = Told(), asyncio.Event()
        calling: list[int] = []

        async def hang(notification: Notification) -> None:
            if not go.is_set():
                calling.append(notification.position)
                # The second is acknowledged while the first is under way.
                await (asyncio.sleep(0) if notification.position == positions[batch] else go.wait())

        channel.before = hang
        positions = [1 << 24 | rank for rank in range(1, 31)]
        async with Running(store, channel) as running:
            assert running.record(1, [(event, [hook.number]) for event in cheap(30)]) == positions
            await _until(lambda: len(calling) > 4)
            await _replay(running, hook, 0)
            assert sum(id == hook.id for id, _ in channel.all) == batch, "the others are under way"
            go.set()
            await _until(lambda: running.delivery._outlets._outlets[hook.number].state.cursor == positions[-1])
            sent = [one.position for one in await _sent(running, running.channel.sent.qsize())]
            under_way = len(calling) * batch
            assert sorted(sent[under_way:]) == positions, "all are sent again, whatever was acknowledged before"
        assert store.deliveries.get([hook.number]) == {hook.number: DeliveryState(hook.number, positions[-1], epoch=1)}

    run(push())


def test_a_replay_ends_the_wait_for_the_next_attempt(store: Store) -> None:
    hook = _webhook(store)

    async def push() -> None:
        async with Running(store, Told(None, DOWN)) as running:
            first, second = running.record(1, [(event, [hook.number]) for event in cheap(2)])
            assert [one.position for one in await _sent(running, 2)] == [first, second]
            await _until(lambda: not running.clock.waits.empty())
            await _replay(running, hook, 0)
            assert [one.position for one in await _sent(running, 2)] == [first, second]

    run(push())


def test_an_endpoint_that_was_gone_is_called_again_by_a_replay(store: Store) -> None:
    hook = _webhook(store)

    async def push() -> None:
        async with Running(store, Told(None, Undelivered("answered 410", gone=True))) as running:
            first, second = running.record(1, [(event, [hook.number]) for event in cheap(2)])
            await _sent(running, 2)
            await _until(lambda: running.delivery.status()["disabled"] == 1)
            await running.delivery._cursors.save()
            await _replay(running, hook, 0)
            assert [one.position for one in await _sent(running, 2)] == [first, second]

    run(push())


def test_a_subscription_that_rests_is_sent_its_replay_when_it_goes_on(store: Store) -> None:
    hook = _webhook(store)

    async def push() -> None:
        async with Running(store) as running:
            (first,) = running.record(1, [(cheap()[0], [hook.number])])
            await _sent(running, 1)
            store.subscriptions.replace(hook.id, state="paused")
            await _replay(running, hook, 0)
            await asyncio.sleep(0)
            assert len(running.channel.all) == 1
            store.subscriptions.replace(hook.id, state="active")
            await running.delivery.notice_changes()
            assert [one.position for one in await _sent(running, 1)] == [first]

    run(push())


def test_whoever_pushes_next_goes_on_with_the_replay(store: Store) -> None:
    hook = _webhook(store)

    async def push() -> None:
        async with Running(store) as running:
            positions = running.record(1, [(event, [hook.number]) for event in cheap(3)])
            await _sent(running, 3)
        store.subscriptions.replay(hook.id, positions[0])
        async with Running(store) as running:
            assert [one.position for one in await _sent(running, 2)] == positions[1:]

    run(push())


def test_a_replay_that_could_not_be_read_is_seen_to_the_next_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = _webhook(store)

    async def push() -> None:
        async with Running(store) as running:
            (first,) = running.record(1, [(cheap()[0], [hook.number])])
            await _sent(running, 1)
            store.subscriptions.replay(hook.id, 0)
            with monkeypatch.context() as away:
                away.setattr(store.deliveries, "get", _fail)
                with pytest.raises(StoreError):
                    await running.delivery.notice_changes()
            await running.delivery.notice_changes()
            assert [one.position for one in await _sent(running, 1)] == [first]

    run(push())


def _fail(numbers: object) -> None:
    raise StoreError("away")
