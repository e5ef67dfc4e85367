"""However wakes, slow readers, pauses and lost connections fall together, a reader has everything in order, once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.service.base.events import BEGINNING, Cursor, Notification
from tamis.service.delivery.fanout import LiveFeed, WideFeed
from tests.generated import cases
from tests.service.delivery.made import run
from tests.service.delivery.stepped import NUMBERS, QUEUE, SUBSCRIPTIONS, Stepped, StoreOfPairs


class Reader:
    """Somebody who takes from a feed, goes away at any moment, and comes back with the last cursor it has."""

    def __init__(self, fanout: Stepped, number: int | None, owner: str | None = None) -> None:
        self.fanout, self.number, self.owner = fanout, number, owner
        self.seen: list[tuple[int, int]] = []
        self.cursor = BEGINNING
        self.connect()

    def connect(self) -> None:
        self.feed: LiveFeed | WideFeed = (
            LiveFeed(self.fanout, self.number, Cursor.parse(str(self.cursor)), QUEUE)
            if self.number is not None
            else WideFeed(self.fanout, self.owner, Cursor.parse(str(self.cursor)))
        )
        self.taking: asyncio.Task[list[Notification]] | None = None

    def begin(self) -> None:
        if self.taking is None:
            self.taking = asyncio.get_running_loop().create_task(self.feed.take())

    def finish(self, lost_after: int | None = None) -> None:
        """Notes what has come; with `lost_after`, the connection is lost after so many of them."""
        if self.taking is None or not self.taking.done():
            return
        found = self.taking.result()
        self.taking = None
        for notification in found[:lost_after]:
            self.seen.append(notification.key)
            self.cursor = Cursor.parse(notification.wide_cursor if self.feed.wide else str(notification.position))
        if lost_after is not None:
            self.leave()

    def leave(self) -> None:
        if self.taking is not None:
            self.taking.cancel()
        self.feed.close()
        self.connect()

    def go_back(self, cursor: Cursor) -> None:
        """The reader is set back: what was taken and not dealt with yet counts no more."""
        if isinstance(self.feed, LiveFeed):
            if self.taking is not None and self.taking.done():
                self.taking = None
            self.seen = [key for key in self.seen if key <= cursor]
            self.cursor = cursor
            self.feed.rewind(cursor)
            self.feed.interrupt()

    def time_out(self) -> None:
        """A heartbeat is due: the take is given up, and the same feed is asked again later."""
        if self.taking is not None and not self.taking.done():
            self.taking.cancel()
            self.taking = None


class Interleaving:
    """Readers, batches, pauses and losses, one small step after the other, as chance has it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.store = StoreOfPairs()
        self.fanout = Stepped(self.store)
        self.readers = [Reader(self.fanout, number) for number in (*NUMBERS, *NUMBERS)]
        self.readers += [Reader(self.fanout, None, owner) for owner in ("a", "b", None)]
        self.position = 0
        self.advancing: asyncio.Task[None] | None = None

    async def step(self) -> None:
        reader = self.chance.choice(self.readers)
        actions: dict[Callable[[], None], float] = {
            self.record: 1,
            self.advance: 3,
            self.answer: 12,
            reader.begin: 6,
            reader.finish: 6,
        }
        actions |= {partial(self.lose, reader): 1, reader.time_out: 1, self.pause_or_resume: 0.3}
        actions[partial(reader.go_back, Cursor(self.chance.randrange(reader.cursor.position + 1)))] = 1
        self.chance.choices(list(actions), list(actions.values()))[0]()
        for _ in range(self.chance.randrange(4)):
            await asyncio.sleep(0)
        for one in self.readers:
            expected = self.expected(one)
            assert one.seen == expected[: len(one.seen)]

    def record(self) -> None:
        for _ in range(self.chance.randrange(1, 2 * QUEUE)):
            self.position += 1
            whose = self.chance.sample(NUMBERS, self.chance.randrange(1, 4))
            self.store.pairs += [(self.position, n) for n in sorted(whose) if self.store.standing[n] == "active"]

    def advance(self) -> None:
        if self.advancing is None or self.advancing.done():
            self.advancing = asyncio.get_running_loop().create_task(self.fanout.advance())

    def answer(self) -> None:
        self.fanout.step(self.chance.randrange)

    def lose(self, reader: Reader) -> None:
        if reader.taking is not None and reader.taking.done():
            reader.finish(lost_after=self.chance.randrange(3))
        else:
            reader.leave()

    def pause_or_resume(self) -> None:
        number = self.chance.choice(NUMBERS)
        self.store.standing[number] = "active" if self.store.standing[number] == "paused" else "paused"
        self.fanout.changed([number])

    def expected(self, reader: Reader) -> list[tuple[int, int]]:
        if reader.number is not None:
            return [pair for pair in self.store.pairs if pair[1] == reader.number]
        return [pair for pair in self.store.pairs if reader.owner in (None, SUBSCRIPTIONS[pair[1]].owner)]

    async def settle(self) -> None:
        """Nothing is lost or paused any more, and everybody reads on."""
        paused = [number for number in NUMBERS if self.store.standing[number] == "paused"]
        self.store.standing.update(dict.fromkeys(paused, "active"))
        self.fanout.changed(paused)
        for _ in range(3_000):
            self.advance()
            self.answer()
            await asyncio.sleep(0)
            for reader in self.readers:
                reader.finish()
                reader.begin()
            if all(reader.seen == self.expected(reader) for reader in self.readers):
                return

    async def end(self) -> None:
        for reader in self.readers:
            reader.leave()
        if self.advancing is not None:
            self.advancing.cancel()
        await asyncio.sleep(0)


@settings(max_examples=cases(60))
@given(chance=st.randoms(use_true_random=True))
def test_everybody_has_everything_in_order_and_once(chance: random.Random) -> None:
    async def interleave() -> None:
        world = Interleaving(chance)
        for _ in range(400):
            await world.step()
        await world.settle()
        for reader in world.readers:
            assert reader.seen == world.expected(reader)
        await world.end()

    run(interleave())
