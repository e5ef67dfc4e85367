"""Places that callers share: nobody has all, keys always have some, and whoever leaves the line frees their place."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from tamis.service.intake.allowances import Claimant, Line, Places
from tamis.service.intake.problems import Problem

ONE, OTHER = Claimant("address 10.0.0.1", False), Claimant("address 10.0.0.2", False)
KEY = Claimant("key k1", True)


def test_one_caller_has_half_of_the_places_at_most() -> None:
    for who in (ONE, KEY):
        places = Places(10)
        with ExitStack() as held:
            for _ in range(5):
                assert places.has_room(who)
                held.enter_context(places.place(who))
            assert not places.has_room(who)
            assert places.has_room(OTHER)
        assert places.has_room(who)
        assert places.taken == 0


def test_all_callers_without_a_key_leave_a_tenth_to_those_with_one() -> None:
    places = Places(20)
    strangers = [Claimant(f"address 10.0.0.{n}", False) for n in range(30)]
    taken = 0
    for who in strangers:
        if places.has_room(who):
            places.take(who)
            taken += 1
    assert taken == 18
    assert places.has_room(KEY)


@pytest.mark.parametrize("total", [1, 2, 3])
def test_of_few_places_everybody_can_have_one(total: int) -> None:
    for who in (ONE, KEY):
        assert Places(total).has_room(who)


def test_a_line_lets_others_past_whoever_has_their_share() -> None:
    async def run() -> list[str]:
        line, done = Line(4, 10), list[str]()
        ends = asyncio.Event()

        async def work(who: Claimant, name: str) -> None:
            async with line.place(who):
                done.append(name)
                await ends.wait()

        tasks = [asyncio.create_task(work(ONE, f"one {n}")) for n in range(5)]
        tasks += [asyncio.create_task(work(OTHER, "other")), asyncio.create_task(work(KEY, "key"))]
        while len(done) < 4:
            await asyncio.sleep(0)
        begun = sorted(done)
        ends.set()
        await asyncio.gather(*tasks)
        assert (line.places.taken, len(done)) == (0, 7)
        return begun

    assert asyncio.run(run()) == ["key", "one 0", "one 1", "other"]


def test_whoever_leaves_the_line_or_their_place_makes_room() -> None:
    async def run() -> None:
        line = Line(2, 10)
        inside = asyncio.Event()

        async def work() -> None:
            async with line.place(ONE):
                inside.set()
                await asyncio.Event().wait()

        at_work = asyncio.create_task(work())
        await inside.wait()
        waiting = [asyncio.create_task(work()) for _ in range(3)]
        await asyncio.sleep(0)
        for task in waiting[:2]:
            task.cancel()
        inside.clear()
        at_work.cancel()
        await inside.wait()
        waiting[2].cancel()
        await asyncio.gather(at_work, *waiting, return_exceptions=True)
        assert line.places.taken == 0

    asyncio.run(run())


def test_whoever_is_called_and_gone_at_once_gives_the_place_to_the_next() -> None:
    async def run() -> None:
        line = Line(2, 10)

        async def work(ends: asyncio.Event) -> str:
            async with line.place(ONE):
                await ends.wait()
                return "done"

        ends = asyncio.Event()
        first, second, third = (asyncio.create_task(work(ends)) for _ in range(3))
        await asyncio.sleep(0)
        ends.set()
        await asyncio.sleep(0)  # the first has left, and has called the second, which does not know yet
        second.cancel()
        assert [await first, await third] == ["done", "done"]
        assert line.places.taken == 0

    asyncio.run(run())


def test_a_caller_with_too_much_waiting_is_refused() -> None:
    async def run() -> None:
        line = Line(2, 3)

        async def work() -> None:
            async with line.place(ONE):
                await asyncio.Event().wait()

        tasks = [asyncio.create_task(work()) for _ in range(4)]
        await asyncio.sleep(0)
        with pytest.raises(Problem, match="too many filters"):
            await work()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(run())
