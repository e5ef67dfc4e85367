"""What every event log must do. A test class derives from this and says how to open one, again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pyarrow as pa
import pytest

from tamis.eventlog import RECORDS, EventLog, IdempotencyConflict, Receipt

Open = Callable[[], EventLog]


def ids(*numbers: int) -> pa.Array:
    return pa.array([f"evt_{number}" for number in numbers], pa.string())


def bodies(*numbers: int) -> pa.Array:
    return pa.array([f'{{"n":{number},"ü":"\\u0000"}}' for number in numbers], pa.string())


class EventLogContract:
    """The fixture `open_again` opens the same log anew; each test has a log of its own."""

    async def test_events_come_back_in_order_with_ids_and_bodies(self, open_again: Open) -> None:
        log = open_again()
        first = await log.append(ids(0, 1, 2), bodies(0, 1, 2))
        second = await log.append(ids(3), bodies(3))
        assert (first, second) == (Receipt(0, 3), Receipt(3, 1))
        table = await asyncio.to_thread(log.recent, 100)
        assert table.schema == RECORDS
        assert table["offset"].to_pylist() == [0, 1, 2, 3]
        assert table["partition"].to_pylist() == [0] * 4
        assert table["id"].to_pylist() == ids(0, 1, 2, 3).to_pylist()
        assert table["body"].to_pylist() == bodies(0, 1, 2, 3).to_pylist()
        await log.close()

    async def test_recent_are_the_newest(self, open_again: Open) -> None:
        log = open_again()
        await log.append(ids(*range(50)), bodies(*range(50)))
        assert (await asyncio.to_thread(log.recent, 2))["id"].to_pylist() == ["evt_48", "evt_49"]
        assert (await asyncio.to_thread(log.recent, 0)).num_rows == 0
        await log.append(ids(50), bodies(50))
        assert (await asyncio.to_thread(log.recent, 2))["id"].to_pylist() == ["evt_49", "evt_50"]
        assert (await asyncio.to_thread(log.size))[0] == 51
        await log.close()

    async def test_what_was_appended_is_there_after_a_restart(self, open_again: Open) -> None:
        for number in range(3):
            log = open_again()
            assert await log.append(ids(number), bodies(number)) == Receipt(number, 1)
            await log.close()
        log = open_again()
        assert (await asyncio.to_thread(log.recent, 10))["id"].to_pylist() == ids(0, 1, 2).to_pylist()
        await log.close()

    async def test_appends_at_the_same_time_do_not_mix(self, open_again: Open) -> None:
        log = open_again()
        numbers = [range(start, start + 5) for start in range(0, 200, 5)]
        receipts = await asyncio.gather(*(log.append(ids(*some), bodies(*some)) for some in numbers))
        assert sorted(receipt.first for receipt in receipts) == list(range(0, 200, 5))
        there = (await asyncio.to_thread(log.recent, 1000))["id"].to_pylist()
        for some, receipt in zip(numbers, receipts, strict=True):
            assert there[receipt.first : receipt.first + 5] == ids(*some).to_pylist()
        await log.close()

    async def test_a_key_gives_the_same_receipt_again_and_appends_once(self, open_again: Open) -> None:
        log = open_again()
        await log.append(ids(9), bodies(9))
        assert await log.append(ids(0, 1), bodies(0, 1), key="k") == Receipt(1, 2)
        assert await log.append(ids(0, 1), bodies(0, 1), key="k") == Receipt(1, 2, repeated=True)
        await log.close()
        log = open_again()
        assert await log.append(ids(0, 1), bodies(0, 1), key="k") == Receipt(1, 2, repeated=True)
        assert (await asyncio.to_thread(log.recent, 10))["id"].to_pylist() == ids(9, 0, 1).to_pylist()
        await log.close()

    async def test_repeats_at_the_same_time_are_appended_once(self, open_again: Open) -> None:
        log = open_again()
        receipts = await asyncio.gather(*(log.append(ids(0, 1), bodies(0, 1), key="k") for _ in range(10)))
        assert {(receipt.first, receipt.count) for receipt in receipts} == {(0, 2)}
        assert sorted(receipt.repeated for receipt in receipts) == [False] + [True] * 9
        assert (await asyncio.to_thread(log.recent, 10)).num_rows == 2
        await log.close()

    async def test_a_key_with_other_events_is_a_conflict(self, open_again: Open) -> None:
        log = open_again()
        await log.append(ids(0), bodies(0), key="k")
        for _ in range(2):
            with pytest.raises(IdempotencyConflict):
                await log.append(ids(0), bodies(1), key="k")
            await log.close()
            log = open_again()
        assert await log.append(ids(0), bodies(1), key="another") == Receipt(1, 1)
        await log.close()

    async def test_under_a_key_content_tells_whether_others_are_meant(self, open_again: Open) -> None:
        log = open_again()
        assert not (await log.append(ids(0), bodies(0), key="k", content=bodies(7))).repeated
        assert (await log.append(ids(0), bodies(1), key="k", content=bodies(7))).repeated
        with pytest.raises(IdempotencyConflict):
            await log.append(ids(0), bodies(0), key="k", content=bodies(8))
        await log.close()

    async def test_no_events_under_a_key_ask_what_is_under_it(self, open_again: Open) -> None:
        log = open_again()
        nothing = ids(), bodies()
        assert await log.append(*nothing, key="k", content=bodies(7)) == Receipt(0, 0)
        asked, given = await asyncio.gather(
            log.append(*nothing, key="k", content=bodies(7)), log.append(ids(0), bodies(0), key="k", content=bodies(7))
        )
        assert (asked.count == 1) == asked.repeated
        assert given == Receipt(0, 1)
        assert await log.append(*nothing, key="k", content=bodies(7)) == Receipt(0, 1, repeated=True)
        with pytest.raises(IdempotencyConflict):
            await log.append(*nothing, key="k", content=bodies(8))
        assert (await asyncio.to_thread(log.recent, 10))["id"].to_pylist() == ids(0).to_pylist()
        await log.close()

    async def test_ids_and_bodies_must_go_together(self, open_again: Open) -> None:
        log = open_again()
        with pytest.raises(ValueError, match="1 ids for 2 bodies"):
            await log.append(ids(0), bodies(0, 1))
        assert (await log.append(ids(), bodies())).count == 0
        await log.close()

    async def test_a_log_that_was_only_opened_closes(self, open_again: Open) -> None:
        await open_again().close()
