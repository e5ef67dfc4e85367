"""However calls of one subscription end, and whenever the service is killed: nothing is lost, little given twice."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.service.base.events import Notification
from tamis.service.delivery.channels import CallLimits
from tamis.service.delivery.outlet import Outlet
from tamis.service.delivery.sending import Outcome, Sending
from tamis.service.delivery.window import Window
from tamis.service.store import DeliveryState, Subscription
from tests.generated import cases
from tests.service.delivery.made import StillClock, run
from tests.service.delivery.stepped import QUEUE, Prompt, StoreOfPairs

NUMBER = 1


@given(st.permutations(range(1, 9)))
def test_the_cursor_waits_for_the_lowest_outstanding(order: list[int]) -> None:
    window = Window(0)
    assert all(window.take(position) for position in range(1, 9))
    done: set[int] = set()
    for position in order:
        window.acknowledge([position])
        done.add(position)
        assert window.cursor == next(at for at in range(9) if at + 1 not in done)
    assert window.first is None


def test_what_was_acknowledged_above_the_cursor_is_not_taken_again() -> None:
    window = Window(0)
    assert [window.take(position) for position in (1, 2, 3, 4)] == [True] * 4
    window.acknowledge([2, 3])
    window.rewind()
    assert [window.take(position) for position in (1, 2, 3, 4)] == [True, False, False, True]
    window.acknowledge([1])
    assert (window.cursor, window.first) == (3, 4)


class Endpoint:
    """Calls under way, which end as a test says."""

    def __init__(self, limits: CallLimits) -> None:
        self.given = limits
        self.calls: list[tuple[Sequence[Notification], asyncio.Future[Outcome]]] = []

    def limits(self, _: Subscription) -> CallLimits:
        return self.given

    async def attempt(self, call: Sequence[Notification], failures: int) -> Outcome:
        ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.calls.append((call, ended))
        return await ended


class World:
    """One outlet of a service that is killed now and then, over a store that has what was saved."""

    call_bytes = 1 << 20
    queue = QUEUE

    def __init__(self, chance: random.Random, limits: CallLimits) -> None:
        self.chance = chance
        self.endpoint = Endpoint(limits)
        self.sending = cast(Sending, self.endpoint)
        self.clock = StillClock()
        self.store = StoreOfPairs()
        self.source = Prompt(self.store)
        self.position = 0
        self.tasks: set[asyncio.Task[None]] = set()
        self.kept = self.saved = DeliveryState(NUMBER)
        self.acknowledged: list[int] = []
        self.since_start: set[int] = set()
        self.outlet = Outlet(self, self.saved)

    # What an outlet needs of all.

    def keep(self, state: DeliveryState) -> None:
        wanted = [at for at, _ in self.store.pairs if at <= state.cursor]
        assert set(wanted) <= set(self.acknowledged), "the cursor has passed what nobody acknowledged"
        self.kept = state

    def spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        return task

    async def bury(self, notification: Notification, attempts: int, reason: str) -> None:
        await asyncio.sleep(0)

    # What happens.

    async def step(self) -> None:
        actions: dict[Callable[[], None], float] = {
            self.publish: 3,
            self.answer: 12,
            self.save: 1,
            self.pass_time: 3,
            self.change: 0.4,
        }
        if self.chance.random() < 0.01:
            await self.kill()
        else:
            self.chance.choices(list(actions), list(actions.values()))[0]()
        await self.breathe()
        self.look()

    async def breathe(self) -> None:
        for _ in range(6):
            await asyncio.sleep(0)
        for task in [task for task in self.tasks if task.done()]:
            self.tasks.discard(task)
            if not task.cancelled():
                task.result()

    def look(self) -> None:
        calls = [[one.position for one in call] for call, _ in self.endpoint.calls]
        parallel, batch = self.endpoint.given
        assert len(calls) <= parallel
        assert all(len(call) <= batch and call == sorted(call) for call in calls)
        out = [position for call in calls for position in call]
        assert len(out) == len(set(out)), "the same notification is in two calls"
        assert not self.since_start & set(out), "what was acknowledged is sent again, and nobody was killed"
        if parallel == 1 and calls:
            before = [at for at, _ in self.store.pairs if at < calls[0][0]]
            assert set(before) <= set(self.acknowledged), "the order is not kept"

    def publish(self) -> None:
        for _ in range(self.chance.randrange(1, 3 * QUEUE)):
            self.position += 1
            self.store.pairs.append((self.position, NUMBER))
        self.spawn(self.source.advance())

    def answer(self) -> None:
        if self.endpoint.calls:
            call, ended = self.endpoint.calls.pop(self.chance.randrange(len(self.endpoint.calls)))
            outcome = self.outcome([one.position for one in call])
            ended.set_result(outcome)

    def outcome(self, positions: list[int]) -> Outcome:
        """How a call ends; what the subscriber has then is noted."""
        some = frozenset(self.chance.sample(positions, self.chance.randrange(len(positions))))
        most = {
            Outcome("delivered"): 8.0,
            Outcome("failed", 2.0, "answered 500", some): 1,
            Outcome("postponed", 3.0): 0.5,
            Outcome("given up" if len(positions) == 1 else "apart", 0.0, "answered 422"): 0.7,
            Outcome("gone", 0.0, "answered 410"): 0.1,
        }
        (outcome,) = self.chance.choices(list(most), list(most.values()))
        has = positions if outcome.kind in ("delivered", "given up") else list(outcome.acknowledged)
        self.acknowledged += has
        self.since_start |= set(has)
        return outcome

    def save(self) -> None:
        self.saved = self.kept

    def pass_time(self) -> None:
        if not self.clock.waits.empty():
            self.spawn(cast(Coroutine[Any, Any, None], self.clock.pass_next()))

    def change(self) -> None:
        self.outlet.changed()

    async def kill(self) -> None:
        """Everything in memory is gone."""
        tasks, self.tasks = self.tasks, set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.outlet.feed.close()
        self.endpoint.calls, self.since_start = [], set()
        self.clock = StillClock()
        self.source = Prompt(self.store)
        await self.source.start()
        self.kept = self.saved
        self.outlet = Outlet(self, self.saved)
        self.outlet.kick()

    async def settle(self) -> None:
        """Nothing fails any more."""
        self.spawn(self.source.advance())
        while set(self.acknowledged) != {at for at, _ in self.store.pairs} or self.kept.cursor < self.position:
            await self.breathe()
            self.look()
            if self.kept.disabled:
                self.change()
            self.pass_time()
            while self.endpoint.calls:
                call, ended = self.endpoint.calls.pop()
                self.acknowledged += [one.position for one in call]
                self.since_start |= {one.position for one in call}
                ended.set_result(Outcome("delivered"))


@pytest.mark.parametrize("limits", [CallLimits(), CallLimits(5), CallLimits(1, 7), CallLimits(3, 4)], ids=str)
def test_everything_is_acknowledged_and_the_cursor_passes_nothing_that_is_not(limits: CallLimits) -> None:
    @settings(max_examples=cases(25), deadline=None)
    @given(chance=st.randoms(use_true_random=True))
    def whatever_happens(chance: random.Random) -> None:
        async def push() -> None:
            world = World(chance, limits)
            world.outlet.kick()
            for _ in range(300):
                await world.step()
            await world.settle()
            assert world.kept.cursor == world.position
            await world.kill()

        run(push())

    whatever_happens()


def test_after_a_kill_no_more_than_the_window_is_repeated() -> None:
    async def push() -> None:
        world = World(random.Random(1), CallLimits(4, 3))
        world.store.pairs = [(at, NUMBER) for at in range(1, 101)]
        world.position = 100
        await world.source.start()
        world.outlet.kick()
        await world.breathe()
        while len(world.endpoint.calls) > 1:
            call, ended = world.endpoint.calls.pop()  # the first stays
            world.acknowledged += [one.position for one in call]
            ended.set_result(Outcome("delivered"))
            await world.breathe()
        (lowest, _), *_ = world.endpoint.calls
        assert [one.position for one in lowest] == [1, 2, 3]
        assert world.kept.cursor == 0
        assert max(world.acknowledged) <= 4 * 4 * 3, "nothing goes out far above what is outstanding"

    run(push())
