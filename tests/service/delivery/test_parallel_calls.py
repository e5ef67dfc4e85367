"""Calls in parallel and by batches: what goes together, what a failure holds up, what becomes of what is refused."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from tamis.service.base.events import Notification
from tamis.service.delivery.channels import Undelivered
from tamis.service.delivery.outlets import Cursors
from tamis.service.store import DeliveryState, Store, Subscription
from tests.service.delivery.made import NOON, WEBHOOK, Running, StillClock, Told, cheap, run, subscribed

DOWN = Undelivered("answered 500")
REFUSED = Undelivered("answered 422", fault=False, refused=True)


def _webhook(store: Store, **delivery: Any) -> Subscription:
    return subscribed(store, owner="key", delivery=WEBHOOK | delivery)


def _state(store: Store, subscription: Subscription) -> DeliveryState:
    return store.deliveries.get([subscription.number])[subscription.number]


class Held(Told):
    """A channel whose calls begin and wait until they are let go, by the position that they begin with."""

    def __init__(self, *answers: Undelivered | None) -> None:
        super().__init__(*answers)
        self.begun: list[int] = []
        self.gates: dict[int, asyncio.Event] = {}
        self.before = self.wait

    async def wait(self, notification: Notification) -> None:
        self.begun.append(notification.position)
        await self.gates.setdefault(notification.position, asyncio.Event()).wait()

    def let_go(self, *positions: int) -> None:
        for position in positions:
            self.gates.setdefault(position, asyncio.Event()).set()

    async def until_begun(self, count: int) -> None:
        while len(self.begun) < count:
            await asyncio.sleep(0)


async def _let_time_pass(running: Running) -> None:
    while True:
        await running.clock.pass_next()


async def _steps() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_as_many_calls_are_under_way_as_asked_for_and_the_cursor_waits_for_the_lowest(store: Store) -> None:
    hook = _webhook(store, parallel=3)

    async def push() -> None:
        channel = Held()
        async with Running(store, channel) as running:
            at = running.record(1, [(event, [hook.number]) for event in cheap(6)])
            await channel.until_begun(3)
            await _steps()
            assert channel.begun == at[:3]
            channel.let_go(at[1], at[2])
            await channel.until_begun(5)
            await _steps()
            assert channel.begun == at[:5], "one that ends makes room for the next"
            outlet = running.delivery._outlets._outlets[hook.number]
            assert outlet.state.cursor == 0
            channel.let_go(at[0])
            await channel.until_begun(6)
            assert outlet.state.cursor == at[2]
            channel.let_go(*at)
            for _ in at:
                await channel.next()
        assert _state(store, hook) == DeliveryState(hook.number, at[-1])

    run(push())


def test_a_failure_holds_up_what_follows_and_repeats_nothing_that_arrived(store: Store) -> None:
    hook = _webhook(store, parallel=3)

    async def push() -> None:
        channel = Held(None, Undelivered("slow down", fault=False, retry_after=9), None)
        async with Running(store, channel) as running:
            at = running.record(1, [(event, [hook.number]) for event in cheap(5)])
            await channel.until_begun(3)
            channel.let_go(at[1])
            await channel.next()
            await channel.until_begun(4)
            channel.let_go(at[0])
            await channel.next()
            channel.let_go(*at)
            assert await running.clock.pass_next() == 9.0
            while len(channel.calls) < 6:
                await asyncio.sleep(0)
        sent = [position for (position,) in channel.calls]
        assert sorted(sent) == sorted([*at, at[0]]), "only what failed is sent again"
        assert sent.index(at[4]) > max(place for place, one in enumerate(sent) if one == at[0])
        assert _state(store, hook) == DeliveryState(hook.number, at[-1])

    run(push())


def test_an_endpoint_that_is_down_is_called_by_one_call_until_it_answers(store: Store) -> None:
    hook = _webhook(store, parallel=4)

    async def push() -> None:
        settings = {"breaker_failures": 4, "breaker_seconds": 30.0}
        async with Running(store, Told(*[DOWN] * 5), **settings) as running:
            at = running.record(1, [(event, [hook.number]) for event in cheap(8)])
            for _ in range(4):
                await running.channel.next()
            assert running.delivery.status()["breakers_open"] == 1
            passing = asyncio.create_task(_let_time_pass(running))
            while len(running.channel.calls) < 5 + 8:
                await asyncio.sleep(0)
            passing.cancel()
            assert running.channel.calls[4:6] == [[at[0]], [at[0]]], "one alone tries, and tries again"
            assert running.clock.now() - NOON >= timedelta(seconds=30 + 60)
        assert _state(store, hook) == DeliveryState(hook.number, at[-1])

    run(push())


def test_another_delivery_is_in_force_for_what_is_not_under_way(store: Store) -> None:
    hook = _webhook(store, parallel=2)

    async def push() -> None:
        channel = Held()
        async with Running(store, channel) as running:
            at = running.record(1, [(event, [hook.number]) for event in cheap(5)])
            await channel.until_begun(2)
            changed = WEBHOOK | {"url": "https://c.example.org/", "batch": 5}
            store.subscriptions.replace(hook.id, delivery=changed)
            await running.delivery.notice_changes()
            channel.let_go(*at)
            sent = [await channel.next() for _ in at]
            assert channel.calls == [[at[0]], [at[1]], at[2:]]
            assert [one.subscription.delivery["url"] == changed["url"] for one in sent] == [False] * 2 + [True] * 3

    run(push())


@pytest.mark.parametrize("end", ["paused", "cancelled"])
def test_what_is_under_way_ends_and_nothing_more_begins(store: Store, end: str) -> None:
    hook = _webhook(store, parallel=2)

    async def push() -> None:
        channel = Held()
        async with Running(store, channel) as running:
            at = running.record(1, [(event, [hook.number]) for event in cheap(5)])
            await channel.until_begun(2)
            if end == "paused":
                store.subscriptions.replace(hook.id, state="paused")
            else:
                store.subscriptions.cancel(hook.id)
            await running.delivery.notice_changes()
            channel.let_go(*at)
            await _steps()
            assert channel.begun == at[:2]
            if end == "paused":
                store.subscriptions.replace(hook.id, state="active")
                await running.delivery.notice_changes()
                await channel.until_begun(5)
        assert [one for _, one in channel.all] == (at if end == "paused" else at[:2])

    run(push())


def test_what_waits_goes_together_and_what_comes_alone_is_not_kept_waiting(store: Store) -> None:
    hook = _webhook(store, batch=10)

    async def push() -> None:
        channel = Held()
        async with Running(store, channel) as running:
            (first,) = running.record(1, [(cheap()[0], [hook.number])])
            await channel.until_begun(1)
            at = running.record(2, [(event, [hook.number]) for event in cheap(14)])
            channel.let_go(first, *at)
            for _ in range(15):
                await channel.next()
            assert channel.calls[0] == [first]
            assert [one for call in channel.calls[1:] for one in call] == at
            assert max(map(len, channel.calls)) == 10
        assert _state(store, hook).cursor == at[-1]

    run(push())


def test_large_notifications_go_together_only_up_to_so_many_bytes(store: Store) -> None:
    hook = _webhook(store, batch=100)

    async def push() -> None:
        async with Running(store, call_bytes=100_000) as running:
            at = running.record(1, [({"title": "x" * 30_000}, [hook.number]) for _ in range(7)])
            for _ in at:
                await running.channel.next()
            assert running.channel.calls == [at[:3], at[3:6], at[6:]]

    run(push())


def test_a_batch_that_fails_is_sent_again_as_it_was(store: Store) -> None:
    hook = _webhook(store, batch=4)

    async def push() -> None:
        async with Running(store, Told(DOWN)) as running:
            at = running.record(1, [(event, [hook.number]) for event in cheap(4)])
            for _ in at:
                await running.channel.next()
            more = running.record(2, [(event, [hook.number]) for event in cheap(4)])
            await running.clock.pass_next()
            for _ in range(8):
                await running.channel.next()
            assert running.channel.calls[0] == running.channel.calls[1] == at
            assert [one for call in running.channel.calls[2:] for one in call] == more

    run(push())


def test_a_batch_that_is_refused_is_taken_apart_and_only_what_is_refused_alone_is_a_dead_letter(store: Store) -> None:
    hook = _webhook(store, batch=4)

    async def push() -> None:
        async with Running(store, Told(REFUSED, None, REFUSED, REFUSED), attempts=2) as running:
            at = running.record(1, [(event, [hook.number]) for event in cheap(4)])
            while len(running.channel.calls) < 3:
                await asyncio.sleep(0)
            await running.clock.pass_next()
            while len(running.channel.calls) < 6:
                await asyncio.sleep(0)
            await _steps()
            assert running.channel.calls == [at, [at[0]], [at[1]], [at[1]], [at[2]], [at[3]]]
            more = running.record(2, [(event, [hook.number]) for event in cheap(4)])
            while len(running.channel.calls) < 7:
                await asyncio.sleep(0)
            assert running.channel.calls[6] == more, "what comes later goes together again"
            (letter,) = store.dead_letters.list("key")
            assert json.loads(letter.body)["cursor"] == str(at[1])
            assert (letter.detail["attempts"], letter.reason) == (2, "answered 422")
        assert _state(store, hook).cursor == more[-1]

    run(push())


def test_a_batch_that_is_given_up_is_one_dead_letter_for_each_that_fails_alone(store: Store) -> None:
    hook = _webhook(store, batch=3)

    async def push() -> None:
        async with Running(store, Told(DOWN, DOWN, DOWN, None, None), attempts=2, breaker_failures=50) as running:
            at = running.record(1, [(event, [hook.number]) for event in cheap(3)])
            while len(running.channel.calls) < 1:
                await asyncio.sleep(0)
            await running.clock.pass_next()
            while len(running.channel.calls) < 5:
                await asyncio.sleep(0)
            await _steps()
            assert running.channel.calls == [at, at, [at[0]], [at[1]], [at[2]]]
            (letter,) = store.dead_letters.list("key")
            assert json.loads(letter.body)["cursor"] == str(at[0])

    run(push())


def test_of_a_batch_of_which_a_part_arrived_only_the_rest_is_sent_again(store: Store) -> None:
    hook = _webhook(store, batch=4)

    async def push() -> None:
        channel = Told()

        async def arrive(notification: Notification) -> None:
            if not channel.calls:
                channel.answers.append(Undelivered("one is lost", acknowledged=[at[0], at[2]]))

        channel.before = arrive
        async with Running(store, channel) as running:
            at = running.record(1, [(event, [hook.number]) for event in cheap(4)])
            await running.clock.pass_next()
            while len(channel.calls) < 2:
                await asyncio.sleep(0)
            await _steps()
            assert channel.calls == [at, [at[1], at[3]]]
            assert running.delivery.status()["delivered"] == 4
        assert _state(store, hook).cursor == at[-1]

    run(push())


def test_states_are_saved_together_the_newest_of_each(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[list[DeliveryState]] = []
    monkeypatch.setattr(store.deliveries, "save", lambda states: saved.append(list(states)))

    async def save() -> None:
        cursors = Cursors(store, StillClock(), None)  # type: ignore[arg-type]
        for at in range(1, 1_001):
            cursors.put(DeliveryState(1, at))
            cursors.put(DeliveryState(2, at))
        await cursors.save()
        await cursors.save()
        assert saved == [[DeliveryState(1, 1_000), DeliveryState(2, 1_000)]]

    run(save())


def test_after_a_restart_no_more_is_repeated_than_was_out_under_the_same_ids(store: Store) -> None:
    hook = _webhook(store, parallel=3)

    async def push() -> None:
        channel = Held()
        running = Running(store, channel)
        await running.__aenter__()
        at = running.record(1, [(event, [hook.number]) for event in cheap(6)])
        await channel.until_begun(3)
        channel.let_go(at[1], at[2])
        before = [(await channel.next()).id for _ in range(2)]
        await channel.until_begun(5)
        for task in list(running.delivery._outlets._tasks):
            task.cancel()
        await running.delivery.stop()
        async with Running(store) as again:
            sent = [await again.channel.next() for _ in at]
            assert [one.position for one in sent] == at
            assert [sent[1].id, sent[2].id] == before

    run(push())
