"""Two services linked by their brokers: what is published at one reaches the log of the other, if it asked for it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("grpc", reason="the broker extra is not installed")

from tamis.broker.access import AccessError
from tamis.broker.store import BrokerStore, BrokerStoreError
from tamis.eventlog import NotAppended
from tamis.eventlog.spool.spool_log import SpoolLog
from tamis.service import network as bridge
from tamis.service.base.configuration import BrokerSettings, Settings
from tamis.service.base.events import PASSED_OVER, published_event
from tamis.service.base.offering import NOTHING
from tamis.service.network import Bridge
from tamis.service.store import Store
from tamis.service.store.store import FollowedSchema
from tests.service.store.made import CHEAP

SCHEMA = {"attributes": {"price": "integer"}, "event_types": {"sale": {"price": "mandatory"}}}


@dataclass(slots=True)
class _Part:
    """A service without Spark and HTTP: its store, its log, and its bridge."""

    store: Store
    log: SpoolLog
    bridge: Bridge

    @classmethod
    def open(cls, folder: Path, **broker: Any) -> _Part:
        settings = replace(Settings(), state=folder, broker=BrokerSettings(**broker))
        store, log = Store.open(settings.store), SpoolLog(folder / "spool", write=True)
        if store.schemas.newest() == 0:
            store.schemas.add(SCHEMA)
        return cls(store, log, Bridge(settings, FollowedSchema(store), store, log, NOTHING))

    async def publish(self, *prices: int) -> None:
        bodies = [json.dumps({"price": price, "unknown": "kept"}) for price in prices]
        await self.log.append(pa.array([f"e{price}" for price in prices]), pa.array(bodies))

    def prices(self) -> list[int]:
        return [json.loads(body)["price"] for body in self.log.recent(1_000)["body"].to_pylist()]

    async def close(self) -> None:
        await self.bridge.stop()
        await self.log.close()
        self.store.close()


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.02)


def _filters_told(part: _Part) -> list[int]:
    return [link["subscriptions_in"] for link in part.bridge.status()["links"]]


def test_a_port_that_is_taken_is_said_when_the_bridge_is_made(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AccessError, match=f"cannot listen at {address}: the port is taken"):
            _Part.open(tmp_path / "one", listen=address)


def test_what_one_publishes_and_the_other_asks_for_is_on_both_logs_once(tmp_path: Path) -> None:
    async def run() -> None:
        one = _Part.open(tmp_path / "one", listen="127.0.0.1:0", name="one")
        await one.publish(1)  # before there was a network: stays here
        address = await one.bridge.start(lambda end, partition: None)
        assert address is not None
        two = _Part.open(tmp_path / "two", links=[address], name="two")
        heard: list[int] = []
        await two.bridge.start(lambda end, partition: heard.append(end))
        two.store.subscriptions.create(replace(CHEAP, text="price < 10", filter="price < 10"))
        gone, _ = two.store.subscriptions.create(replace(CHEAP, text="price > 50", filter="price > 50"))
        await _until(lambda: _filters_told(one) == [2])
        await one.publish(5, 20, 60)
        await _until(lambda: two.prices() == [5, 60])
        rows = two.log.recent(2).to_pylist()
        assert [row["id"] for row in rows] == ["via:one:e5", "via:one:e60"]
        assert published_event(rows[0]["body"]) == {"price": 5, "unknown": "kept"}
        assert json.loads(rows[0]["body"])[PASSED_OVER] == {"unknown": "kept"}, "it came by the door of this service"
        await _until(lambda: heard == [2])
        # What came does not go back, and what nobody asks for any more does not come.
        two.store.subscriptions.cancel(gone.id)
        await _until(lambda: _filters_told(one) == [1])
        await one.publish(70, 7)
        await _until(lambda: len(two.prices()) == 3)
        assert two.prices() == [5, 60, 7]
        assert one.prices() == [1, 5, 20, 60, 70, 7]
        await two.close()
        # While the other is away, what it asked for waits for it.
        await one.publish(8)
        two = _Part.open(tmp_path / "two", links=[address], name="two")
        await two.bridge.start(lambda end, partition: None)
        await _until(lambda: two.prices() == [5, 60, 7, 8])
        await two.close()
        await one.close()

    asyncio.run(run())


def test_what_came_and_could_not_be_appended_before_the_end_comes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_given: object, **_named: object) -> None:
        raise NotAppended("the disk is full")

    async def run() -> None:
        one = _Part.open(tmp_path / "one", listen="127.0.0.1:0", name="one")
        address = await one.bridge.start(lambda end, partition: None)
        assert address is not None
        two = _Part.open(tmp_path / "two", links=[address], name="two")
        await two.bridge.start(lambda end, partition: None)
        two.store.subscriptions.create(replace(CHEAP, text="price < 10", filter="price < 10"))
        await _until(lambda: _filters_told(one) == [1])
        monkeypatch.setattr(two.log, "append", refused)
        await one.publish(5)
        await _until(lambda: two.bridge.error == "the disk is full")
        await two.close()
        two = _Part.open(tmp_path / "two", links=[address], name="two")
        await two.bridge.start(lambda end, partition: None)
        await one.publish(6)
        await _until(lambda: two.prices()[-1:] == [6])
        assert two.prices() == [5, 6]
        await two.close()
        await one.close()

    asyncio.run(run())


def test_a_broker_that_could_not_write_its_state_begins_anew_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge, "_REVIVAL", 0.05)
    full = {"one": 0, "two": 0}
    commit, begin = BrokerStore.commit, BrokerStore.open

    def commit_if_there_is_room(store: BrokerStore) -> None:
        if full[store.name]:
            raise BrokerStoreError("the disk is full")
        commit(store)

    def open_if_there_is_room(folder: Path | None, name: str | None = None) -> BrokerStore:
        if full[str(name)]:
            full[str(name)] -= 1
            raise BrokerStoreError("the disk is full")
        return begin(folder, name)

    monkeypatch.setattr(BrokerStore, "commit", commit_if_there_is_room)
    monkeypatch.setattr(BrokerStore, "open", open_if_there_is_room)

    async def run() -> None:
        one = _Part.open(tmp_path / "one", listen="127.0.0.1:0", name="one")
        address = await one.bridge.start(lambda end, partition: None)
        assert address is not None
        two = _Part.open(tmp_path / "two", links=[address], name="two")
        await two.bridge.start(lambda end, partition: None)
        two.store.subscriptions.create(replace(CHEAP, text="price >= 0", filter="price >= 0"))
        await _until(lambda: _filters_told(one) == [1])
        prices = count()
        for part in ("one", "two"):
            full[part] = 2
            while full[part]:
                await one.publish(next(prices))
                await asyncio.sleep(0.1)
        last = next(prices)
        await one.publish(last)
        await _until(lambda: two.prices()[-1:] == [last])
        assert two.prices() == list(range(last + 1))
        full["one"] = 1_000_000
        await one.publish(next(prices))
        await _until(lambda: one.bridge.status()["error"] is not None)
        async with asyncio.timeout(30):
            await one.close()
            await two.close()

    asyncio.run(run())
