"""A feed reads what was, then hears what is new; slow readers and ended subscriptions are no exception."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.service.base.events import BEGINNING, Cursor, CursorError
from tamis.service.delivery.fanout import PAGE, FeedEnded, LiveFeed, WideFeed
from tests.service.delivery.made import run
from tests.service.delivery.stepped import QUEUE, Prompt, Stepped, StoreOfPairs


def test_a_slow_reader_goes_back_to_the_store_and_misses_nothing() -> None:
    async def slow() -> None:
        store = StoreOfPairs()
        fanout = Prompt(store)
        slow, quick = (LiveFeed(fanout, 1, BEGINNING, QUEUE) for _ in range(2))
        assert await slow.take_now() == await quick.take_now() == []
        reads, seen = store.reads, []
        for position in range(1, 3 * QUEUE):
            store.pairs.append((position, 1))
            await fanout.advance()
            seen += await quick.take()
        assert store.reads == reads, "who keeps up is not read for"
        assert [one.position for one in await slow.take()] == [one.position for one in seen]
        assert store.reads == reads + 1

    run(slow())


def test_a_long_way_to_catch_up_is_gone_in_pages() -> None:
    async def far_behind() -> None:
        store = StoreOfPairs()
        store.pairs = [(position, 1) for position in range(1, 3 * PAGE)]
        fanout = Prompt(store)
        await fanout.start()
        feed = LiveFeed(fanout, 1, BEGINNING, QUEUE)
        pages = [[one.position for one in await feed.take()] for _ in range(3)]
        assert [len(page) for page in pages] == [PAGE, PAGE, PAGE - 1]
        assert [position for page in pages for position in page] == list(range(1, 3 * PAGE))

    run(far_behind())


def test_a_reader_of_many_who_comes_while_a_batch_is_read_hears_of_it() -> None:
    async def late() -> None:
        store = StoreOfPairs()
        fanout = Stepped(store)
        fanout.join(LiveFeed(fanout, 2, BEGINNING, QUEUE))
        store.pairs.append((1, 1))
        advancing = asyncio.create_task(fanout.advance())
        await fanout.steps(2, first)  # The head: and now the batch is asked for.
        taking = asyncio.create_task(WideFeed(fanout, "a", Cursor(fanout.done)).take())
        await fanout.steps(2, last)  # There is nothing yet.
        assert not taking.done()
        await fanout.steps(4, first)
        assert advancing.done()
        assert [one.key for one in await taking] == [(1, 1)]

    def first(count: int) -> int:
        return 0

    def last(count: int) -> int:
        return count - 1

    run(late())


def test_many_notifications_of_one_event_can_be_read_on_from_the_middle() -> None:
    async def middle() -> None:
        store = StoreOfPairs()
        store.pairs = [(1, 1), (1, 2), (1, 3), (2, 1)]
        fanout = Prompt(store)
        await fanout.start()
        first = (await WideFeed(fanout, None, BEGINNING).take())[0]
        assert first.wide == b'{"cursor":"1-1"}'
        rest = await WideFeed(fanout, None, Cursor.parse(first.wide_cursor)).take()
        assert [one.key for one in rest] == [(1, 2), (1, 3), (2, 1)]

    run(middle())


@pytest.mark.parametrize("standing", ["expired", "cancelled"])
def test_a_subscription_that_ends_ends_its_readers(standing: str) -> None:
    async def ends() -> None:
        store = StoreOfPairs()
        fanout = Prompt(store)
        feed = LiveFeed(fanout, 1, BEGINNING, QUEUE)
        taking = asyncio.create_task(feed.take())
        await asyncio.sleep(0)
        store.pairs.append((1, 1))
        store.standing[1] = standing
        await fanout.advance()
        with pytest.raises(FeedEnded, match=standing):
            await taking

    run(ends())


def test_a_service_that_stops_ends_its_readers() -> None:
    async def stops() -> None:
        fanout = Prompt(StoreOfPairs())
        feeds: list[LiveFeed | WideFeed] = [
            LiveFeed(fanout, 1, BEGINNING, QUEUE),
            WideFeed(fanout, "a", Cursor(fanout.done)),
        ]
        for feed in feeds:
            taking = asyncio.create_task(feed.take())
            await asyncio.sleep(0)
            feed.stop()
            with pytest.raises(FeedEnded, match="stopping"):
                await taking

    run(stops())


@pytest.mark.parametrize("text", ["", "-1", "1.5", "1-", "abc", "9" * 20, str(1 << 63), "1-2-3", "１"])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(CursorError):
        Cursor.parse(text)


@given(st.integers(0, (1 << 63) - 1), st.integers(0, (1 << 63) - 1))
def test_a_cursor_survives_being_written(position: int, number: int) -> None:
    cursor = Cursor(position, number)
    assert Cursor.parse(str(cursor)) == cursor
    assert Cursor.parse(str(Cursor(position))) == Cursor(position) >= cursor
